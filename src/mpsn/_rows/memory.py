"""Memory limits for results."""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import psutil
import torch

from mpsn.errors import TooLargeError

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
    found = []
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
                found.append((folder, version))
            if folder == top:
                break
    return found


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
