"""Disjoint unions of complexes, made from the complexes."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from mpsn._rows.checks import check_same_device
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Incidence
from mpsn.complexes.simplicial import SimplicialComplex
from mpsn.errors import ComplexError


def collate(complexes: Iterable[Complex] | Complex) -> Complex:
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
        x=[
            join_rows(
                [K.x[k] if k < len(K.x) else None for K in complexes],
                f"x[{k}]",
                "complexes",
                [K.count(k) for K in complexes],
            )
            for k in range(max(len(K.x) for K in complexes))
        ],
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


def join_rows(
    parts: Sequence[Tensor | None], name: str, of: str, sizes: Sequence[int] | None = None
) -> Tensor | None:
    """Concatenate rows that all of many complexes or graphs have, or none.

    Args:
        parts: The rows of each.
        name: What the rows are, for errors.
        of: What has them.
        sizes: How many rows each should have; where it is 0, there may be none. Defaults to 1.
    """
    rows = [part for part in parts if part is not None]
    lacking = [i for i, part in enumerate(parts) if part is None and (sizes is None or sizes[i])]
    if rows and lacking:
        raise ComplexError(
            f"Expected {name} in all {of} or in none, got none in number {lacking[0]}; add or "
            f"drop them."
        )
    kinds = sorted({f"{tuple(part.shape[1:])} of {part.dtype}" for part in rows})
    if len(kinds) > 1:
        raise ComplexError(
            f"Expected {name} of one shape and type per row in all {of}, got {', '.join(kinds)}; "
            f"convert them."
        )
    return torch.cat(rows) if rows else None


def _join_labels(complexes: Sequence[Complex]) -> tuple[Tensor | None, Tensor | None]:
    y = join_rows([K.y for K in complexes], "labels y", "complexes")
    if y is None:
        return None, None
    offsets = [K._y_ptr for K in complexes if K._y_ptr is not None]
    return y, _join_offsets(
        offsets, [0, *accumulate(0 if K.y is None else len(K.y) for K in complexes)]
    )


def _join_names(complexes: Sequence[Complex]) -> tuple[Hashable, ...] | None:
    if any(K.vertex_labels is None for K in complexes):
        return None
    return tuple(name for K in complexes for name in K.vertex_labels or ())
