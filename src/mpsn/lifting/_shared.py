"""What all lifts share: checks of arguments, progress bars, runs of candidates."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mpsn.errors import GraphError

Device = torch.device | str | None
T = TypeVar("T")
DELAY = 3.0  # seconds before a progress bar appears
CHUNK = 1 << 20  # cliques to extend at a time, between two looks at the progress


def check_size(value: object, what: str, least: int, none: str | None = None) -> None:
    """Raise unless a size is an integer of at least ``least``, or None if that has a meaning."""
    if value is None and none:
        return
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return
    also = f", or None for {none}" if none else ""
    raise GraphError(f"Expected {what} as an integer >= {least}{also}, got {value!r:.40}.")


def track(parts: Iterable[T], dim: int) -> Iterable[T]:
    """Return the parts of a work, with a progress bar if there are several and they take long."""
    if isinstance(parts, Sequence) and len(parts) < 2:
        return parts  # to make a bar costs as much as a small lift
    return tqdm(parts, f"Lifting to dimension {dim}", delay=DELAY, leave=False)


def cut(ends: Tensor, room: int) -> Iterator[tuple[int, int, int]]:
    """Split rows into runs (start, stop, candidates) of at most ``room`` candidates, or one row.

    Args:
        ends: Running totals of the candidates of each row.
        room: Largest number of candidates of a run.
    """
    m, start, done = len(ends), 0, 0
    total = int(ends[-1])
    while start < m:
        if total - done <= room:
            stop, upto = m, total
        else:
            stop = max(start + 1, int(torch.searchsorted(ends, done + room, right=True)))
            upto = int(ends[stop - 1])
        yield start, stop, upto - done
        start, done = stop, upto
