"""Hash and compare the multisets of many receivers, on the CPU."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpsn._rows.compiled import compiled

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


_mix = compiled(mix)


@compiled
def fold(ptr: Array, codes: Array, hashes: Array) -> None:
    """Fold the multisets of all receivers into their hashes, in any order."""
    for i in range(len(hashes)):
        total = 0
        for j in range(ptr[i], ptr[i + 1]):
            total += _mix(codes[j])
        hashes[i] = _mix(FIRST * hashes[i] + total)


@compiled
def propose(hashes: Array) -> tuple[Array, Array]:
    """Number the distinct hashes as they appear; return the numbers, and where each is first."""
    n = len(hashes)
    size = 1
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    ids, first, count = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), 0
    for i in range(n):
        slot = _mix(hashes[i]) & (size - 1)
        while table[slot] >= 0 and hashes[first[table[slot]]] != hashes[i]:
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = count
            first[count] = i
            count += 1
        ids[i] = table[slot]
    return ids, first[:count].copy()


@compiled
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


@compiled
def sort_segments(ptr: Array, codes: Array, which: Array) -> None:
    """Sort the multisets of the receivers ``which`` in place."""
    for i in which:
        sort_segment(codes, ptr[i], ptr[i + 1])


@compiled
def compare(ids: Array, first: Array, ptr: Array, codes: Array, differs: NDArray[np.bool_]) -> None:
    """Mark the groups whose members do not all have the multiset of their first member.

    Receiver i is in group ``ids[i]``, whose first member is ``first[ids[i]]``. In groups of two or
    more, multisets are sorted in place.
    """
    ready = np.zeros(len(first), dtype=np.bool_)
    for i, g in enumerate(ids):
        if first[g] == i or differs[g]:
            continue
        a, b, end = ptr[first[g]], ptr[i], ptr[i + 1]
        if ptr[first[g] + 1] - a != end - b:
            differs[g] = True
            continue
        if not ready[g]:
            sort_segment(codes, a, a + end - b)
            ready[g] = True
        sort_segment(codes, b, end)
        for j in range(end - b):
            if codes[a + j] != codes[b + j]:
                differs[g] = True
                break
