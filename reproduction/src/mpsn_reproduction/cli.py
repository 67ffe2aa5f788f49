"""Commands that make the tables and figures of the paper."""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from mpsn.cli.output import AsJson, print_below, print_table, refuse, split
from mpsn.errors import MPSNError, visible
from mpsn_reproduction.catalog import CATALOG, Entry

if TYPE_CHECKING:
    from mpsn_reproduction import Result
    from mpsn_reproduction.engine import Engine
    from mpsn_reproduction.table import Table

reproduce = typer.Typer(
    no_args_is_help=True,
    help="Make a table or figure of the paper.",
    rich_markup_mode=None,
)
tune = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Search for settings by validation."
)

Out = Annotated[Path, typer.Option(help="Folder of the records; a run resumes from them.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
Precision = Annotated[
    Literal["float32", "tf32", "bf16"] | None,
    typer.Option(
        metavar="float32|tf32|bf16",
        help="Precision of the networks; bf16 and, on a GPU, tf32 have records of their own. "
        "Defaults to that of the settings, float32.",
    ),
]
Data = Annotated[Path | None, typer.Option(help="Your folder of data sets. Defaults to MPSN_DATA.")]
Download = Annotated[bool, typer.Option("--download", help="Download data sets that are missing.")]
Jobs = Annotated[int, typer.Option(min=1, help="How many jobs run at a time, in processes.")]
Engines = Annotated[
    Literal["local", "ray"],
    typer.Option(metavar="local|ray", help="Where jobs run: here, or on a Ray cluster."),
]
Address = Annotated[
    str | None,
    typer.Option(help="Ray cluster, such as auto. Defaults to RAY_ADDRESS, or to a new one here."),
]
GPUs = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", help="GPUs for each job on Ray, such as 0.25. Defaults to 1."),
]
Models = Annotated[str, typer.Option(help="Comma-separated rows of the table. Defaults to all.")]
Seeds = Annotated[
    int | None, typer.Option(min=1, help="How many seeds. Defaults to those of our records.")
]
Quick = Annotated[bool, typer.Option("--quick", help="A small version, in a minute or two.")]


def _command(name: str, entry: Entry) -> Callable[..., None]:
    """Make the command of an experiment, with the options that apply to it."""

    def command(
        *,
        model: Models = "",
        seeds: Seeds = None,
        quick: Quick = False,
        out: Out = Path("runs"),
        device: Device = "cpu",
        precision: Precision = None,
        jobs: Jobs = 1,
        engine: Engines = "local",
        address: Address = None,
        gpus: GPUs = None,
        data: Data = None,
        download: Download = False,
        as_json: AsJson = False,
        **subset: str,
    ) -> None:
        from mpsn_reproduction import reproduce as run

        with _resumable(out, download):
            result = run(
                name,
                models=split(model),
                only=split("".join(subset.values()), spaces=False),
                seeds=seeds,
                quick=quick,
                out=out,
                device=device,
                precision=precision,
                data=data,
                engine=_engine(engine, jobs, address, gpus),
            )
        _print(result, as_json)

    options = dict(inspect.signature(command).parameters)
    del options["subset"]
    if not entry.reads_data:
        del options["data"], options["download"]
    if not entry.has_precision:
        del options["precision"]
    if entry.subset:
        option, text = entry.subset
        kind = Annotated[str, typer.Option(help=text)]
        added = options["model"].replace(name=option, annotation=kind)
        options = {option: added, **options}
    command.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {option: of.annotation for option, of in options.items()}
    return command


for _name, _entry in CATALOG.items():
    reproduce.command(_name, help=_entry.help, short_help=_entry.help.splitlines()[0])(
        _command(_name, _entry)
    )


@tune.command("tu")
def tune_tu(
    row: Annotated[str, typer.Argument(help="Where to start: a row such as imdb-binary-sin.")],
    grid: Annotated[
        Path | None, typer.Option(help="TOML file of values to try, as in lr = [0.01, 0.001].")
    ] = None,
    epochs: Annotated[
        str, typer.Option(help="Comma-separated numbers of epochs, one for each round.")
    ] = "10,40,160",
    keep: Annotated[int, typer.Option(min=2, help="One in how many advances.")] = 4,
    folds: Annotated[int, typer.Option(min=1, max=10, help="How many of the ten folds.")] = 10,
    out: Out = Path("runs"),
    device: Device = "cpu",
    jobs: Jobs = 1,
    engine: Engines = "local",
    address: Address = None,
    gpus: GPUs = None,
    data: Data = None,
    download: Download = False,
    as_json: AsJson = False,
) -> None:
    """Search for settings of SIN or GIN on a TU data set, by validation inside its training data.

    Trains all settings of a grid for few epochs, the better ones for more, and so on: Optuna
    chooses and prunes. The grid is over batch size, width, dropout and its position, learning rate
    with decay, and layers. With --jobs or --engine ray, the folds of a training run side by side.

    Example: mpsn tune tu imdb-binary-sin --device cuda
    """
    from mpsn_reproduction.papers.tu import TUConfig
    from mpsn_reproduction.search import Grid, ranking
    from mpsn_reproduction.search import tune as search
    from mpsn_reproduction.settings import load, plain, rows

    try:
        rounds = [int(word) for word in split(epochs)]
    except ValueError as error:
        raise MPSNError(f"Expected comma-separated numbers, got {epochs!r}.") from error
    base = replace(rows("tu", TUConfig, [row])[row], folds=folds)
    with _resumable(out, download):
        standings = search(
            base,
            load(Grid, grid) if grid else Grid(),
            epochs=rounds,
            keep=keep,
            out=out / "tu-tune",
            device=device,
            data=data,
            engine=_engine(engine, jobs, address, gpus),
        )
    if as_json:
        print(json.dumps([{**s._asdict(), "config": plain(s.config)} for s in standings]))
        return
    print_results(ranking(standings))
    print(f"records: {visible(out / 'tu-tune')}")


def report(
    runs: Annotated[
        Path, typer.Argument(help="Folder of records: --out of `mpsn reproduce`, or one in it.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write DIR/results.md with its figures, and no page."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make one page of all results in a folder.

    It has all tables and figures that the records give. The page is a single file that needs no
    network, and reads well on a phone. With --docs, it is the page of results in the docs.

    Example: mpsn report runs -o report.html
    """
    from mpsn_reproduction.page import write_docs, write_report

    names = write_docs(runs, docs) if docs else write_report(runs, out)
    page = docs / "results.md" if docs else out
    line = {"report": str(page), "experiments": names}
    print(json.dumps(line) if as_json else f"report: {visible(page)}")


def _engine(name: str, jobs: int, address: str | None, gpus: float | None) -> "Engine":
    """Return the engine of a command; options of the other one are refused."""
    from mpsn_reproduction import LocalEngine, RayEngine

    if name == "local":
        refuse("--engine local", "they are for Ray", address=address, gpus=gpus)
        return LocalEngine(jobs)
    why = "Ray runs a job on each CPU core, or as many on a GPU as --gpus allows"
    refuse("--engine ray", why, jobs=jobs if jobs > 1 else None)
    return RayEngine(address, gpus)


@contextmanager
def _resumable(out: Path, download: bool) -> Iterator[None]:
    """Explain how to resume after an interruption; look up no host unless asked to download."""
    before = os.environ.get("MPSN_OFFLINE", "")
    os.environ["MPSN_OFFLINE"] = before if download else "1"
    try:
        yield
    except KeyboardInterrupt:
        Console(stderr=True, soft_wrap=True).print(
            f"interrupted; finished jobs are recorded in {escape(visible(out))}. To resume, run "
            "the same command again."
        )
        sys.exit(130)
    finally:
        os.environ["MPSN_OFFLINE"] = before


def show_records(folder: Path, as_json: bool) -> None:
    """Print the tables of a folder of records, for ``mpsn show``."""
    from mpsn_reproduction.page import sections

    tables = {
        section.name: (section.experiment.table(section.records), section.left_out)
        for section in sections(folder)
    }
    if as_json:
        values = {
            name: {**asdict(table), "notes": [*table.notes, *left_out]}
            for name, (table, left_out) in tables.items()
        }
        print(json.dumps(values))
        return
    for table, left_out in tables.values():
        print_results(table, left_out)


def print_results(
    table: "Table", notes: Iterable[str] = (), figures: Iterable[Path | None] = ()
) -> None:
    """Print a table of results by group: the best in bold, quoted figures in italics."""
    for name, columns, rows, about in table.groups():
        title = f"{table.title}: {name}" if name else table.title
        print_table(title, columns, rows, about, style=_style)
    print_below([*table.remarks, *notes], figures)


def _style(cell: object) -> str:
    from mpsn_reproduction.table import Cell

    if not isinstance(cell, Cell):
        return ""
    return " ".join(["bold"] * cell.best + ["italic"] * (cell.kind == "quoted"))


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
    print_results(result.table, result.missing, result.figures)
    print(f"records: {visible(result.folder)}")
