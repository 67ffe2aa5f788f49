"""The default engine: jobs one after another in this process, or each in a process of its own."""

import multiprocessing
import os
import pickle
import platform
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

import torch

import mpsn
from mpsn.errors import MPSNError
from mpsn.training import pick_device, world_size
from mpsn_reproduction.experiment import DataSets, Experiment, Job, Record, Resources
from mpsn_reproduction.worker import start


@dataclass(frozen=True)
class LocalEngine:
    """Jobs on this machine.

    Args:
        processes: Number of jobs to run at a time. With more than one, each job has a process of
            its own, which reads the data for itself. Defaults to 1: all jobs in this process.

    Example:
        >>> from mpsn_reproduction import LocalEngine, reproduce
        >>> engine = LocalEngine(processes=1)
        >>> result = reproduce("sr", models=["swl"], quick=True, out=tmp_path, engine=engine)
        >>> len(result.table.rows)
        3
    """

    processes: int = 1

    def check(self, device: str) -> None:
        """Raise an error if there is no such device."""
        pick_device(device)

    def records(
        self, jobs: Sequence[Job], data: DataSets, device: str, tick: Callable[[int], object]
    ) -> Generator[Record]:
        """Run the jobs; yield their records as they finish. The first error ends all."""
        if self.processes > 1:
            yield from _in_processes(jobs, data, device, tick, self.processes)
            return
        place = pick_device(device)
        for job in jobs:
            yield perform(data.experiment, job, Resources(place, data.of(job), tick))


def _in_processes(
    jobs: Sequence[Job],
    data: DataSets,
    device: str,
    tick: Callable[[int], object],
    processes: int,
) -> Generator[Record]:
    context = multiprocessing.get_context("spawn")
    threads = max(1, torch.get_num_threads() // processes)
    waiting = list(jobs)
    running: dict[Connection, tuple[SpawnProcess, Job]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                ours, theirs = context.Pipe(duplex=False)
                job = waiting.pop(0)
                arguments = (data.experiment, job, device, data.folder, threads)
                task = pickle.dumps((_process, arguments))
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
                if isinstance(message, Record):
                    yield message
                else:
                    tick(message)
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


def _process(
    experiment: Experiment,
    job: Job,
    device: str,
    folder: Path | None,
    threads: int,
    parent: Connection,
) -> None:
    torch.set_num_threads(threads)
    try:
        data = DataSets(experiment, folder).of(job)
        parent.send(perform(experiment, job, Resources(pick_device(device), data, parent.send)))
    except MPSNError as error:
        parent.send(error)


def perform(experiment: Experiment, job: Job, resources: Resources) -> Record:
    """Run one job and return its record."""
    device = resources.device
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    began = time.perf_counter()
    runs = experiment.work(job, resources)
    seconds = time.perf_counter() - began
    memory = torch.cuda.max_memory_allocated(device) if cuda else peak_memory()
    return Record(job, runs, seconds, memory, environment(device), time.time())


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
