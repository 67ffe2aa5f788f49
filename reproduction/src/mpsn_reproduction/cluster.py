"""The engine for clusters: each job is a task of Ray."""

import atexit
import functools
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from mpsn.errors import MissingPackageError, MPSNError
from mpsn.training import pick_device
from mpsn_reproduction.experiment import DataSets, Experiment, Job, Record, Resources
from mpsn_reproduction.local import perform

RETRIES = 10  # of a job whose worker was lost; one that kills its worker must end some day
POLL = 0.1  # seconds
QUIET = {  # no statistics over the network, and no lines of other processes on our stdout
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}
REMEDY = (
    "finished jobs are recorded, run the same command again; or use --engine local "
    "(engine=LocalEngine()), which needs no Ray."
)
LAST_WORDS = (
    "error: Expected this process to run until the jobs are done, got its end by a signal or by "
    "Ray, which ends it when it loses processes of its own, as on a machine under heavy load. Its "
    f"logs are in /tmp/ray/session_latest/logs; {REMEDY}"
)


@dataclass(frozen=True)
class RayEngine:
    """Jobs on a Ray cluster: one task a job, on one CPU core and a part of a GPU.

    Data sets are read here, and reach the workers through Ray's object store; the records come back
    and are written here, so nodes need no common file system. The jobs of a worker or node that is
    lost run again. A connection that was there before is used, else one is opened and kept.

    Args:
        address: Address of the cluster, or ``"auto"`` for the one this machine belongs to. Defaults
            to the environment variable ``RAY_ADDRESS``, or else to a new cluster on this machine.
        gpus: GPUs for each job, such as 0.25 for four jobs on each. Defaults to 1 if jobs run on
            GPUs.

    Example:
        >>> from mpsn_reproduction import RayEngine
        >>> RayEngine("auto", gpus=0.25)
        RayEngine(address='auto', gpus=0.25)
    """

    address: str | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        if self.gpus is not None and not (0 < self.gpus < 1 or self.gpus in range(1, 1000)):
            raise MPSNError(
                f"Expected a fraction of a GPU for each job, or a whole number, got {self.gpus}."
            )

    def check(self, device: str) -> None:
        """Connect; raise an error if there is no cluster, or if it has no such device."""
        self.gpus_of(device)

    def gpus_of(self, device: str) -> float:
        """Return how many GPUs each job takes."""
        if device not in ("cpu", "cuda", "auto"):
            raise MPSNError(f"Expected cpu, cuda or auto on a Ray cluster, got {device!r}.")
        nodes = connect(self.address).nodes()
        largest = max((n["Resources"].get("GPU", 0) for n in nodes if n["Alive"]), default=0)
        asked = 0 if device == "cpu" or (device == "auto" and not largest) else self.gpus or 1
        if asked > largest:
            raise MPSNError(
                f"Expected {asked} GPUs on a node of the Ray cluster for a job on {device}, got "
                f"{largest:g}; add a node with GPUs, or use cpu."
            )
        return asked

    def records(
        self, jobs: Sequence[Job], data: DataSets, device: str, tick: Callable[[int], object]
    ) -> Generator[Record]:
        """Run the jobs; yield their records as they finish. The first error ends all."""
        gpus = self.gpus_of(device)
        ray = connect(self.address)
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_perform)
        experiment, stored = ray.put(data.experiment), {}
        running = {}
        try:
            for job in jobs:
                if (source := data.experiment.source(job)) not in stored:
                    stored[source] = ray.put(data.of(job))
                running[task.remote(experiment, job, stored[source], gpus > 0)] = job
            while running:
                refs = list(running)
                for ref in ray.wait(refs, num_returns=len(refs), timeout=POLL)[0]:
                    job = running.pop(ref)
                    try:
                        record = ray.get(ref)
                    except ray.exceptions.RayError as error:
                        raise reason(error, job) from error
                    yield record
                    tick(data.experiment.steps(job))
        finally:
            for ref in running:
                ray.cancel(ref, force=True)


def _perform(experiment: Experiment, job: Job, data: Any, gpu: bool) -> Record:
    device = pick_device("cuda" if gpu else "cpu")
    return perform(experiment, job, Resources(device, data, lambda steps: None))


def connect(address: str | None) -> Any:
    """Return the module ``ray``, connected to a cluster; without its messages and statistics."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise MissingPackageError(
            'Expected ray for --engine ray, got none; pip install "mpsn-reproduction[ray]".'
        ) from error
    address = address or os.environ.get("RAY_ADDRESS", "local")
    if not ray.is_initialized():
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address == "local":
            quiet["include_dashboard"] = False
        host, _, port = address.rpartition(":")
        try:
            if host and port.isdigit() and "://" not in host:  # Ray itself would wait for minutes
                socket.create_connection((host, int(port)), timeout=10).close()
            _watch_this_process()
            ray.init(address, **quiet)
        except Exception as error:  # Ray raises Exception itself where its processes do not start
            if address == "local":
                raise MPSNError(
                    f"Expected Ray to start on this machine, got: {error!s:.300} On a machine "
                    f"under heavy load, try again later: {REMEDY}"
                ) from error
            raise MPSNError(
                f"Expected a Ray cluster at {address}, got {error!s:.300}. Start one with `ray "
                "start --head`, or leave out the address and RAY_ADDRESS for one on this machine."
            ) from error
    return ray


@functools.cache
def _watch_this_process() -> None:
    """Start a process that prints the last words if this one ends without an exit of Python.

    Ray's library in C++ ends its process at once where it loses the cluster: nothing is raised.
    """
    speak = "import sys; sys.stdin.read() or print(sys.argv[1], file=sys.stderr)"
    watcher = subprocess.Popen(
        [sys.executable, "-S", "-c", speak, LAST_WORDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for this process
    )

    def dismiss() -> None:
        watcher.communicate(b"Python ended.")

    atexit.register(dismiss)


def reason(error: Exception, job: Job) -> Exception:
    """Return what to raise for a task that failed: our own errors as they were."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, MPSNError):
        return cause
    if cause is not None:
        return error  # a bug, with the traceback of the worker
    return MPSNError(
        f"Expected job {job} to succeed, got a worker lost {RETRIES + 1} times "
        f"({type(error).__name__}); {REMEDY}"
    )
