"""One job, measured."""

import os
import platform
import sys
import time

import torch

import mpsn
from mpsn.training import world_size
from mpsn_reproduction.experiment import Experiment, Job, Record, Resources


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
