"""Matrices and adjacencies, derived from the incidences."""

import warnings
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor

from mpsn.complexes._pairs import Kind, between, pairs_through
from mpsn.complexes.incidence import coo
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

Part = Literal["full", "up", "down"]


class Adjacency(NamedTuple):
    """Adjacent pairs of cells, one per position: ``receiver`` receives from ``sender``.

    ``shared`` is the cell that connects them (the common co-face σ∪τ of an upper pair, the common
    face σ∩τ of a lower pair, None otherwise) and ``sign`` their relative orientation ±1, as int8.
    """

    receiver: Tensor
    sender: Tensor
    shared: Tensor | None
    sign: Tensor


def boundary_matrix(
    K: "Complex", k: int, signed: bool = True, dtype: torch.dtype | None = None
) -> Tensor:
    r"""Return the boundary matrix :math:`B_k`, or :math:`|B_k|` (section 2 of the paper).

    Args:
        k: Dimension, at least 1. Above the dimension of the complex the matrix has no columns.
        signed: Whether entries are relative orientations ±1 instead of 1. Defaults to True.
        dtype: Type of the entries. Defaults to torch's default type.

    Returns:
        Coalesced sparse COO tensor of shape (n_{k-1}, n_k).

    Example:
        >>> SimplicialComplex.from_simplices([[0, 1], [1, 2]]).boundary_matrix(1).to_dense()
        tensor([[-1.,  0.],
                [ 1., -1.],
                [ 0.,  1.]])
    """
    if k < 1:
        raise ComplexError(
            f"Expected k >= 1 for a boundary matrix, got {k}: vertices have no faces."
        )
    return K.incidence(k).matrix(signed, dtype)


def hodge_laplacian(
    K: "Complex",
    k: int,
    part: Part = "full",
    normalized: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Return the Hodge Laplacian :math:`L_k = B_k^\top B_k + B_{k+1} B_{k+1}^\top`.

    The first term is ``part="down"``, the second ``part="up"``. The former is zero for k = 0, the
    latter for the largest dimension.

    With ``normalized=True``, the random-walk Laplacian of Schaub et al. (2020),

    .. math:: D B_k^\top D_-^{-1} B_k + \tfrac{1}{k+2} B_{k+1} B_{k+1}^\top D^{-1},
        \qquad D = \max(\operatorname{diag}(|B_{k+1}| 1), I),
        \quad D_- = (k+1) \operatorname{diag}(|B_k| D 1),

    which they state for k = 1. Other dimensions follow the same pattern, except that the factor ½
    is omitted for k = 0, so :math:`L_0 D^{-1}` is the graph's random-walk Laplacian. The matrix is
    similar to a symmetric one: its eigenvalues are real and ≥ 0.

    Args:
        k: Dimension.
        part: ``"full"``, ``"up"`` or ``"down"``. Defaults to ``"full"``.
        normalized: Whether to normalize. Defaults to False.
        dtype: Type of the entries. Defaults to torch's default type.

    Returns:
        Coalesced sparse COO tensor of shape (n_k, n_k) without explicit zeros.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> K.hodge_laplacian(0).to_dense()
        tensor([[ 1., -1.,  0.],
                [-1.,  2., -1.],
                [ 0., -1.,  1.]])
    """
    if part not in ("full", "up", "down"):
        raise ComplexError(f"Expected part 'full', 'up' or 'down', got {part!r}.")
    n, below, above = K.count(k), K.incidence(k), K.incidence(k + 1)
    terms = []  # of both parts, the entries of matrices X and Y with X Yᵀ the Laplacian
    if part != "up":
        terms.append((below.cell, below.face, *_down_weights(K, k, normalized)))
    if part != "down":
        terms.append((above.face, below.count + above.cell, *_up_weights(K, k, normalized)))
    cell, other, x, y = map(torch.cat, zip(*terms, strict=True))
    inner = below.count + len(above)
    left = coo(torch.stack([cell, other]), x, (n, inner), coalesced=False)
    right = coo(torch.stack([other, cell]), y, (inner, n), coalesced=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        total = torch.sparse.mm(left, right).coalesce()
    keep = total.values() != 0  # upper and lower pairs cancel
    values = total.values()[keep].to(dtype or torch.get_default_dtype())
    return coo(total.indices()[:, keep], values, (n, n))


Weights = tuple[Tensor, Tensor]  # of the entries of two matrices X and Y


def _down_weights(K: "Complex", k: int, normalized: bool) -> Weights:
    """Return the entries of X and Y, (n_k, n_{k-1}), with X Yᵀ the lower Laplacian."""
    B = K.incidence(k)
    sign = B.signs.to(torch.float64)
    if not normalized or k == 0:
        return sign, sign
    degree = K.incidence(k + 1).degree.clamp(min=1).to(torch.float64)
    around = B.from_cofaces(degree * B.offsets.diff())  # (n_{k-1},)
    return sign * degree[B.cell], sign / around[B.face]


def _up_weights(K: "Complex", k: int, normalized: bool) -> Weights:
    """Return the entries of X and Y, (n_k, n_{k+1}), with X Yᵀ the upper Laplacian."""
    B = K.incidence(k + 1)
    sign = B.signs.to(torch.float64)
    if not normalized:
        return sign, sign
    share = sign if k == 0 else sign / B.offsets.diff()[B.cell]
    return share, sign / B.degree.to(torch.float64)[B.face]


def adjacency(K: "Complex", k: int, kind: Kind) -> Adjacency:
    r"""Return one of the four adjacencies of the k-cells (Definition 4 of the paper).

    ============== ============================= ===================== ==========================
    kind           sender τ of receiver σ        shared                sign is the entry (σ, τ) of
    ============== ============================= ===================== ==========================
    ``boundary``   faces of σ                    None                  :math:`B_k^\top`
    ``coboundary`` co-faces of σ                 None                  :math:`B_{k+1}`
    ``lower``      cells with a common face      the face σ∩τ          :math:`B_k^\top B_k`
    ``upper``      cells with a common co-face   the co-face σ∪τ       :math:`B_{k+1} B_{k+1}^\top`
    ============== ============================= ===================== ==========================

    A cell is not adjacent to itself. The number of lower pairs can be quadratic in the number of
    cells; the layers in ``mpsn.nn`` avoid them. Pairs are sorted by the shared cell (by the
    receiver for ``boundary``, the sender for ``coboundary``), then by the receiver.

    Args:
        k: Dimension of the receivers.
        kind: ``"boundary"``, ``"coboundary"``, ``"lower"`` or ``"upper"``.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> up = K.adjacency(1, "upper")
        >>> up.receiver.tolist(), up.sender.tolist(), up.shared.tolist()
        ([0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1], [0, 0, 0, 0, 0, 0])
    """
    if kind not in ("boundary", "coboundary", "lower", "upper"):
        raise ComplexError(
            f"Expected adjacency 'boundary', 'coboundary', 'lower' or 'upper', got {kind!r}."
        )
    receiver, sender, shared, sign, _ = pairs_through(between(K, k, kind), kind)
    return Adjacency(receiver, sender, shared if kind in ("lower", "upper") else None, sign)
