"""Hash and compare the multisets of many receivers, on the CPU."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]

START = -7046029254386353131  # odd 64-bit constants of splitmix64, as signed integers
FIRST = -4658895280553007687
SECOND = -7723592293110705685
SHORT = 32  # below this, insertion beats the general sort


def mix(x: Any) -> Any:
    """Scramble 64 bits, one to one: an integer, or a tensor of them."""
    x = x + START
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * FIRST
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * SECOND
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


_mix = numba.njit(cache=True, nogil=True)(mix)


@numba.njit(cache=True, nogil=True)
def fold(ptr: Array, codes: Array, hashes: Array) -> None:
    """Fold the multiset of each receiver into its hash, in any order of its codes."""
    for i in range(len(hashes)):
        total = 0
        for j in range(ptr[i], ptr[i + 1]):
            total += _mix(codes[j])
        hashes[i] = _mix(FIRST * hashes[i] + total)


@numba.njit(cache=True, nogil=True)
def sort_segment(codes: Array, start: int, stop: int) -> None:
    """Sort one multiset in place."""
    if stop - start > SHORT:
        codes[start:stop].sort()
        return
    for j in range(start + 1, stop):
        code = codes[j]
        i = j - 1
        while i >= start and codes[i] > code:
            codes[i + 1] = codes[i]
            i -= 1
        codes[i + 1] = code


@numba.njit(cache=True, nogil=True)
def sort_segments(ptr: Array, codes: Array, which: Array) -> None:
    """Sort the multisets of the receivers ``which`` in place."""
    for i in which:
        sort_segment(codes, ptr[i], ptr[i + 1])


@numba.njit(cache=True, nogil=True)
def compare(
    order: Array, starts: Array, ptr: Array, codes: Array, differs: NDArray[np.bool_]
) -> None:
    """Mark the groups whose members do not all have the multiset of their first member.

    Group g consists of ``order[starts[g]:starts[g + 1]]``. In groups of two or more, multisets are
    sorted in place.
    """
    for g in range(len(starts) - 1):
        if starts[g + 1] - starts[g] == 1:
            continue
        first = order[starts[g]]
        a, size = ptr[first], ptr[first + 1] - ptr[first]
        sort_segment(codes, a, a + size)
        for position in range(starts[g] + 1, starts[g + 1]):
            b, b_end = ptr[order[position]], ptr[order[position] + 1]
            if b_end - b != size:
                differs[g] = True
                break
            sort_segment(codes, b, b_end)
            for j in range(size):
                if codes[a + j] != codes[b + j]:
                    differs[g] = True
            if differs[g]:
                break
