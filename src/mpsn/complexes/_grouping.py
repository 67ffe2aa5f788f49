"""Entries by group: sorting them, and running ranges of them together."""

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def is_traced(h: Tensor) -> bool:
    """Return whether torch records what is done to ``h``: then only its own operations may be."""
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or torch._C._functorch.is_legacy_batchedtensor(h)
    )


def grouped(index: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Group the positions of an index by its values, in linear time on the CPU.

    Args:
        index: Integers 0, ..., n - 1, of any shape; read flat.
        n: Number of groups.

    Returns:
        Positions grouped by value, ascending within a group; and offsets (n + 1,) of the groups.

    Example:
        >>> from mpsn.complexes._grouping import grouped
        >>> grouped(torch.tensor([1, 0, 1]), 3)
        (tensor([1, 0, 2]), tensor([0, 1, 3, 3]))
    """
    index = index.reshape(-1)
    if index.is_cpu and not is_traced(index) and not torch._C._are_functorch_transforms_active():
        order, ptr = _count_sort(index.numpy(), n)
        return torch.from_numpy(order), torch.from_numpy(ptr)
    values, positions = torch.sort(index, stable=True)
    return positions, torch.searchsorted(values, torch.arange(n + 1, device=index.device))


def repeat(ptr: Tensor, total: int) -> Tensor:
    """Return the group of each of ``total`` entries, given the offsets of the groups."""
    return torch.repeat_interleave(ptr.diff(), output_size=total)


def ranges(start: Tensor, size: Tensor, total: int | None = None) -> tuple[Tensor, Tensor]:
    """Run the ranges start[i], ..., start[i] + size[i] - 1 together.

    Args:
        start: Where each begins.
        size: How long each is.
        total: Sum of the sizes, where it is known.

    Returns:
        For each number the range i it belongs to, and the number itself.

    Example:
        >>> from mpsn.complexes._grouping import ranges
        >>> ranges(torch.tensor([5, 0]), torch.tensor([2, 1]))
        (tensor([0, 0, 1]), tensor([5, 6, 0]))
    """
    owner = torch.repeat_interleave(size, output_size=total)
    shift = start - size.cumsum(0) + size
    return owner, torch.arange(len(owner), device=size.device) + shift[owner]


@numba.njit(cache=True)
def _count_sort(index: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ptr = np.zeros(n + 1, np.int64)
    for i in index:
        ptr[i + 1] += 1
    for i in range(n):
        ptr[i + 1] += ptr[i]
    at = ptr[:-1].copy()
    order = np.empty(index.size, np.int64)
    for position in range(index.size):
        i = index[position]
        order[at[i]] = position
        at[i] += 1
    return order, ptr
