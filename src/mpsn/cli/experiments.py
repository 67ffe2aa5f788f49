"""Commands that train and measure: the paper's experiments, and the report on them."""

import json
import sys
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
    from mpsn.experiments.reproduce import Result

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
    """Run an experiment; an interruption says how to go on."""
    from mpsn.experiments.reproduce import reproduce as run

    try:
        return run(name, **options)
    except KeyboardInterrupt:
        Console(stderr=True, soft_wrap=True).print(
            f"interrupted; what was finished is recorded in {options['out']}. To go on, give the "
            "same command again."
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
    console = Console(soft_wrap=True)
    table = Table(title=escape(result.table.title), title_justify="left")
    for column in result.table.columns:
        table.add_column(escape(column))
    for row in result.table.rows:
        table.add_row(*map(escape, row))
    Console().print(table)
    for line in (*result.table.notes, *result.missing):
        console.print(escape(line), highlight=False)
    for path in result.figures:
        print(f"figure: {path}")
    if not result.figures:
        print("no figures: pip install matplotlib")
    print(f"records: {result.folder}")
