"""The engine: runs the jobs of an experiment that are not recorded yet, here or in processes."""

import multiprocessing
import os
import pickle
import platform
import sys
import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

import mpsn
from mpsn._io import check_writable
from mpsn.datasets._sources import MissingDataError
from mpsn.errors import MPSNError
from mpsn.experiments._experiment import DataSets, Experiment, Job, Record, Resources
from mpsn.experiments._store import Store, remaining
from mpsn.experiments._worker import start
from mpsn.training._config import ConfigError
from mpsn.training._device import pick_device
from mpsn.training._distributed import agree, check_same, rank, world_size


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
    processes: int = 1,
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
        processes: Number of jobs to run at a time; each process reads the data for itself.
    """
    where = pick_device(device)
    if world_size() > 1 and (processes > 1 or not experiment.parallel):
        raise MPSNError(
            f"Expected one process, or tu, zinc, molhiv or moleculenet with --jobs 1, got "
            f"{experiment.name} with --jobs {processes} in {world_size()} processes; start it "
            f"without torchrun or srun."
        )
    data = data if isinstance(data, DataSets) else DataSets(experiment, data)
    store = Store(out, experiment.config, experiment.check)
    jobs = _jobs(experiment, configs, seeds, only)
    done = agree(lambda: store.of(jobs))
    left = [rest for job in jobs if (rest := remaining(job, done))]
    resumed = len(jobs) - len(left)
    for job in left:
        agree(partial(check_writable, store.path(job), what="records", parents=True))
    missing = _read(data, left)
    left = [job for job in left if experiment.source(job) not in missing]
    check_same([str(job) for job in left], "data sets")
    if missing and (only or not (done or left)):
        raise MPSNError(next(iter(missing.values())))
    total = sum(experiment.steps(job) for job in left)
    off = None if left else True
    with tqdm(total=total, desc=experiment.name, unit="step", disable=off) as bar:
        if resumed:
            bar.write(f"{resumed} of {len(jobs)} jobs are recorded in {out}", file=sys.stderr)
        if processes == 1:
            for job in left:
                bar.set_postfix_str(str(job))
                perform(experiment, job, Resources(where, data.of(job), bar.update), store)
        else:
            _in_processes(experiment, left, (device, data.folder, out), processes, bar)
    return Outcome(agree(lambda: store.of(jobs)), list(missing.values()))


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


def _read(data: DataSets, jobs: list[Job]) -> dict[Hashable, str]:
    """Read the data of all jobs, before any runs; return why some is left out, by its source."""
    missing: dict[Hashable, str] = {}
    for job in jobs:
        if (source := data.experiment.source(job)) not in missing:
            try:
                data.of(job)
            except MissingDataError as error:
                missing[source] = f"{job.data or job} is left out. {error}"
    return missing


def perform(experiment: Experiment, job: Job, resources: Resources, store: Store) -> None:
    """Run one job and write its record."""
    device = resources.device
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    began = time.perf_counter()
    runs = experiment.work(job, resources)
    seconds = time.perf_counter() - began
    memory = torch.cuda.max_memory_allocated(device) if cuda else peak_memory()
    if rank() == 0:
        store.write(Record(job, runs, seconds, memory, environment(device), time.time()))


def peak_memory() -> int:
    """Return the most bytes this process has held so far."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def environment(device: torch.device) -> dict[str, str]:
    """Return the versions and the hardware that a result may depend on."""
    cuda = device.type == "cuda"
    return {
        "mpsn": mpsn.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name(device) if cuda else "cpu",
        "cores": str(os.cpu_count()),
        "threads": str(torch.get_num_threads()),
        "processes": str(world_size()),
    }


def _in_processes(
    experiment: Experiment,
    jobs: list[Job],
    where: tuple[str, Path | None, Path],
    processes: int,
    bar: "tqdm[Any]",
) -> None:
    """Run each job in its own process, some at a time; the first error ends all."""
    context = multiprocessing.get_context("spawn")
    threads = max(1, torch.get_num_threads() // processes)
    waiting = list(jobs)
    running: dict[Connection, tuple[SpawnProcess, Job]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                ours, theirs = context.Pipe(duplex=False)
                job = waiting.pop(0)
                task = pickle.dumps((_process, (experiment, job, *where, threads)))
                process = context.Process(target=start, args=(task, theirs))
                process.start()
                theirs.close()
                running[ours] = (process, job)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                try:
                    message = ready.recv()
                except EOFError:
                    process, job = running.pop(ready)
                    process.join()
                    if process.exitcode:
                        raise MPSNError(
                            f"Expected job {job} to succeed, got exit status {process.exitcode}; "
                            "finished jobs are recorded, run the same command again."
                        ) from None
                    continue
                if isinstance(message, Exception):
                    raise message
                bar.update(message)
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


def _process(
    experiment: Experiment,
    job: Job,
    device: str,
    folder: Path | None,
    out: Path,
    threads: int,
    parent: Connection,
) -> None:
    torch.set_num_threads(threads)
    try:
        data = DataSets(experiment, folder).of(job)
        resources = Resources(pick_device(device), data, parent.send)
        perform(experiment, job, resources, Store(out, experiment.config))
    except MPSNError as error:
        parent.send(error)
