"""Commands that train and measure: the paper's experiments, and the report on them."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mpsn.cli.output import AsJson
from mpsn.cli.reproduce import reproduce

if TYPE_CHECKING:
    from mpsn.experiments.experiment import Table as Values
    from mpsn.experiments.reproduce import Result

tune = typer.Typer(no_args_is_help=True, help="Search for settings by validation.")

Models = Annotated[
    str, typer.Option("--model", help="Rows of the table, with commas between; all unless said.")
]
Seeds = Annotated[
    int | None, typer.Option(min=1, help="How many seeds; as many as the paper unless said.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="A small version of the same, in a minute or two.")
]
Out = Annotated[Path, typer.Option(help="Folder of the records; a run goes on from what is there.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]
Data = Annotated[Path | None, typer.Option(help="Your folder of data sets; else MPSN_DATA's.")]
Jobs = Annotated[int, typer.Option(min=1, help="How many jobs run at a time, in processes.")]


@reproduce.command("sr")
def sr(
    model: Models = "",
    family: Annotated[
        str, typer.Option(help="Families such as 'SR(25,12,5,6)', with spaces between.")
    ] = "",
    seeds: Seeds = None,
    quick: Quick = False,
    out: Out = Path("runs"),
    device: Device = "cpu",
    jobs: Jobs = 1,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Tell strongly regular graphs apart: untrained SIN, MLP-sum and GIN, and exact SWL.

    Prints the part of the pairs of each family that a model cannot tell apart, beside the authors'
    code, and draws the paper's figure. Families that must be downloaded and cannot be are left out,
    and said.

    Example: mpsn reproduce sr --quick
    """
    _print(
        _reproduce(
            "sr",
            models=_split(model),
            only=tuple(family.split()),
            seeds=seeds,
            quick=quick,
            out=out,
            device=device,
            data=data,
            processes=jobs,
        ),
        as_json,
    )


