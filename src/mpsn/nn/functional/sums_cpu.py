"""Sums of rows of a table in double precision on the CPU, where torch is ten times as slow."""

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def sum_rows(
    table: NDArray[np.float64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write to ``out[i]`` the sum of ``table[rows[j]]`` from j = starts[i] up to the next start."""
    n, width = out.shape
    for i in range(n):
        stop = starts[i + 1] if i + 1 < n else len(rows)
        for f in range(width):
            out[i, f] = 0.0
        for j in range(starts[i], stop):
            row = rows[j]
            for f in range(width):
                out[i, f] += table[row, f]
