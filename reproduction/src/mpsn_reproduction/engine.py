"""Runs the jobs of an experiment that are not recorded yet, on an engine, and records them."""

import sys
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tqdm import tqdm

from mpsn.errors import ConfigError, MissingDataError, MPSNError
from mpsn.files import check_writable
from mpsn.training import agree, check_same, rank, world_size
from mpsn_reproduction.experiment import DataSets, Experiment, Job, Record
from mpsn_reproduction.local import LocalEngine
from mpsn_reproduction.store import Store, remaining


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
    found = agree(lambda: store.of(jobs))
    return Outcome(found, [f"{name} is left out. {why}" for name, why in missing.values()])


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
