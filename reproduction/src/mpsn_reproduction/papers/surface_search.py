"""All triangulations of closed surfaces with few vertices, by completing links one by one.

Triangles are kept as ``third[v, w, :]``, the vertices that form a triangle with the edge vw, of
which there are ``count[v, w]``; ``degree[v]`` is the number of neighbors of v.
"""

from itertools import combinations

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.errors import GraphError

Table = NDArray[np.int64]
Key = tuple[np.uint64, np.uint64]  # a set of triangles, one bit for each of at most C(10, 3)


def triangulated_surfaces(n: int) -> ComplexDataset[SimplicialComplex]:
    """Make all triangulated closed surfaces with n vertices, up to isomorphism, from scratch.

    Links of vertices are completed one after another in all ways, beginning with a vertex of
    largest degree; a canonical numbering of the vertices removes duplicates. There are 1, 1, 3, 9,
    43, 655 and 42 426 surfaces with 4 to 10 vertices; those with 9 take a second, those with 10 a
    minute or two. The type follows from homology.

    Args:
        n: Number of vertices, 4 to 10.

    Returns:
        The surfaces, with labels as in :func:`mpsn.datasets.surfaces`.

    Example:
        >>> from mpsn.datasets import SURFACE_TYPES
        >>> from mpsn_reproduction.papers.surface_search import triangulated_surfaces
        >>> [SURFACE_TYPES[i] for i in triangulated_surfaces(6).y[:, 0]]
        ['S^2', 'S^2', 'RP^2']
    """
    if not 4 <= n <= 10:
        raise GraphError(f"Expected 4 to 10 vertices of a surface, got {n!r}.")
    triangles = sorted(combinations(range(n), 3), key=lambda triangle: triangle[::-1])
    surfaces = []
    for bits in search(n):
        K = SimplicialComplex.from_simplices([triangles[i] for i in np.flatnonzero(bits)])
        betti = K.betti_numbers()
        orientable = betti[2]
        genus = betti[1] // 2 if orientable else betti[1] + 1
        kind = genus if orientable else genus + 3
        surfaces.append(K.replace(y=torch.tensor([[kind, orientable, genus, *betti]])))
    return ComplexDataset(surfaces)


