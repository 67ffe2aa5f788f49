"""Sums of rows in double precision on the CPU, where torch's embedding bags are slow."""

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def sum_rows(
    h: NDArray[np.float64],
    at: NDArray[np.int64],
    ptr: NDArray[np.int64],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write to ``out[i]`` the sum of ``weights[j] h[at[j]]`` from j = ptr[i] to ptr[i+1].

    Without weights, of length 0, all of them are 1.
    """
    n, width = out.shape
    weighted = len(weights) > 0
    for i in range(n):
        for f in range(width):
            out[i, f] = 0.0
        for j in range(ptr[i], ptr[i + 1]):
            row = at[j]
            weight = weights[j] if weighted else 1.0
            for f in range(width):
                out[i, f] += weight * h[row, f]
