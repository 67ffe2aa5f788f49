"""The adjacencies of cells, read off the incidences (Definition 4 of the paper)."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import cast

import torch
from torch import Tensor

from mpsn._rows.rows import Rows, ends
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import Kind
from mpsn.wl._refinement import Relation


def _boundary(K: Complex, k: int) -> Relation:
    return _relation(K.incidence(k), (k - 1,))


def _coboundary(K: Complex, k: int) -> Relation:
    return _relation(K.incidence(k + 1).T, (k + 1,))


def _upper(K: Complex, k: int) -> Relation:
    B = K.incidence(k + 1)
    entries = B.positions @ B.others()  # the other faces of every co-face
    return _relation(entries, (k, k + 1), (B.face, B.cell))


def _lower(K: Complex, k: int) -> Relation:
    pairs = K.adjacency(k, "lower")
    entries = Rows(pairs.receiver, K.count(k)).positions
    return _relation(entries, (k, k - 1), (pairs.sender, cast("Tensor", pairs.shared)))


def _relation(rows: Rows, levels: Sequence[int], tables: Sequence[Tensor] = ()) -> Relation:
    """Return the relation to the items of rows, or to what tables hold at these positions."""
    columns = [narrow(table)[rows.item] for table in tables] or [narrow(rows.item)]
    return Relation(rows.offsets, tuple(zip(levels, columns, strict=True)))


def narrow(index: Tensor) -> Tensor:
    """Convert an index to int32 if it fits: half the memory, and faster gathers."""
    fits = index.numel() == 0 or int(index.max()) < 1 << 31
    return index.to(torch.int32) if fits else index


ADJACENCIES: dict[Kind, Callable[[Complex, int], Relation]] = {
    "boundary": _boundary,
    "coboundary": _coboundary,
    "lower": _lower,
    "upper": _upper,
}


def relations_of(K: Complex, adjacencies: Sequence[Kind], dim: int) -> list[list[Relation]]:
    """Return the relations of the cells of dimension 0, ..., ``dim``; vertices have no faces."""
    levels = []
    for k in range(max(dim, 0) + 1):
        names = [name for name in adjacencies if k or name in ("coboundary", "upper")]
        levels.append([ADJACENCIES[name](K, k) for name in names])
    return levels


def joint_relations(K: Complex, adjacencies: Sequence[Kind]) -> list[Relation]:
    """Return the relations of all cells, dimension by dimension, as if they were on one level."""
    levels = range(max(K.dim, 0) + 1)
    starts = [0, *accumulate(K.count(k) for k in levels)]
    joined = []
    for name in adjacencies:
        parts = [ADJACENCIES[name](K, k) for k in levels]
        ptr = ends(torch.cat([part.ptr.diff() for part in parts]))
        columns = zip(*(part.columns for part in parts), strict=True)
        cells = [torch.cat([index + starts[k] for k, index in column]) for column in columns]
        joined.append(Relation(ptr, tuple((0, cell) for cell in cells)))
    return joined