@reproduce.command("flow")
def flow(
    model: Models = "",
    seeds: Seeds = None,
    quick: Quick = False,
    out: Out = Path("runs"),
    device: Device = "cpu",
    jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Classify trajectories around two holes by their edge flows, in unseen orientations.

    Trains the paper's five models and prints their accuracies beside the paper's; draws the complex
    with a trajectory of each class, the flows in the harmonic space, and the training curves.

    Example: mpsn reproduce flow --quick
    """
    _print(
        _reproduce(
            "flow",
            models=_split(model),
            seeds=seeds,
            quick=quick,
            out=out,
            device=device,
            processes=jobs,
        ),
        as_json,
    )


@reproduce.command("ocean")
def ocean(
    model: Models = "",
    seeds: Seeds = None,
    quick: Quick = False,
    out: Out = Path("runs"),
    device: Device = "cpu",
    jobs: Jobs = 1,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Classify ocean drifters by the way they turn around Madagascar.

    As `mpsn reproduce flow`, on real tracks, with simple baselines and a model beyond the paper.

    Example: mpsn reproduce ocean --data DIR
    """
    _print(
        _reproduce(
            "ocean",
            models=_split(model),
            seeds=seeds,
            quick=quick,
            out=out,
            device=device,
            data=data,
            processes=jobs,
        ),
        as_json,
    )


@reproduce.command("tu")
def tu(
    dataset: Annotated[
        str, typer.Option(help="Data sets such as IMDB-BINARY, with commas between.")
    ] = "",
    model: Models = "",
    seeds: Seeds = None,
    quick: Quick = False,
    out: Out = Path("runs"),
    device: Device = "cpu",
    jobs: Jobs = 1,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Classify the graphs of the TU data sets: SIN, GIN, and the kernels of SWL and WL.

    Models are sin, gin, swl-kernel and wl-kernel. Trains on ten folds, in one pass on a GPU, and
    prints two accuracies: under the paper's protocol, which chooses the epoch on the test folds,
    and under an honest one. Data sets that must be downloaded and cannot be are left out, and said.

    Example: mpsn reproduce tu --dataset PROTEINS --model sin,gin --device cuda
    """
    from mpsn.experiments.tu import select

    _print(
        _reproduce(
            "tu",
            models=select(_split(dataset), _split(model)),
            only=_split(dataset),
            seeds=seeds,
            quick=quick,
            out=out,
            device=device,
            data=data,
            processes=jobs,
        ),
        as_json,
    )


@tune.command("tu")
def tune_tu(
    row: Annotated[str, typer.Argument(help="Where to start: a row such as imdb-binary-sin.")],
    grid: Annotated[
        Path | None, typer.Option(help="TOML file of values to try, as in lr = [0.01, 0.001].")
    ] = None,
    epochs: Annotated[
        str, typer.Option(help="How long to train in each round, with commas between.")
    ] = "10,40,160",
    keep: Annotated[int, typer.Option(min=2, help="One in how many goes on.")] = 4,
    folds: Annotated[int, typer.Option(min=1, max=10, help="How many of the ten folds.")] = 10,
    out: Out = Path("runs"),
    device: Device = "cpu",
    jobs: Jobs = 1,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Search for settings of SIN or GIN on a TU data set, by validation inside its training data.

    Trains all settings of a grid for few epochs, the better ones for more, and so on. The grid is
    over batch size, width, dropout and its position, learning rate with decay, and layers.

    Example: mpsn tune tu imdb-binary-sin --device cuda
    """
    from mpsn.experiments import tune as search
    from mpsn.experiments.configs import load

    with _resumable(out):
        found = search.tune(
            search.row(row, folds),
            load(search.Grid, grid) if grid else None,
            epochs=search.numbers(epochs),
            keep=keep,
            out=out / "tu-tune",
            device=device,
            data=data,
            processes=jobs,
        )
    if as_json:
        print(json.dumps([asdict(standing) for standing in found]))
        return
    _print_table(search.ranking(found))
    print(f"records: {out / 'tu-tune'}")


def report(
    runs: Annotated[Path, typer.Argument(help="Folder of records, --out of `mpsn reproduce`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
) -> None:
    """Make one page of all tables and figures found in a folder of records.

    The page needs nothing else, no network either, and reads well on a phone.

    Example: mpsn report runs -o report.html
    """
    from mpsn.experiments.report import write

    write(runs, out)
    print(f"report: {out}")


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _reproduce(name: str, **options: Any) -> "Result":
    """Run an experiment."""
    from mpsn.experiments.reproduce import reproduce as run

    with _resumable(options["out"]):
        return run(name, **options)


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """Say how to go on after an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        Console(stderr=True, soft_wrap=True).print(
            f"interrupted; what was finished is recorded in {out}. To go on, give the same command "
            "again."
        )
        sys.exit(130)


def _print(result: "Result", as_json: bool) -> None:
    if as_json:
        values = {
            "table": asdict(result.table),
            "runs": [
                {"row": r.job.row, "data": r.job.data, "seed": x.seed, "fold": x.fold, **x.metrics}
                for r in result.records
                for x in r.runs
            ],
            "records": str(result.folder),
            "figures": [str(path) for path in result.figures],
            "missing": result.missing,
        }
        print(json.dumps(values))
        return
    _print_table(result.table, result.missing)
    for path in result.figures:
        print(f"figure: {path}")
    if not result.figures:
        print("no figures: pip install matplotlib")
    print(f"records: {result.folder}")


def _print_table(values: "Values", more: Sequence[str] = ()) -> None:
    table = Table(title=escape(values.title), title_justify="left")
    for i, column in enumerate(values.columns):
        table.add_column(escape(column), overflow="fold", no_wrap=i == 0)
    for row in values.rows:
        table.add_row(*map(escape, row))
    Console().print(table)
    for line in (*values.notes, *more):
        Console(soft_wrap=True).print(escape(line), highlight=False)
