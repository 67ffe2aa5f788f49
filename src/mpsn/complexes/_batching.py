"""Parts of a disjoint union of complexes: splitting, and selecting by index."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from mpsn._rows.rows import ranges
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

C = TypeVar("C", bound="Complex")


def label_offsets(y: Tensor, complexes: int, vertices: int, ptr: Sequence[Tensor]) -> Tensor:
    """Return the offsets of the rows of ``y`` of each complex: one each, or one per vertex."""
    rows = y.shape[0]
    if complexes == 1:
        return torch.tensor([0, rows], device=y.device)
    if rows == complexes:
        return torch.arange(complexes + 1, device=y.device)
    if rows == vertices:
        return ptr[0]
    raise ComplexError(
        f"Expected labels y with one row per complex ({complexes}) or per vertex ({vertices}), "
        f"got {rows} rows."
    )


def to_list(union: "Complex") -> "list[Complex]":
    """Split a union into its complexes, which share no memory with it."""
    table = cut_table(union)
    return [cut(union, rows) for rows in table.permute(2, 0, 1).tolist()]


def cut(union: C, rows: Sequence[Sequence[int]]) -> C:
    """Return one complex of a union; ``rows`` are its start and number of rows of each kind.

    See :func:`cut_table`. There is no memory shared with the union.
    """
    depth, sizes = len(union._ptr), rows[1]
    spans = [slice(start, start + size) for start, size in zip(*rows, strict=True)]
    ptr = torch.tensor([[0, size] for size in sizes], device=union.device).unbind()
    incidences = []
    for k, B in enumerate(union._incidences, start=1):
        cells, offsets = spans[k], None
        if B.ptr is None:
            start, stop = cells.start * (B.width or 0), cells.stop * (B.width or 0)
        else:
            start, stop = int(B.ptr[cells.start]), int(B.ptr[cells.stop])
            offsets = B.ptr[cells.start : cells.stop + 1] - start
        face = B.face[start:stop] - spans[k - 1].start
        sign = None if B.sign is None else B.sign[start:stop].clone()
        incidences.append(Incidence.unchecked(face, sizes[k - 1], B.width, offsets, sign))
    x = [
        None if x is None else x[spans[k]].clone() if k < depth else x[:0]
        for k, x in enumerate(union._x)
    ]
    return union.unchecked(
        incidences,
        ptr[:depth],
        num_vertices=sizes[0],
        x=x,
        y=None if union._y is None else union._y[spans[depth]].clone(),
        y_ptr=None if union._y is None else ptr[depth],
        labels=None if union._labels is None else union._labels[spans[0]],
    )


def cut_table(union: "Complex") -> Tensor:
    """Return the start and number of the rows of each complex, (2, D, complexes).

    The D kinds of rows are the cells of each dimension, then the labels, if any.
    """
    kinds = union._ptr if union._y_ptr is None else (*union._ptr, union._y_ptr)
    cuts = torch.stack(kinds)  # (D, complexes + 1)
    return torch.stack([cuts[:, :-1], cuts.diff(dim=1)])


def take(union: C, table: Tensor, index: Tensor) -> C:
    """Return the union of the complexes ``index``, (B,) int64, which may repeat.

    ``table`` is the :func:`cut_table` of the union. There is no loop over complexes.
    """
    depth = len(union._ptr)
    old, sizes = table[:, :, index]  # (D, B)
    kinds, number = sizes.shape
    ptr = torch.zeros((kinds, number + 1), dtype=torch.int64, device=union.device)
    torch.cumsum(sizes, 1, out=ptr[:, 1:])
    totals: list[int] = ptr[:, -1].tolist()

    # All kinds of rows at once: row p of the result belongs to (kind, complex) = owner[p].
    owner, sources = ranges(old.reshape(-1), sizes.reshape(-1), sum(totals))
    rows = torch.split(sources, totals)
    moved = (old - ptr[:, :-1]).reshape(-1)  # decrease of the indices of each kind
    first, last = totals[0], sum(totals[:depth])
    down = torch.split(moved[owner[first:last] - number], totals[1:depth])  # of the faces

    B = [_taken(B, rows[k + 1], down[k], totals[k]) for k, B in enumerate(union._incidences)]
    y, y_ptr = (None, None) if union._y is None else (union._y[rows[depth]], ptr[depth])
    return rebuild(union, B, ptr[:depth].unbind(), rows[:depth], y, y_ptr)


def _taken(B: Incidence, cells: Tensor, down: Tensor, count: int) -> Incidence:
    """Return some cells with ``count`` cells below, and from the faces of each a number less."""
    if B.width is None:
        owner, position, ptr = B.positions_of(cells)
        sign = None if B.sign is None else B.sign[position]
        return Incidence.unchecked(B.face[position] - down[owner], count, None, ptr, sign)
    part = B.take(cells)
    return part._with(item=(part.table - down[:, None]).reshape(-1), count=count)


def rebuild(
    K: C,
    incidences: Sequence[Incidence],
    ptr: Sequence[Tensor],
    rows: Sequence[Tensor],
    y: Tensor | None,
    y_ptr: Tensor | None,
) -> C:
    """Return a complex of the cells ``rows`` of each dimension, with features and vertex labels."""
    return K.unchecked(
        incidences,
        ptr,
        num_vertices=len(rows[0]),
        x=[
            None if x is None else x[rows[k]] if k < len(rows) else x[:0]
            for k, x in enumerate(K._x)
        ],
        y=y,
        y_ptr=y_ptr,
        labels=None if K._labels is None else tuple(K._labels[i] for i in rows[0].tolist()),
    )
