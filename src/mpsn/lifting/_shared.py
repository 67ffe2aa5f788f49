"""What all lifts share: limits on memory, checks of arguments, progress bars."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mpsn._rows.memory import available_memory
from mpsn.complexes.complex import Complex
from mpsn.errors import GraphError, TooLargeError
from mpsn.lifting.features import lift_features

Features = Literal["sum", "mean"] | None
Device = torch.device | str | None
C = TypeVar("C", bound=Complex)
CHUNK = 1 << 20  # cliques between updates of the progress bar; least number of candidates


def check_size(value: object, what: str, least: int, none: str | None = None) -> None:
    """Raise unless a size is an integer of at least ``least``, or None if that has a meaning."""
    if value is None and none:
        return
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return
    also = f", or None for {none}" if none else ""
    raise GraphError(f"Expected {what} as an integer >= {least}{also}, got {value!r:.40}.")


def with_features(K: C, features: Features, max_dim: int | None) -> C:
    """Fill missing features up to the dimension that was asked for."""
    top = max(K.dim, 0) if max_dim is None else max_dim
    return K if features is None else lift_features(K, features, top)


class Budget:
    """The memory that the result may take, and what it has taken so far."""

    def __init__(self, max_bytes: int | None, where: torch.device, counts: list[int]) -> None:
        self.limit = available_memory(where) if max_bytes is None else max_bytes
        self.used, self.counts = 0, counts

    def spend(self, rows: int, size: int) -> None:
        """Count ``rows`` cells of the next dimension, of ``size`` bytes altogether."""
        self.counts.append(rows)
        self.used += size

    def check(self, rows: int, size: int, remedy: str = "") -> None:
        """Refuse ``rows`` cells of the next dimension that would need ``size`` bytes."""
        need = self.used + size
        if need > self.limit:
            dim = len(self.counts)
            raise TooLargeError(
                f"Expected a complex of at most {self.limit / 2**30:.3g} GiB, got counts "
                f"{(*self.counts, rows)} up to dimension {dim}, which need {need / 2**30:.3g} GiB; "
                f"use {remedy}max_dim={dim - 1}, or raise max_bytes."
            )

    def room(self, size: int) -> int:
        """Return the number of candidates of ``size`` bytes to work on at once."""
        return max(CHUNK, (self.limit - self.used) // (4 * size))


@contextmanager
def progress(total: int | None, dim: int) -> "Iterator[tqdm[Any]]":
    """Show a progress bar on long work."""
    with tqdm(total=total, desc=f"Lifting to dimension {dim}", delay=3, leave=False) as bar:
        yield bar


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
