"""From a name to a table: load the configs, run what is left, draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mpsn.errors import FileError
from mpsn.experiments import find
from mpsn.experiments.configs import rows
from mpsn.experiments.engine import run
from mpsn.experiments.experiment import Experiment, Record, Table


@dataclass(frozen=True)
class Result:
    """What ``reproduce`` leaves.

    Attributes:
        table: Ours beside the paper's.
        records: What the table and the figures were made from.
        folder: Where the records lie.
        figures: The figures, each as PNG and as SVG.
        missing: Why some data was left out.
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
    out: Path = Path("runs"),
    device: str = "cpu",
    data: Path | None = None,
    processes: int = 1,
) -> Result:
    """Make a table and its figures, going on from what is recorded in ``out``.

    Args:
        name: The experiment: sr, flow, ocean or tu.
        models: Rows of the table; all unless said.
        only: Data to run on, such as families of graphs; all that is at hand unless said.
        seeds: How many seeds; as many as the paper unless said, or two of the quick version.
        quick: Whether to run the small version of the same thing.
        out: Folder of the records.
        device: Device to compute on.
        data: The user's folder of data sets.
        processes: How many jobs to run at a time.
    """
    experiment = find(name)
    configs = rows(name, experiment.config, models)
    if quick:
        configs = {row: config.quick() for row, config in configs.items()}
    if seeds is None:
        seeds = 2 if quick else experiment.seeds
    folder = out / (f"{name}-quick" if quick else name)
    outcome = run(
        experiment,
        configs,
        seeds,
        out=folder,
        device=device,
        data=data,
        only=only,
        processes=processes,
    )
    records = outcome.records
    figures = draw(experiment, records, data, folder / "figures")
    return Result(experiment.table(records), records, folder, figures, outcome.missing)


def draw(
    experiment: Experiment, records: list[Record], data: Path | None, folder: Path
) -> list[Path]:
    """Draw the figures of an experiment as PNG and SVG; return their paths.

    Without matplotlib there are none, and the table stands alone.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        return []
    paths = []
    for name, figure in experiment.figures(records, data).items():
        for kind in ("png", "svg"):
            path = folder / f"{name}.{kind}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                figure.savefig(path, dpi=150, bbox_inches="tight")
            except OSError as error:
                raise FileError(f"Expected to write {path}, got {error}.") from error
            paths.append(path)
        plt.close(figure)
    return paths
