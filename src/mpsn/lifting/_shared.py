"""What all lifts share: limits on memory, checks of arguments, progress bars."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mpsn._rows.memory import SMALL, available_memory, check_room
from mpsn.errors import GraphError

Device = torch.device | str | None
T = TypeVar("T")
DELAY = 3.0  # seconds before a progress bar appears
CHUNK = 1 << 20  # cliques to extend at a time; least number of candidates to work on at once


def check_size(value: object, what: str, least: int, none: str | None = None) -> None:
    """Raise unless a size is an integer of at least ``least``, or None if that has a meaning."""
    if value is None and none:
        return
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return
    also = f", or None for {none}" if none else ""
    raise GraphError(f"Expected {what} as an integer >= {least}{also}, got {value!r:.40}.")


class Budget:
    """The memory that the result may take, and what it has taken so far."""

    def __init__(self, max_bytes: int | None, device: torch.device, counts: list[int]) -> None:
        self.max_bytes, self.device = max_bytes, device
        self.used, self.counts = 0, counts

    @cached_property
    def limit(self) -> int:
        """The largest number of bytes; where none was set, free memory is asked for when needed."""
        return available_memory(self.device) if self.max_bytes is None else self.max_bytes

    def from_vertices(self) -> Self:
        """Return the budget that is left for another count of cells, from vertices on."""
        left = copy(self)
        left.counts = self.counts[:1]
        return left

    def spend(self, rows: int, size: int) -> None:
        """Count ``rows`` cells of the next dimension, of ``size`` bytes altogether."""
        self.counts.append(rows)
        self.used += size

    def check(self, rows: int, size: int, remedy: str = "") -> None:
        """Refuse ``rows`` cells of the next dimension that would need ``size`` bytes."""
        need = self.used + size
        if need > SMALL or self.max_bytes is not None:
            got = f"counts {(*self.counts, rows)} up to dimension {len(self.counts)}"
            remedy = f"use {remedy}max_dim={len(self.counts) - 1}, or raise max_bytes"
            check_room(need, self.limit, "a complex", got, remedy)

    def room(self, size: int) -> int:
        """Return the number of candidates of ``size`` bytes to work on at once."""
        return max(CHUNK, (self.limit - self.used) // (4 * size))


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
