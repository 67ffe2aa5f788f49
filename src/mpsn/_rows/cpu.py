"""Compiled loops over entries on the CPU."""

import numpy as np
from numpy.typing import NDArray

from mpsn._rows.compiled import compiled

OUTSIDE, NOT_CLOSED, NOT_ASCENDING = 1, 2, 3  # what may be wrong with a row of a face table


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
    place = ptr[:-1].copy()
    order = np.empty(index.size, np.int64)
    for position in range(index.size):
        i = index[position]
        order[place[i]] = position
        place[i] += 1
    return order, ptr


@compiled
def find_outside(item: NDArray[np.int64], ptr: NDArray[np.int64], bounds: NDArray[np.int64]) -> int:
    """Return the first position whose item is out of bounds; -1 if there is none.

    At positions ptr[i], ..., ptr[i+1] - 1 belong items bounds[i], ..., bounds[i+1] - 1.
    """
    for i in range(len(ptr) - 1):
        for position in range(ptr[i], ptr[i + 1]):
            if not bounds[i] <= item[position] < bounds[i + 1]:
                return position
    return -1


@compiled
def check_simplices(
    table: NDArray[np.int64], below: NDArray[np.int64], last_below: NDArray[np.int64]
) -> tuple[int, int, bool, NDArray[np.int64]]:
    """Return the first row of a face table that is wrong, and what is: 0 if nothing.

    Then whether rows rise, by the face that omits the last vertex and by that vertex, and the last
    vertices. ``below`` is the face table one dimension lower, ``last_below`` its last vertices.
    """
    n, k = len(table), table.shape[1] - 1
    last, rising = np.empty(n, np.int64), True
    for row in range(n):
        for i in range(k + 1):
            if not 0 <= table[row, i] < len(below):
                return row, OUTSIDE, rising, last
        for j in range(1, k + 1):
            for i in range(j):
                if below[table[row, j], i] != below[table[row, i], j - 1]:
                    return row, NOT_CLOSED, rising, last
        last[row] = last_below[table[row, 0]]
        if last[row] <= last_below[table[row, k]]:
            return row, NOT_ASCENDING, rising, last
        if row:
            step = table[row, k] - table[row - 1, k]
            rising &= step > 0 or (step == 0 and last[row] > last[row - 1])
    return -1, 0, rising, last
