"""The engine: runs the jobs of an experiment that are not recorded yet, here or in processes."""

import multiprocessing
import os
import platform
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

import mpsn
from mpsn.errors import MPSNError
from mpsn.experiments.configs import ConfigError
from mpsn.experiments.experiment import Experiment, Job, Place, Record, Run
from mpsn.experiments.store import Store, remaining


@dataclass(frozen=True)
class Outcome:
    """What a call of the engine leaves: all records of its jobs, and what it had to leave out."""

    records: list[Record]
    store: Store
    missing: list[str]


def run(
    experiment: Experiment,
    configs: Mapping[str, Any],
    seeds: int,
    *,
    out: Path,
    device: str = "cpu",
    data: Path | None = None,
    only: Sequence[str] = (),
    processes: int = 1,
) -> Outcome:
    """Run what is not recorded yet, and return all records of the jobs.

    Every finished job is written at once, so a run that is killed or interrupted loses only what
    was in progress: give the same call again and it goes on.

    Args:
        experiment: The experiment.
        configs: Configs by the name of their row.
        seeds: How many seeds, 0, 1, ...
        out: Folder of the store.
        device: Device to compute on.
        data: The user's folder of data sets.
        only: Names of data to run on; unless said, all that is at hand.
        processes: How many jobs run at a time, each in a process of its own if more than one.
    """
    there = check_device(device)
    jobs = [
        job
        for row, config in configs.items()
        for job in experiment.jobs(row, config, _range(seeds))
    ]
    jobs, missing = _at_hand(experiment, jobs, data, only)
    store = Store(out, experiment.config)
    done = store.of(jobs)
    left = [rest for job in jobs if (rest := remaining(job, done))]
    bar = tqdm(
        total=sum(experiment.steps(job) for job in left),
        desc=experiment.name,
        unit="step",
        disable=None if left else True,
    )
    with bar:
        if len(left) < len(jobs):
            said = f"{len(jobs) - len(left)} of {len(jobs)} jobs are recorded in {out}"
            bar.write(said, file=sys.stderr)
        if processes == 1:
            for job in left:
                bar.set_postfix_str(str(job))
                perform(experiment, job, Place(there, data, bar.update), store)
        else:
            _in_processes(experiment, left, (device, data, out), processes, bar)
    return Outcome(store.of(jobs), store, missing)


def perform(experiment: Experiment, job: Job, place: Place, store: Store) -> Record:
    """Run one job and write its record."""
    cuda = place.device.type == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats(place.device)
    start = time.perf_counter()
    runs: list[Run] = experiment.work(job, place)
    seconds = time.perf_counter() - start
    memory = torch.cuda.max_memory_allocated(place.device) if cuda else peak_memory()
    record = Record(job, runs, seconds, memory, environment(place.device))
    store.write(record)
    return record


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
    }


def check_device(name: str | torch.device) -> torch.device:
    """Return a device that can be used."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise MPSNError(f"Expected a device such as cpu or cuda, got {name!r}: {reason}") from error
    return device


def _range(seeds: int) -> tuple[int, ...]:
    if seeds < 1:
        raise ConfigError(f"Expected at least one seed, got {seeds}.")
    return tuple(range(seeds))


def _at_hand(
    experiment: Experiment, jobs: list[Job], data: Path | None, only: Sequence[str]
) -> tuple[list[Job], list[str]]:
    """Return the jobs whose data is asked for and at hand, and why others are left out."""
    names = list(dict.fromkeys(job.data for job in jobs))
    for name in only:
        if name not in names:
            raise ConfigError(f"Expected data among {', '.join(names)}, got {name!r}.")
    jobs = [job for job in jobs if not only or job.data in only]
    one_each = {job.data: job for job in reversed(jobs)}
    reasons = {name: experiment.missing(job, data) for name, job in one_each.items()}
    missing = [reason for reason in reasons.values() if reason]
    jobs = [job for job in jobs if not reasons[job.data]]
    if missing and (only or not jobs):
        raise MPSNError(missing[0])
    return jobs, missing


def _in_processes(
    experiment: Experiment,
    jobs: list[Job],
    where: tuple[str, Path | None, Path],
    processes: int,
    bar: "tqdm[Any]",
) -> None:
    """Run each job in a process of its own, some at a time; the first error ends all."""
    context = multiprocessing.get_context("spawn")
    threads = max(1, torch.get_num_threads() // processes)
    waiting = list(jobs)
    running: dict[Connection, tuple[SpawnProcess, Job]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                ours, theirs = context.Pipe(duplex=False)
                job = waiting.pop(0)
                args = (experiment, job, *where, threads, theirs)
                process = context.Process(target=_process, args=args)
                process.start()
                theirs.close()
                running[ours] = (process, job)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                try:
                    said = ready.recv()
                except EOFError:
                    process, job = running.pop(ready)
                    process.join()
                    if process.exitcode:
                        raise MPSNError(
                            f"Expected job {job} to end well, got exit status {process.exitcode}; "
                            "finished jobs are recorded, give the same command again."
                        ) from None
                    continue
                if isinstance(said, Exception):
                    raise said
                bar.update(said)
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


def _process(
    experiment: Experiment,
    job: Job,
    device: str,
    data: Path | None,
    out: Path,
    threads: int,
    parent: Connection,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its processes itself
    torch.set_num_threads(threads)
    try:
        place = Place(check_device(device), data, parent.send)
        perform(experiment, job, place, Store(out, experiment.config))
    except MPSNError as error:
        parent.send(error)
    except BrokenPipeError:
        pass  # the parent was killed; whoever resumes runs this job again
