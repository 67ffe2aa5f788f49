"""Where to compute, and what random numbers to draw there."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from mpsn.errors import MPSNError

_SEEDING = threading.RLock()


def pick_device(name: str | torch.device = "auto") -> torch.device:
    """Return a device that works; ``"auto"`` is the GPU if there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise MPSNError(
            f"Expected a device such as cpu or cuda, got {name!r}: {reason} Use 'auto' for a GPU "
            f"if there is one."
        ) from error
    return device


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch inside the block, and restore its random state afterwards.

    Torch has one generator for all threads: only one of them is in such a block at a time.
    """
    cuda = device.type == "cuda"
    with _SEEDING, torch.random.fork_rng([device] if cuda else []):
        torch.default_generator.manual_seed(seed)
        if cuda:  # and no other GPU, whose state is not restored
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Compute in one thread on a CPU inside the block: sums depend on how they are divided."""
    threads = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
