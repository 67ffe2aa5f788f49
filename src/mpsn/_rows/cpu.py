"""Compiled loops over entries on the CPU."""

import numpy as np
from numpy.typing import NDArray

from mpsn._rows.compiled import compiled


@compiled
def segment_sum(
    h: NDArray[np.float64],
    index: NDArray[np.int64],
    ptr: NDArray[np.int64],
    weight: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write to ``out[i]`` the sum of ``weight[j] h[index[j]]`` from j = ptr[i] to ptr[i+1]."""
    n, width = out.shape
    weighted = len(weight) > 0
    for i in range(n):
        for f in range(width):
            out[i, f] = 0.0
        for j in range(ptr[i], ptr[i + 1]):
            row = index[j]
            w = weight[j] if weighted else 1.0
            for f in range(width):
                out[i, f] += w * h[row, f]


@compiled
def count_sort(index: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions sorted by value, and the offsets of the values."""
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
