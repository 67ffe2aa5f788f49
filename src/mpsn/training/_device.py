"""Where to compute, and what random numbers to draw there."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from mpsn.errors import MPSNError


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
    """Seed torch inside the block, and restore its random state afterwards."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
