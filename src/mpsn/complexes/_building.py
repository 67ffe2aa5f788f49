"""Simplicial complexes from lists of simplices, and back."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.checks import as_int
from mpsn._rows.device import check_holds
from mpsn._rows.memory import available_memory, check_room, check_vertices, in_memory
from mpsn._rows.rows import ranges, unique_rows
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

REMEDY = "lower max_dim, or give smaller simplices"
CHUNK = 1 << 12  # simplices that are looked at together
WIDEST = 99  # vertices of a simplex whose faces are counted: with more, there are only more

if TYPE_CHECKING:
    from mpsn.complexes.simplicial import SimplicialComplex


def from_simplices(
    simplices: Iterable[Collection[Hashable]],
    num_vertices: int | None = None,
    max_dim: int | None = None,
) -> "SimplicialComplex":
    """Build the complex of the given simplices and all their faces.

    Refused, before it is built, where it would not fit into memory: a simplex of n vertices has
    2^n - 1 faces.

    Args:
        simplices: Vertex lists of any sizes, in any order; duplicates are allowed. If the vertices
            are strings or tuples, they are numbered in sorted order and kept as ``vertex_labels``.
        num_vertices: Number of vertices, including isolated ones. Defaults to one more than the
            largest vertex. Not for named vertices: write an isolated one v as [v].
        max_dim: Largest dimension to keep; of larger simplices, all faces up to it. Defaults to
            no bound.

    Example:
        >>> SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]])
        SimplicialComplex(dim=2, counts=(4, 4, 1))
        >>> SimplicialComplex.from_simplices([["ann", "bob"], ["carl"]]).vertex_labels
        ('ann', 'bob', 'carl')
        >>> SimplicialComplex.from_simplices([range(100)], max_dim=1)
        SimplicialComplex(dim=1, counts=(100, 4950))
    """
    if not isinstance(simplices, Iterable):
        raise ComplexError(f"Expected a list of simplices, got {simplices!r:.60}.")
    simplices = list(simplices)
    if num_vertices is None and _are_named(simplices):
        return named_complex(simplices, max_dim)
    by_size: dict[int, list[Sequence[Any]]] = defaultdict(list)
    for simplex in simplices:
        try:
            by_size[len(simplex)].append(tuple(simplex))
        except TypeError as error:
            raise ComplexError(
                f"Expected simplices as lists of vertices, got {simplex!r:.40}; "
                f"write a vertex v as [v]."
            ) from error
    tables = _tables(by_size)
    largest = max((int(rows.max()) for rows in tables.values()), default=-1)
    n = largest + 1 if num_vertices is None else as_int(num_vertices, "num_vertices")
    if n <= largest:
        raise ComplexError(f"Expected num_vertices > {largest}, the largest vertex, got {n}.")
    return close_tables(tables, n, max_dim)


def as_incidences(tables: Sequence[Tensor], num_vertices: int) -> list[Incidence]:
    """Return the incidences with the face tables of dimension 1, 2, ... and default signs."""
    counts = [num_vertices, *map(len, tables)]
    return [
        Incidence.unchecked(table.reshape(-1), counts[k], table.shape[1])
        for k, table in enumerate(tables)
    ]


def close_tables(tables: dict[int, Tensor], n: int, max_dim: int | None) -> "SimplicialComplex":
    """Build the complex of the rows of vertex tables, keyed by their width, and of their faces.

    Rows ascend, and vertices are below ``n``. A bound ``max_dim`` is kept to.
    """
    from mpsn.complexes.simplicial import SimplicialComplex

    check_holds(torch.get_default_device())
    check_vertices(n, torch.device("cpu"))
    if max_dim is not None:
        size = as_int(max_dim, "max_dim") + 1
        wide = {width: rows for width, rows in tables.items() if width > size}
        number = sum(len(rows) * comb(width, size) for width, rows in wide.items())
        limit = available_memory(torch.device("cpu"))
        _check_room(_room(number, size), limit, f"{number:,} faces of {size} vertices")
        parts = [rows[:, _subsets(width, size)].reshape(-1, size) for width, rows in wide.items()]
        tables = {width: rows for width, rows in tables.items() if width <= size}
        if parts:
            tables[size] = torch.cat([tables.get(size, parts[0][:0]), *parts])
    with in_memory("simplices with all their faces", REMEDY):
        faces = close_under_faces(tables, max(tables, default=1), n)
        return SimplicialComplex.unchecked(as_incidences(faces, n), num_vertices=n)


def _subsets(n: int, size: int) -> Tensor:
    """Return the subsets of 0, ..., n - 1 of a size, one per row."""
    rows = torch.arange(n)[:, None]
    while rows.shape[1] < size:
        owner, more = ranges(rows[:, -1] + 1, n - 1 - rows[:, -1])
        rows = torch.cat([rows[owner], more[:, None]], dim=1)
    return rows


def _are_named(simplices: list[Any]) -> bool:
    kinds = (list, tuple, set, frozenset)
    return any(
        isinstance(name, (str, tuple)) for s in simplices if isinstance(s, kinds) for name in s
    )


def named_complex(
    simplices: Iterable[Collection[Hashable]], max_dim: int | None = None
) -> "SimplicialComplex":
    """Build from simplices over any names, which become labels unless they are 0, 1, ..."""
    number: dict[Hashable, int] = {}
    flat: dict[int, array[int]] = {}
    for simplex in simplices:
        vertices = (number.setdefault(name, len(number)) for name in simplex)
        flat.setdefault(len(simplex), array("q")).extend(vertices)
    names: list[Any] = list(number)
    with suppress(TypeError):  # names of several types stay in their order
        names = sorted(names)
    place = np.empty(len(names), np.int64)
    place[[number[name] for name in names]] = np.arange(len(names))
    rows = {n: place[np.frombuffer(part, np.int64)].reshape(-1, n or 1) for n, part in flat.items()}
    K = close_tables(_tables(rows), len(names), max_dim)
    return K if names == list(range(len(names))) else K.replace(vertex_labels=names)


def _tables(rows: Mapping[int, Any]) -> dict[int, Tensor]:
    """Return simplices by their size as tables of vertices that ascend."""
    if 0 in rows:
        raise ComplexError(
            "Expected simplices with at least one vertex, got an empty one; drop it."
        )
    return {size: _vertex_table(same) for size, same in rows.items()}


def _vertex_table(rows: Sequence[Sequence[Any]]) -> Tensor:
    numbers = np.asarray(rows)
    if numbers.dtype.kind not in "iu":
        raise ComplexError(
            f"Expected vertices as integers, got {rows[0]!r:.60}; number them 0, 1, 2, ..."
        )
    table = torch.from_numpy(numbers.astype(np.int64)).sort(dim=1).values
    repeated = (table[:, 1:] == table[:, :-1]).any(dim=1)
    if repeated.any():
        row = numbers[int(repeated.nonzero()[0])].tolist()
        raise ComplexError(f"Expected distinct vertices in a simplex, got {row}.")
    if table.min() < 0:
        row = numbers[int((table < 0).any(dim=1).nonzero()[0])].tolist()
        raise ComplexError(f"Expected vertices >= 0, got {row}.")
    return table


def close_under_faces(tables: dict[int, Tensor], size: int, n: int) -> list[Tensor]:
    """Return the face tables of the closure of vertex tables, which are keyed by their width.

    Vertices are below ``n``, and no table is wider than ``size``.
    """
    limit = available_memory(torch.device("cpu"))
    _check_whole(tables, limit)
    faces: list[Tensor] = []
    above = torch.zeros((0, size + 1), dtype=torch.int64)
    while size > 1:
        own = tables.get(size, above[:0, :size])
        number = len(own) + len(above) * (size + 1)
        used = sum(8 * table.numel() for table in faces)
        _check_room(used + _room(number, size), limit, f"{number} faces of {size} vertices")
        omit = torch.arange(size + 1)[:, None]
        kept = torch.arange(size) + (torch.arange(size) >= omit)  # (size + 1, size)
        rows, position = unique_rows(torch.cat([own, above[:, kept].reshape(-1, size)]), n)
        faces.append(position[len(own) :].reshape(-1, size + 1))
        above, size = rows, size - 1
    faces.append(above.flip(1))  # the face of an edge that omits its first vertex is its second
    return faces[:0:-1]


def _check_whole(tables: dict[int, Tensor], limit: int) -> None:
    """Refuse simplices if those of them that share no vertices already take too much."""
    counts = {width: len(rows) for width, rows in tables.items() if len(rows)}
    if not counts or _whole_room(counts) <= limit:
        return
    largest = max(counts)
    got = f"a simplex of {largest} vertices and all its faces"
    _check_room(_whole_room({largest: 1}), limit, got)
    apart, taken = dict.fromkeys(counts, 0), set[int]()
    for width in sorted(counts, reverse=True):
        for part in torch.split(tables[width], CHUNK):
            for row in part.tolist():
                if taken.isdisjoint(row):
                    taken.update(row)
                    apart[width] += 1
    got = f"{sum(apart.values()):,} simplices without common vertices and all their faces"
    _check_room(_whole_room(apart), limit, got)


def _whole_room(counts: dict[int, int]) -> int:
    """Return the bytes it takes to build so many simplices of each width, which share no faces."""
    used = need = above = 0
    for width in range(min(max(counts), WIDEST), 1, -1):
        faces = sum(count * comb(min(size, WIDEST), width) for size, count in counts.items())
        need = max(need, used + _room(counts.get(width, 0) + above * (width + 1), width))
        used += 8 * (width + 1) * above
        above = faces
    return need


def _room(number: int, size: int) -> int:
    """Return the bytes it takes to find the different ones among many rows of some size."""
    return 8 * number * (2 * size + 8)


def _check_room(need: int, limit: int, got: str) -> None:
    check_room(need, limit, "simplices", got, REMEDY)


def to_simplices(K: "SimplicialComplex") -> list[list[int]]:
    """Return all simplices as vertex lists, vertices first."""
    return [row for k in range(K.dim + 1) for row in K.simplices(k).tolist()]
