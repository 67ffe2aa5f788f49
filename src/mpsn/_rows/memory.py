"""Memory limits for results."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache, cached_property
from pathlib import Path
from typing import Self

import psutil
import torch

from mpsn.errors import TooLargeError, out_of_memory

SHARE = 10  # one over this of the limit may be in use before a result is refused
LEAST = 1 << 22  # bytes to work in, whatever the limit is
SMALL = 1 << 18  # bytes that are granted unasked: to ask takes as long as to lift a small graph

# Of a control group, by version: where groups are, its limit, its use, and the cache in that use.
GROUPS = {
    1: ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("", "memory.max", "memory.current", "inactive_file"),
}


def available_memory(device: torch.device) -> int:
    """Return the number of bytes that a result may use: half of the free memory.

    Limits of the address space (``ulimit -v``) and of control groups (containers) count too.
    """
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] // 2)
    return max(0, min(_free())) // 2


def _free() -> Iterator[int]:
    yield psutil.virtual_memory().available
    if sys.platform != "win32":
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            yield most - psutil.Process().memory_info().vms
    for folder, version in limited_groups():
        yield free_in(folder, version)


@cache
def limited_groups(root: Path = Path("/")) -> list[tuple[Path, int]]:
    """Return the control groups around this process that limit its memory, and their versions."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    groups = []
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        version = 1 if controllers else 2
        top = root / "sys/fs/cgroup" / GROUPS[version][0]
        group = top / name.lstrip("/")
        for folder in (group, *group.parents):
            limit = folder / GROUPS[version][1]
            most = limit.read_text().strip() if limit.is_file() else "max"
            if most != "max" and int(most) < psutil.virtual_memory().total:
                groups.append((folder, version))
            if folder == top:
                break
    return groups


def free_in(folder: Path, version: int) -> int:
    """Return the number of bytes left to a control group; it can give back its cache of files."""
    _, limit, use, cache_of_files = GROUPS[version]
    stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    used = int((folder / use).read_text()) - int(stat.get(cache_of_files, 0))
    return int((folder / limit).read_text()) - used


def check_room(need: int, limit: int, what: str, got: str, remedy: str) -> None:
    """Raise if a result would need more than ``limit`` bytes."""
    if need > limit:
        raise TooLargeError(
            f"Expected {what} of at most {limit / 2**30:.3g} GiB, got {got}, which need "
            f"{need / 2**30:.3g} GiB; {remedy}."
        )


def check_vertices(n: int, device: torch.device) -> None:
    """Raise if tables for ``n`` vertices would not fit into memory, before allocating them."""
    if 32 * n <= SMALL:
        return
    most = available_memory(device) // 32
    if n > most:
        raise TooLargeError(
            f"Expected at most {most} vertices, which fit into memory, got {n}; "
            f"number the vertices 0, 1, 2, ... without gaps."
        )


def too_little(what: str, remedy: str) -> TooLargeError:
    """Return the error about an allocation that failed."""
    return TooLargeError(f"Expected {what} that fits into memory, got too little of it; {remedy}.")


@contextmanager
def in_memory(what: str, remedy: str) -> Iterator[None]:
    """Turn the error of an allocation that fails into one that says what to do."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if out_of_memory(error):
            raise too_little(what, remedy) from error
        raise


class Budget:
    """The memory that a complex may take, and what it has taken so far.

    Counts of cells are turned into bytes by whoever builds them: those of the result, and those of
    what is needed meanwhile. They are checked before the cells are made; before more than a tenth
    of the limit is in use, ``tally`` counts all that will come, and keeps none of it. In a block
    ``with budget:`` an allocation that fails all the same is an error that says what to do.

    Args:
        max_bytes: The limit. Defaults to half of the free memory.
        device: Where the complex will be.
        counts: The number of cells by dimension, as far as it is known.
        cell_bytes: What each cell needs beside the sizes that are checked and spent.
    """

    def __init__(
        self,
        max_bytes: int | None,
        device: torch.device,
        counts: list[int],
        cell_bytes: int = 0,
    ) -> None:
        self.max_bytes, self.device, self.cell_bytes = max_bytes, device, cell_bytes
        self.used, self.counts = 0, counts
        self.tally: Callable[[], None] | None = None

    @cached_property
    def limit(self) -> int:
        """The largest number of bytes; where none was set, free memory is asked for when needed."""
        return available_memory(self.device) if self.max_bytes is None else self.max_bytes

    def from_vertices(self) -> Self:
        """Return the budget that is left for another count of cells, from vertices on."""
        left = copy(self)
        left.counts, left.tally = self.counts[:1], None
        return left

    def spend(self, rows: int, size: int) -> None:
        """Count ``rows`` cells of the next dimension, of ``size`` bytes altogether."""
        self.counts.append(rows)
        self.used += size + self.cell_bytes * rows

    def reserve(self, size: int, what: str) -> None:
        """Count bytes that are needed until the result is there; refuse them if they do not fit."""
        self.used += size
        if self.used > SMALL or self.max_bytes is not None:
            self.refuse(self.used, what)

    def check(self, rows: int, size: int, remedy: str = "") -> None:
        """Refuse ``rows`` cells of the next dimension that would need ``size`` bytes."""
        size += self.cell_bytes * rows
        need = self.used + size
        if need > SMALL or self.max_bytes is not None:
            counts = f"counts {(*self.counts, rows)} up to dimension {len(self.counts)}"
            self.refuse(need, counts, remedy)
        if self.tally is not None and not self.is_small(size):
            tally, self.tally = self.tally, None
            tally()

    def refuse(self, need: int, got: str, remedy: str = "") -> None:
        """Refuse a result that would need more than the limit."""
        check_room(need, self.limit, "a complex", got, self._remedy(remedy))

    def is_small(self, size: int) -> bool:
        """Return whether so much more may be in use before the result is known to fit."""
        need = self.used + size
        return need <= SMALL or SHARE * need <= self.limit

    def room(self, size: int) -> int:
        """Return the number of candidates of ``size`` bytes to work on at once."""
        return max(1, max(LEAST, self.limit // (4 * SHARE)) // size)

    def _remedy(self, first: str = "") -> str:
        return f"use {first}max_dim={len(self.counts) - 1}, or raise max_bytes"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if out_of_memory(error):
            raise too_little("a complex", self._remedy()) from error
