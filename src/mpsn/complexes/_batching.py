"""Disjoint unions of complexes: collating, splitting, and selecting by index."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from mpsn._rows.checks import check_same_device
from mpsn._rows.rows import ranges
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

C = TypeVar("C", bound="Complex")


def collate(complexes: "Iterable[Complex] | Complex") -> "Complex":
    """Return the disjoint union of complexes, which is itself a complex.

    Complexes may differ in dimension. Unions count as the complexes they consist of. Features must
    have the same width, and be present in all complexes with cells of that dimension or in none.
    Vertex labels are kept if all complexes have them.

    Args:
        complexes: Any number of complexes on one device; an empty list gives the empty union.

    Example:
        >>> triangle = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> path = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> union = mpsn.collate([triangle, path])
        >>> union
        SimplicialComplex(dim=2, counts=(6, 5, 1), complexes=2)
        >>> union.batch(1)
        tensor([0, 0, 0, 1, 1])
        >>> union.to_list() == [triangle, path]
        True
    """
    from mpsn.complexes.complex import Complex
    from mpsn.complexes.simplicial import SimplicialComplex

    complexes = [complexes] if isinstance(complexes, Complex) else list(complexes)
    kinds = {type(K) for K in complexes}
    if len(kinds) > 1 or not all(issubclass(kind, Complex) for kind in kinds):
        raise ComplexError(
            f"Expected complexes of one kind to collate, got "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}; "
            f"lift graphs with mpsn.clique_complexes, and convert complexes with "
            f"CellComplex.from_complex."
        )
    if not complexes:
        return SimplicialComplex.unchecked((), [torch.zeros(1, dtype=torch.int64)])
    check_same_device([K._ptr[0] for K in complexes])
    dim = max(K.dim for K in complexes)
    starts = [[0, *accumulate(K.count(k) for K in complexes)] for k in range(max(1, dim + 1))]
    ptr = [_join_offsets([K.ptr(k) for K in complexes], start) for k, start in enumerate(starts)]
    y, y_ptr = _join_labels(complexes)
    return complexes[0].unchecked(
        [
            _join_incidences([K.incidence(k) for K in complexes], starts[k - 1])
            for k in range(1, dim + 1)
        ],
        ptr,
        num_vertices=sum(K.num_nodes for K in complexes),
        x=[_join_features(complexes, k) for k in range(max(len(K.x) for K in complexes))],
        y=y,
        y_ptr=y_ptr,
        labels=_join_names(complexes),
    )


def _join_incidences(parts: Sequence[Incidence], starts: Sequence[int]) -> Incidence:
    face = torch.cat([B.face + s for B, s in zip(parts, starts, strict=False)])
    signed = any(B.sign is not None for B in parts)
    sign = torch.cat([B.signs for B in parts]) if signed else None
    width, ptr = parts[0].width, None
    if width is None:
        ends = [0, *accumulate(len(B.face) for B in parts)]
        ptr = _join_offsets([B.offsets for B in parts], ends)
    return Incidence.unchecked(face, starts[-1], width, ptr, sign)


def _join_offsets(offsets: Sequence[Tensor], starts: Sequence[int]) -> Tensor:
    shifted = [p[1:] + s for p, s in zip(offsets, starts, strict=False)]
    return torch.cat([offsets[0][:1], *shifted])


def _join_features(complexes: "Sequence[Complex]", k: int) -> Tensor | None:
    given = [K.x[k] if k < len(K.x) else None for K in complexes]
    present = [x for x in given if x is not None]
    missing = [i for i, K in enumerate(complexes) if given[i] is None and K.count(k)]
    if present and missing:
        raise ComplexError(
            f"Expected features x[{k}] in all complexes or in none, got none in number "
            f"{missing[0]}; add them with replace(x=...)."
        )
    if len({(x.shape[1], x.dtype) for x in present}) > 1:
        kinds = sorted({f"{x.shape[1]} of {x.dtype}" for x in present})
        raise ComplexError(
            f"Expected x[{k}] of one width and type in all complexes, got {', '.join(kinds)}; "
            f"convert them with replace(x=...)."
        )
    return torch.cat(present) if present else None


def _join_labels(complexes: "Sequence[Complex]") -> tuple[Tensor | None, Tensor | None]:
    given = [K.y for K in complexes if K.y is not None]
    if not given:
        return None, None
    if len(given) < len(complexes):
        raise ComplexError(
            f"Expected labels y in all complexes or in none, got them in {len(given)} "
            f"of {len(complexes)}; add them with replace(y=...)."
        )
    kinds = sorted({f"{tuple(y.shape[1:])} of {y.dtype}" for y in given})
    if len(kinds) > 1:
        raise ComplexError(f"Expected labels y of one shape and type per row, got {kinds}.")
    y = torch.cat(given)
    offsets = [K._y_ptr for K in complexes if K._y_ptr is not None]
    return y, _join_offsets(offsets, [0, *accumulate(map(len, given))])


def _join_names(complexes: "Sequence[Complex]") -> tuple[Hashable, ...] | None:
    if any(K.vertex_labels is None for K in complexes):
        return None
    return tuple(name for K in complexes for name in K.vertex_labels or ())


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


def select(B: Incidence, rows: Tensor, count: int, down: Tensor | None = None) -> Incidence:
    """Return an incidence of the cells ``rows`` only, with ``count`` cells below.

    ``down``, one number per selected cell, is subtracted from the indices of its faces.
    """
    if B.width is not None:
        table = B.table[rows]
        table = table if down is None else table - down[:, None]
        sign = None if B.sign is None else B.sign.view(-1, B.width)[rows].reshape(-1)
        return Incidence.unchecked(table.reshape(-1), count, B.width, None, sign)
    owner, position, ptr = B.positions_of(rows)
    face = B.face[position] if down is None else B.face[position] - down[owner]
    sign = None if B.sign is None else B.sign[position]
    return Incidence.unchecked(face, count, None, ptr, sign)


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
    kinds, many = sizes.shape
    ptr = torch.zeros((kinds, many + 1), dtype=torch.int64, device=union.device)
    torch.cumsum(sizes, 1, out=ptr[:, 1:])
    totals: list[int] = ptr[:, -1].tolist()

    # All kinds of rows at once: row p of the result belongs to (kind, complex) = owner[p].
    owner, found = ranges(old.reshape(-1), sizes.reshape(-1), sum(totals))
    rows = torch.split(found, totals)
    moved = (old - ptr[:, :-1]).reshape(-1)  # decrease of the indices of each kind
    first, last = totals[0], sum(totals[:depth])
    down = torch.split(moved[owner[first:last] - many], totals[1:depth])  # of the faces

    B = [select(B, rows[k + 1], totals[k], down[k]) for k, B in enumerate(union._incidences)]
    y, y_ptr = (None, None) if union._y is None else (union._y[rows[depth]], ptr[depth])
    return rebuild(union, B, ptr[:depth].unbind(), rows[:depth], y, y_ptr)


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
