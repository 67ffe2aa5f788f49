"""The two symmetries of a complex: changes of orientation, and permutations of the cells."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from mpsn._rows.checks import check_by_dimension, check_same_device
from mpsn.complexes._batching import rebuild
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

C = TypeVar("C", bound="Complex")


def reorient(K: C, signs: Sequence[Tensor | None]) -> C:
    """Return the complex with orientations ±1 per dimension, None for +1, and its features."""
    changes: dict[int, Tensor] = {}
    for k, B in enumerate(K._incidences, start=1):
        sign = signs[k] if k < len(signs) else None
        if sign is not None or B.sign is not None or k - 1 in changes:
            turn = K.orientation(k)
            changes[k] = turn if sign is None else turn * sign.to(torch.int8)
    return _turned(K, changes)


def _turned(K: C, turns: Mapping[int, Tensor]) -> C:
    """Return the complex with some orientations multiplied by signs, and unchanged features."""
    return K._with(
        _incidences=tuple(
            _turn(B, turns.get(k), turns.get(k - 1)) for k, B in enumerate(K._incidences, start=1)
        )
    )


def _turn(B: Incidence, above: Tensor | None, below: Tensor | None) -> Incidence:
    if above is None and below is None:
        return B
    sign = B.signs
    sign = sign if above is None else sign * above[B.cell]
    return B.with_sign(sign if below is None else sign * below[B.face])


def flip(K: C, which: Mapping[int, Tensor]) -> C:
    r"""Flip orientations: :math:`B_k \to T_{k-1} B_k T_k` and :math:`H_k \to T_k H_k`.

    Args:
        K: The complex.
        which: For each dimension k ≥ 1, a boolean mask (n_k,), True where :math:`T_k` is -1.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1]]).replace(x=[None, torch.ones(1, 1)])
        >>> L = K.flip({1: torch.tensor([True])})
        >>> L.x[1], L.boundary_matrix(1).to_dense().T
        (tensor([[-1.]]), tensor([[ 1., -1.]]))
    """
    check_by_dimension(which, "the cells to flip")
    turns, x = dict[int, Tensor](), list(K._x)
    for k, mask in which.items():
        if k < 1:
            raise ComplexError(
                f"Expected dimensions k >= 1 to flip, got {k}: vertices have no orientation."
            )
        mask = torch.as_tensor(mask)
        if mask.dtype != torch.bool or mask.shape != (K.count(k),):
            raise ComplexError(
                f"Expected a boolean mask of shape ({K.count(k)},) for dimension {k}, "
                f"got {mask.dtype} of shape {tuple(mask.shape)}."
            )
        check_same_device([K._ptr[0], mask])
        if k > K.dim:
            continue
        turns[k] = turn = 1 - 2 * mask.to(torch.int8)  # (n_k,)
        features = x[k] if k < len(x) else None
        if features is not None:
            if not features.dtype.is_signed:
                raise ComplexError(
                    f"Expected signed features to flip in dimension {k}, got {features.dtype}."
                )
            x[k] = features * turn[:, None].to(features.dtype)
    return _turned(K, turns)._with(_x=tuple(x))


def permute(K: C, order: Mapping[int, Tensor]) -> C:
    r"""Permute cells: :math:`B_k \to P_{k-1} B_k P_k^\top` and :math:`H_k \to P_k H_k`.

    If the vertices are renumbered, the vertices of each simplex are sorted again and its sign is
    adjusted, so the boundary matrices are only permuted. Vertex labels and labels y with one row
    per vertex are permuted with the vertices.

    Args:
        K: A single complex, not a union.
        order: For any dimension k, a permutation (n_k,): new row ``i`` is old row ``order[k][i]``.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> K.permute({1: torch.tensor([1, 0])}).simplices(1)
        tensor([[1, 2],
                [0, 1]])
    """
    if K.num_complexes != 1:
        raise ComplexError(
            "Expected a single complex to permute, got a union; use to_list() first."
        )
    rows = [_permutation(K, k, order) for k in range(max(K.dim, 0) + 1)]
    position = [torch.argsort(row) for row in rows]
    incidences = []
    for k in range(1, K.dim + 1):
        B = K.incidence(k).take(rows[k])
        face, sign = position[k - 1][B.face], B.sign
        if 0 in order and K._ascending:  # sort the vertices of each simplex again
            columns = position[0][K.cells(k)[0].view(-1, k + 1)[rows[k]]].argsort(dim=1)
            face, sign = (t.view(-1, k + 1).gather(1, columns).view(-1) for t in (face, B.signs))
        incidences.append(B._with(item=face, sign=sign))
    y = K.y if K.y is None or len(K.y) != K.num_nodes or K.num_nodes == 1 else K.y[rows[0]]
    return rebuild(K, incidences, K._ptr, rows, y, K._y_ptr)


def _permutation(K: "Complex", k: int, order: Mapping[int, Tensor]) -> Tensor:
    n = K.count(k)
    if k not in order:
        return torch.arange(n, device=K.device)
    row = torch.as_tensor(order[k])
    check_same_device([K._ptr[0], row])
    if row.shape != (n,) or not torch.equal(row.sort().values, torch.arange(n, device=K.device)):
        raise ComplexError(
            f"Expected a permutation of 0..{n - 1} in dimension {k}, got {row.tolist()!s:.60}."
        )
    return row


def orientation(simplices: Tensor) -> Tensor:
    """Return the orientation of oriented simplices, (n,) int8 (Definition 3 of the paper).

    It is +1 where the vertices are an even permutation of their ascending order, -1 where they are
    an odd one. A face τ has the sign of ``(v, *τ)`` relative to σ, where v is the vertex left out.

    Args:
        simplices: Rows of distinct vertices, (n, k + 1).

    Example:
        >>> mpsn.complexes.orientation(torch.tensor([[0, 1, 2], [2, 0, 1], [0, 2, 1]]))
        tensor([ 1,  1, -1], dtype=torch.int8)
    """
    width = simplices.shape[1]
    i, j = torch.triu_indices(width, width, 1, device=simplices.device)
    inversions = (simplices[:, i] > simplices[:, j]).sum(dim=1)
    return (1 - 2 * (inversions % 2)).to(torch.int8)