def search(n: int) -> Table:
    """Return one triangulation of each isomorphism class as bits, (classes, C(n, 3)) int64.

    Bit C(z, 3) + C(y, 2) + x stands for the triangle of the vertices x < y < z.
    """
    keys = sorted({key for most in range(3, n) for key in _search(n, most)}, reverse=True)
    words = np.array(keys, dtype=np.uint64).reshape(-1, 2, 1)
    bits = words >> np.arange(64, dtype=np.uint64) & np.uint64(1)  # (classes, 2, 64)
    return bits.astype(np.int64)[:, ::-1].reshape(len(keys), -1)[:, : n * (n - 1) * (n - 2) // 6]


@njit(cache=True)
def _search(n: int, most: int) -> list[Key]:
    """Return the surfaces with largest degree ``most``, each several times.

    Vertex 0 has that degree and the link 1, 2, ..., most; other vertices are numbered as they come
    up.
    """
    third = np.zeros((n, n, 2), np.int64)
    count = np.zeros((n, n), np.int64)
    degree = np.zeros(n, np.int64)
    found = [(np.uint64(0), np.uint64(0)) for _ in range(0)]
    for v in range(1, most + 1):
        _put(third, count, degree, (0, v, v % most + 1), 1)
    _extend(n, most + 1, third, count, degree, most, found)
    return found


@njit(cache=True)
def _extend(
    n: int, used: int, third: Table, count: Table, degree: Table, most: int, found: list[Key]
) -> None:
    """Add triangles at the first edge that has only one, in all ways, until there is no such edge.

    All vertices before the edge's first are done.
    """
    for v in range(1, used):
        for w in range(n):
            if count[v, w] == 1:
                for x in range(v + 1, min(n, used + 1)):
                    if x != w and _fits(third, count, degree, (v, w, x), most):
                        _put(third, count, degree, (v, w, x), 1)
                        _extend(n, max(used, x + 1), third, count, degree, most, found)
                        _put(third, count, degree, (v, w, x), -1)
                return
    if used == n:
        found.append(_canonical(n, third, count, degree, most))


@njit(cache=True)
def _put(
    third: Table, count: Table, degree: Table, triangle: tuple[int, int, int], sign: int
) -> None:
    """Add a triangle, or remove the one added last with ``sign=-1``."""
    for i in range(3):
        a, b, c = triangle[i], triangle[i - 1], triangle[i - 2]
        for p, q in ((a, b), (b, a)):
            if sign > 0:
                third[p, q, count[p, q]] = c
            degree[p] += sign * (count[p, q] + min(sign, 0) == 0)
            count[p, q] += sign


@njit(cache=True)
def _fits(
    third: Table, count: Table, degree: Table, triangle: tuple[int, int, int], most: int
) -> bool:
    """Return whether all links stay paths, or become one cycle, of at most ``most`` vertices."""
    for i in range(3):
        if count[triangle[i], triangle[i - 1]] == 2:
            return False
    for i in range(3):
        a, b, c = triangle[i], triangle[i - 1], triangle[i - 2]
        new = (count[a, b] == 0) + (count[a, c] == 0)
        if degree[a] + new > most or (new == 2 and degree[a] and not (count[a] == 1).any()):
            return False
        if (
            new == 0
        ):  # follow the path from b in the link of a; bc may close it if it is the only one
            last, at, length = b, third[a, b, 0], 2
            while count[a, at] == 2:
                last, at = at, third[a, at, 0] + third[a, at, 1] - last
                length += 1
            if at == c and length < degree[a]:
                return False
    return True


@njit(cache=True)
def _canonical(n: int, third: Table, count: Table, degree: Table, most: int) -> Key:
    """Return the largest key of a surface, over the numberings of its vertices from a flag.

    A flag is a vertex of largest degree, an edge there, and a side. Vertices are numbered by walks
    around 0, 1, ..., each from its first neighbor toward the lower of two sides.
    """
    best = (np.uint64(0), np.uint64(0))
    number, order = np.empty(n, np.int64), np.empty(n, np.int64)
    for start in range(n):
        for first in range(n):
            for side in range(2 if degree[start] == most and count[start, first] else 0):
                number[:] = -1
                number[start], order[0], used = 0, start, 1
                a, b = first, third[start, first, side]
                for i in range(n):
                    v = order[i]
                    if i:
                        a = v
                        for w in range(n):
                            if count[v, w] and 0 <= number[w] < number[a]:
                                a = w
                        b = third[v, a, int(number[third[v, a, 0]] > number[third[v, a, 1]])]
                    for _ in range(degree[v]):
                        if number[a] < 0:
                            number[a], order[used] = used, a
                            used += 1
                        a, b = b, third[v, b, 0] + third[v, b, 1] - a
                key = _key(n, third, count, number)
                best = key if key > best else best
    return best


@njit(cache=True)
def _key(n: int, third: Table, count: Table, number: Table) -> Key:
    """Return the triangles of a surface, renumbered, as bits."""
    high, low = np.uint64(0), np.uint64(0)
    for p in range(n):
        for q in range(p):
            for k in range(count[p, q]):
                if third[p, q, k] < q:
                    a, b, c = number[p], number[q], number[third[p, q, k]]
                    z, x = max(a, b, c), min(a, b, c)
                    y = a + b + c - x - z
                    bit = z * (z - 1) * (z - 2) // 6 + y * (y - 1) // 2 + x
                    if bit < 64:
                        low |= np.uint64(1) << np.uint64(bit)
                    else:
                        high |= np.uint64(1) << np.uint64(bit - 64)
    return high, low
