"""Extend cliques by one vertex, on the CPU.

The simplices that extend p by one later vertex are p's children. In lexicographic order the
children of p are consecutive, ptr[p] .. ptr[p + 1], and their last vertices ascend. A vertex w
extends the clique s = (v_0, ..., v_k) exactly if w is the last vertex of a later sibling of s,
(v_0, ..., v_{k-1}, w), and of a child of s's first face, (v_1, ..., v_k, w). The face of (s, w)
that omits v_i is the child of s's own face i with last vertex w: so the join that finds the
cliques also finds their faces, in lexicographic order, without sorting or hashing.

In a directed graph, cliques are *ordered*: v_i points at v_j for all i < j, whatever their numbers
are. The same holds of them, but any sibling of s may extend it, not only a later one.
"""

import numpy as np
from numpy.typing import NDArray

from mpsn._rows.compiled import compiled

Array = NDArray[np.int64]


@compiled
def _seek(last: Array, low: int, high: int, w: int) -> int:
    """Return the first position in low .. high whose last vertex is at least w."""
    step = 1
    while low + step < high and last[low + step] < w:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) // 2
        if last[middle] < w:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def count(
    faces: Array, last: Array, ptr: Array, ordered: bool, start: int, stop: int, out: Array
) -> None:
    """Write the number of children of each clique start .. stop to ``out``."""
    k = faces.shape[1] - 1
    for s in range(start, stop):
        a, a_end = ptr[faces[s, k]] if ordered else s + 1, ptr[faces[s, k] + 1]
        b, b_end = ptr[faces[s, 0]], ptr[faces[s, 0] + 1]
        children = 0
        while a < a_end and b < b_end:
            if last[a] < last[b]:
                a = _seek(last, a, a_end, last[b])
            elif last[b] < last[a]:
                b = _seek(last, b, b_end, last[a])
            else:
                children += 1
                a += 1
                b += 1
        out[s] = children


@compiled
def fill(
    faces: Array,
    last: Array,
    ptr: Array,
    ordered: bool,
    start: int,
    stop: int,
    row: int,
    out: Array,
    out_last: Array,
) -> int:
    """Write the face rows and last vertices of the children of start .. stop from ``row`` on."""
    k = faces.shape[1] - 1
    for s in range(start, stop):
        a, a_end = ptr[faces[s, k]] if ordered else s + 1, ptr[faces[s, k] + 1]
        b, b_end = ptr[faces[s, 0]], ptr[faces[s, 0] + 1]
        while a < a_end and b < b_end:
            if last[a] < last[b]:
                a = _seek(last, a, a_end, last[b])
            elif last[b] < last[a]:
                b = _seek(last, b, b_end, last[a])
            else:
                w = last[a]
                out[row, 0] = b
                for i in range(1, k):
                    out[row, i] = _seek(last, ptr[faces[s, i]], ptr[faces[s, i] + 1], w)
                out[row, k] = a
                out[row, k + 1] = s
                out_last[row] = w
                row += 1
                a += 1
                b += 1
    return row


@compiled
def tally(
    ptr: Array, out: Array, ordered: bool, start: int, stop: int, counts: Array, most: int
) -> int:
    """Count the cliques of each size whose first vertex is in start .. stop, depth first.

    Nothing is held but the vertices that extend each part of one clique, so that a result which is
    too large can be refused before the first of its tables is built.

    Args:
        ptr: Offsets of the edges of each first vertex, (n + 1,).
        out: The second vertex of each edge, ascending for each first one.
        ordered: Whether the cliques are those of a directed graph.
        start: First of the first vertices.
        stop: End of the first vertices.
        counts: The number of cliques by dimension, to add to; what is beyond is not counted.
        most: The largest number of face entries to count.

    Returns:
        The number of face entries; more than ``most`` if counting stopped early.
    """
    deepest = len(counts) - 1
    entries: int = 0
    place = np.empty(deepest + 1, np.int64)
    begin, end = np.empty(deepest + 1, np.int64), np.empty(deepest + 1, np.int64)
    stack = np.empty(16, np.int64)
    for v in range(start, stop):
        depth, top = 0, ptr[v + 1] - ptr[v]
        if len(stack) < 2 * top:
            stack = np.empty(4 * top, np.int64)
        stack[:top] = out[ptr[v] : ptr[v + 1]]
        place[0], begin[0], end[0] = 0, 0, top
        while depth >= 0:
            if place[depth] == end[depth]:
                depth -= 1
                continue
            w = stack[place[depth]]
            place[depth] += 1
            a = begin[depth] if ordered else place[depth]
            a_end = top = end[depth]
            b, b_end = ptr[w], ptr[w + 1]
            if len(stack) < top + a_end - a:
                larger = np.empty(2 * (top + a_end - a), np.int64)
                larger[:top] = stack[:top]
                stack = larger
            while a < a_end and b < b_end:
                if stack[a] < out[b]:
                    a = _seek(stack, a, a_end, out[b])
                elif out[b] < stack[a]:
                    b = _seek(out, b, b_end, stack[a])
                else:
                    stack[top] = stack[a]
                    top += 1
                    a += 1
                    b += 1
            if top > end[depth]:
                counts[depth + 2] += top - end[depth]
                entries += (depth + 3) * (top - end[depth])
                if entries > most:
                    return entries
                if depth + 2 < deepest:
                    depth += 1
                    place[depth], begin[depth], end[depth] = end[depth - 1], end[depth - 1], top
    return entries
