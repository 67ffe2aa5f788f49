"""From a name to a table: load the configs, run what is left, draw."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from mpsn.errors import FileError, MissingPackageError, MPSNError
from mpsn.files import save_figure
from mpsn.training import rank
from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.engine import LOCAL, Engine, run
from mpsn_reproduction.experiment import DataSets, Record
from mpsn_reproduction.settings import Precision, override, rows
from mpsn_reproduction.store import folder_name
from mpsn_reproduction.table import Table


@dataclass(frozen=True)
class Result:
    """What :func:`reproduce` returns.

    Attributes:
        table: The table, ours beside the paper's.
        records: What the table and the figures were made from.
        folder: The folder of the records.
        figures: Paths of the figures, each as PNG and as SVG.
        missing: Why some data, or figures, are left out.
    """

    table: Table
    records: list[Record]
    folder: Path
    figures: list[Path]
    missing: list[str]


def reproduce(
    name: str,
    *,
    models: Sequence[str] = (),
    only: Sequence[str] = (),
    seeds: int | None = None,
    quick: bool = False,
    out: str | Path = "runs",
    device: str = "cpu",
    precision: Precision | None = None,
    data: str | Path | None = None,
    engine: Engine = LOCAL,
) -> Result:
    """Make a table and its figures, resuming from what is recorded in ``out``.

    Args:
        name: The experiment, as in ``mpsn reproduce --help``.
        models: Rows of the table. Defaults to all.
        only: Data to run on, such as families of graphs. Defaults to all that are available.
        seeds: How many seeds. Defaults to those of our records, or two with ``quick``.
        quick: Whether to run a small version.
        out: Folder of the records.
        device: Device to compute on.
        precision: Precision of the networks: ``"float32"``, ``"bf16"`` or, on a GPU, ``"tf32"``.
            Defaults to that of the settings, float32. Others have a folder of records of their own.
        data: The user's folder of data sets.
        engine: Where jobs run. Defaults to one after another in this process.
    """
    experiment = find(name)
    if experiment.select is not None:
        configs = experiment.select(only, models)
    else:
        configs = rows(name, experiment.config, models)
    if quick:
        configs = {row: config.quick() for row, config in configs.items()}
    if precision is not None:
        if precision not in get_args(Precision):
            raise MPSNError(f"Expected precision float32, tf32 or bf16, got {precision!r:.40}.")
        if not CATALOG[name].has_precision:
            raise MPSNError(
                f"Expected no precision for {name}, whose settings have none, got {precision!r}."
            )
        configs = {row: override(config, "precision", precision) for row, config in configs.items()}
    if seeds is None:
        seeds = 2 if quick else experiment.seeds
    folder = Path(out) / folder_name(name, precision, quick)
    data_sets = DataSets(experiment, None if data is None else Path(data))
    records, missing = run(
        experiment,
        configs,
        seeds,
        out=folder,
        device=device,
        data=data_sets,
        only=only,
        engine=engine,
    )
    table, figures = experiment.table(records), []
    if precision not in (None, "float32"):
        table = replace(table, title=f"{table.title} ({precision})")
    try:
        if rank() == 0:
            figures = draw(records, data_sets, folder / "figures")
    except (FileError, MissingPackageError) as error:
        missing = [*missing, f"No figures. {error}"]
    return Result(table, records, folder, figures, missing)


def draw(records: list[Record], data: DataSets, folder: Path) -> list[Path]:
    """Draw the figures of an experiment as PNG and SVG; return their paths."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            "Expected matplotlib for figures, got none; pip install matplotlib."
        ) from error
    paths = []
    for name, figure in data.experiment.figures(records, data).items():
        for kind in ("png", "svg"):
            paths.append(folder / f"{name}.{kind}")
            save_figure(figure, paths[-1], parents=True)
    return paths
