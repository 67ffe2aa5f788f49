"""Messages of SIN in double precision on the CPU, in one pass over memory."""

import numba
import numpy as np
from numpy.typing import NDArray

from mpsn.nn.elu import elu_all

BLOCK = 64  # rows at a time, for the fastest cache


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def exchanged(
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    faces: NDArray[np.int64],
    own: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write to ``out[i, c]`` the sum of ELU(p[faces[i, d]] + q[own[i]]) over all d but c."""
    n, columns, width = out.shape
    messages = np.empty((BLOCK, columns, width))
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        for i in range(rows):
            coface = own[start + i]
            for c in range(columns):
                face = faces[start + i, c]
                for f in range(width):
                    messages[i, c, f] = p[face, f] + q[coface, f]
        elu_all(messages[:rows].reshape(-1))
        for i in range(rows):
            for c in range(columns):
                first = 1 if c == 0 else 0
                for f in range(width):
                    out[start + i, c, f] = messages[i, first, f]
                for d in range(first + 1, columns):
                    if d != c:
                        for f in range(width):
                            out[start + i, c, f] += messages[i, d, f]
