"""From an experiment to its records, on an engine, and from its name to a table and figures."""

import sys
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_args

from tqdm import tqdm

from mpsn.errors import ConfigError, FileError, MissingDataError, MPSNError
from mpsn.files import check_writable, save_figure
from mpsn.training import agree, check_same, rank, world_size
from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.experiment import DataSets, Experiment, Job, Record
from mpsn_reproduction.local import LocalEngine
from mpsn_reproduction.settings import Precision, override, rows
from mpsn_reproduction.store import Store, folder_name, remaining
from mpsn_reproduction.table import Table


class Engine(Protocol):
    """Where and how jobs run."""

    def check(self, device: str) -> None:
        """Raise an error if jobs could not run on such a device."""

    def records(
        self, jobs: Sequence[Job], data: DataSets, device: str, tick: Callable[[int], object]
    ) -> Generator[Record]:
        """Run the jobs; yield their records as they finish. The first error ends all."""


LOCAL = LocalEngine()


class Outcome(NamedTuple):
    """All records of the jobs of a run, and why some jobs were left out."""

    records: list[Record]
    missing: list[str]


def run(
    experiment: Experiment,
    configs: Mapping[str, Any],
    seeds: int,
    *,
    out: Path,
    device: str = "cpu",
    data: DataSets | Path | None = None,
    only: Sequence[str] = (),
    engine: Engine = LOCAL,
    progress: bool = True,
) -> Outcome:
    """Run what is not recorded yet, and return all records of the jobs.

    Every finished job is written at once, so a run that is killed or interrupted loses only what
    was in progress; the same call resumes it.

    Args:
        experiment: The experiment.
        configs: Configs by the name of their row.
        seeds: Number of seeds.
        out: Folder of the store.
        device: Device to compute on.
        data: The user's folder of data sets, or data sets read from it.
        only: Names of data to run on. Defaults to all that are available.
        engine: Where jobs run. Defaults to one after another in this process.
        progress: Whether to show a progress bar.
    """
    if world_size() > 1 and (engine != LOCAL or not experiment.parallel):
        raise MPSNError(
            f"Expected one process, or tu, fair, zinc, molhiv or moleculenet, one job at a time, "
            f"got {experiment.name} in {world_size()} processes; start it without torchrun or srun."
        )
    data = data if isinstance(data, DataSets) else DataSets(experiment, data)
    store = Store(out, experiment.config, experiment.check)
    jobs = _jobs(experiment, configs, seeds, only)
    done = agree(lambda: store.of(jobs))
    left = [rest for job in jobs if (rest := remaining(job, done))]
    resumed = len(jobs) - len(left)
    if left:
        engine.check(device)
    for job in left:
        agree(partial(check_writable, store.path(job), what="records", parents=True))
    missing = _read(data, left)
    left = [job for job in left if experiment.source(job) not in missing]
    check_same([*map(str, left)], "data sets")
    if missing and (only or not (done or left)):
        names, reasons = zip(*missing.values(), strict=True)
        raise MPSNError(f"No data for {', '.join(names)}. {reasons[0]}")
    total = sum(experiment.steps(job) for job in left)
    off = None if left and progress else True
    with tqdm(total=total, desc=experiment.name, unit="step", disable=off) as bar:
        if resumed and progress:
            bar.write(f"{resumed} of {len(jobs)} jobs are recorded in {out}", file=sys.stderr)
        with closing(engine.records(left, data, device, bar.update)) as records:
            for record in records:
                if rank() == 0:
                    store.write(record)
                bar.set_postfix_str(str(record.job))
    recorded = agree(lambda: store.of(jobs))
    return Outcome(recorded, [f"{name} is left out. {why}" for name, why in missing.values()])


def _jobs(
    experiment: Experiment, configs: Mapping[str, Any], seeds: int, only: Sequence[str]
) -> list[Job]:
    if seeds < 1:
        raise ConfigError(f"Expected at least one seed, got {seeds}.")
    every = tuple(range(seeds))
    jobs = [job for row, config in configs.items() for job in experiment.jobs(row, config, every)]
    names = list(dict.fromkeys(job.data for job in jobs))
    for name in only:
        if name not in names:
            raise ConfigError(f"Expected data among {', '.join(names)}, got {name!r}.")
    return [job for job in jobs if not only or job.data in only]


def _read(data: DataSets, jobs: list[Job]) -> dict[Hashable, tuple[str, str]]:
    """Read the data of all jobs, before any runs; return what is missing, and why, by source."""
    missing: dict[Hashable, tuple[str, str]] = {}
    for job in jobs:
        if (source := data.experiment.source(job)) not in missing:
            try:
                data.of(job)
            except MissingDataError as error:
                missing[source] = (job.data or data.experiment.name, str(error))
    return missing


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
    except FileError as error:
        missing = [*missing, f"No figures. {error}"]
    return Result(table, records, folder, figures, missing)


def draw(records: list[Record], data: DataSets, folder: Path) -> list[Path]:
    """Draw the figures of an experiment as PNG and SVG; return their paths."""
    paths = []
    for name, figure in data.experiment.figures(records, data).items():
        for kind in ("png", "svg"):
            paths.append(folder / f"{name}.{kind}")
            save_figure(figure, paths[-1], parents=True)
    return paths
