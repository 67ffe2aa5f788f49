"""Matrices and adjacencies, all read off the face tables."""

from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor

from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import SimplicialComplex

Part = Literal["full", "up", "down"]
Kind = Literal["boundary", "coboundary", "lower", "upper"]


class Adjacency(NamedTuple):
    """Adjacent pairs, one per position: ``receiver`` hears from ``sender``.

    ``receiver`` holds k-simplices, ``sender`` what the kind of adjacency says, ``shared`` the
    simplex between them (the common co-face σ∪τ of an upper pair, the common face σ∩τ of a lower
    pair, None otherwise) and ``sign`` their relative orientation ±1, as int8.
    """

    receiver: Tensor
    sender: Tensor
    shared: Tensor | None
    sign: Tensor


def incidence_signs(K: "SimplicialComplex", k: int) -> Tensor:
    """Return the sign of every entry of the face table of dimension k, (n_k, k+1) int8.

    This is (-1)^i in column i for the canonical orientation (Definition 3 of the paper), times the
    signs of the simplex and of its face.
    """
    table = K.faces(k)
    if k == 0:
        return torch.ones_like(table, dtype=torch.int8)
    columns = torch.ones(k + 1, dtype=torch.int8, device=K.device)
    columns[1::2] = -1
    signs = columns.expand(table.shape)
    above, below = K._signs[k] if k <= K.dim else None, K._signs[k - 1] if k - 1 <= K.dim else None
    if above is not None:
        signs = signs * above[:, None]
    if below is not None:
        signs = signs * below[table]
    return signs


def boundary_matrix(
    K: "SimplicialComplex", k: int, signed: bool = True, dtype: torch.dtype | None = None
) -> Tensor:
    r"""Return the boundary matrix :math:`B_k`, or :math:`|B_k|` (section 2 of the paper).

    Args:
        K: The complex.
        k: Dimension, at least 1. Above the dimension of the complex the matrix has no columns.
        signed: Whether entries carry relative orientations ±1, or are all 1.
        dtype: Type of the entries; torch's default unless said.

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
    dtype = dtype or torch.get_default_dtype()
    table = K.faces(k)
    columns = torch.arange(K.count(k), device=K.device)[:, None].expand(table.shape)
    index = torch.stack([table.reshape(-1), columns.reshape(-1)])
    values = incidence_signs(K, k) if signed else torch.ones_like(table)
    shape = (K.count(k - 1), K.count(k))
    return _sparse(index, values.reshape(-1).to(dtype), shape).coalesce()


def hodge_laplacian(
    K: "SimplicialComplex",
    k: int,
    part: Part = "full",
    normalized: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Return the Hodge Laplacian :math:`L_k = B_k^\top B_k + B_{k+1} B_{k+1}^\top`.

    The first term is ``part="down"``, the second ``part="up"``. Either is a zero matrix where its
    boundary matrix is missing: down at dimension 0, up at the top.

    With ``normalized=True``, the random-walk Laplacian of Schaub et al. (2020),

    .. math:: D B_k^\top D_-^{-1} B_k + \tfrac{1}{k+2} B_{k+1} B_{k+1}^\top D^{-1},
        \qquad D = \max(\operatorname{diag}(|B_{k+1}| 1), I),
        \quad D_- = (k+1) \operatorname{diag}(|B_k| D 1),

    which they state for k = 1; other dimensions follow the same pattern, but for k = 0, where
    there is no way down and the factor ½ is left out, so that :math:`L_0 D^{-1}` is the graph's
    random-walk Laplacian. It is similar to a symmetric matrix: its eigenvalues are real and ≥ 0.

    Args:
        K: The complex.
        k: Dimension.
        part: ``"full"``, ``"up"`` or ``"down"``.
        normalized: Whether to normalise.
        dtype: Type of the entries; torch's default unless said.

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
    n = K.count(k)
    dtype = dtype or torch.get_default_dtype()
    parts = []
    if part != "up":
        parts.append(_down_entries(K, k, normalized))
    if part != "down":
        parts.append(_up_entries(K, k, normalized))
    index = torch.cat([index for index, _ in parts], dim=1)
    values = torch.cat([values for _, values in parts])
    total = _sparse(index, values, (n, n)).coalesce()
    keep = total.values() != 0  # upper and lower pairs cancel
    values = total.values()[keep].to(dtype)
    return _sparse(total.indices()[:, keep], values, (n, n), is_coalesced=True)


def _down_entries(K: "SimplicialComplex", k: int, normalized: bool) -> tuple[Tensor, Tensor]:
    pairs, table = adjacency(K, k, "lower"), K.faces(k)
    values = pairs.sign.to(torch.float64)
    diagonal = torch.full((K.count(k),), table.shape[1], dtype=torch.float64, device=K.device)
    if normalized and k:
        degree = degrees(K, k).clamp(min=1).to(torch.float64)
        around = torch.zeros(K.count(k - 1), dtype=torch.float64, device=K.device)
        around.index_add_(0, table.reshape(-1), degree.repeat_interleave(k + 1))
        weight = 1 / ((k + 1) * around)  # of every face; infinite where no simplex will ask
        values = degree[pairs.receiver] * values * weight[pairs.shared]
        diagonal = degree * weight[table].sum(dim=1)
    return _with_diagonal(pairs, values, diagonal)


def _up_entries(K: "SimplicialComplex", k: int, normalized: bool) -> tuple[Tensor, Tensor]:
    pairs = adjacency(K, k, "upper")
    values, diagonal = pairs.sign.to(torch.float64), degrees(K, k).to(torch.float64)
    if normalized:
        share, degree = (1.0 if k == 0 else 1 / (k + 2)), diagonal.clamp(min=1)
        values, diagonal = share * values / degree[pairs.sender], share * diagonal / degree
    return _with_diagonal(pairs, values, diagonal)


def _with_diagonal(pairs: Adjacency, values: Tensor, diagonal: Tensor) -> tuple[Tensor, Tensor]:
    at = torch.arange(len(diagonal), device=diagonal.device)
    index = torch.stack([torch.cat([pairs.receiver, at]), torch.cat([pairs.sender, at])])
    return index, torch.cat([values, diagonal])


def _sparse(
    index: Tensor, values: Tensor, shape: tuple[int, ...], is_coalesced: bool | None = None
) -> Tensor:
    return torch.sparse_coo_tensor(
        index, values, shape, check_invariants=False, is_coalesced=is_coalesced
    )


def degrees(K: "SimplicialComplex", k: int) -> Tensor:
    """Return the number of co-faces of each k-simplex, (n_k,) int64."""
    return torch.bincount(K.faces(k + 1).reshape(-1), minlength=K.count(k))


def adjacency(K: "SimplicialComplex", k: int, kind: Kind) -> Adjacency:
    r"""Return one of the four adjacencies of the paper (Definition 4) of the k-simplices.

    ============== ============================= ===================== ==========================
    kind           sender τ of receiver σ        shared                sign is the entry (σ, τ) of
    ============== ============================= ===================== ==========================
    ``boundary``   faces of σ                    None                  :math:`B_k^\top`
    ``coboundary`` co-faces of σ                 None                  :math:`B_{k+1}`
    ``lower``      simplices with a common face  the face σ∩τ          :math:`B_k^\top B_k`
    ``upper``      simplices in a common co-face the co-face σ∪τ       :math:`B_{k+1} B_{k+1}^\top`
    ============== ============================= ===================== ==========================

    Pairs are derived, not stored, and a simplex is not adjacent to itself. Lower pairs can be
    quadratic in the number of simplices; the layers in ``mpsn.nn`` do without them. Pairs come in
    the order of the shared simplex (of the receiver for ``boundary``, of the sender for
    ``coboundary``), then of the receiver.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> up = K.adjacency(1, "upper")
        >>> up.receiver.tolist(), up.sender.tolist(), up.shared.tolist()
        ([0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1], [0, 0, 0, 0, 0, 0])
    """
    if kind == "boundary":
        table, sign = K.faces(k), incidence_signs(K, k)
        receiver = torch.arange(K.count(k), device=K.device)[:, None].expand(table.shape)
        return Adjacency(receiver.reshape(-1), table.reshape(-1), None, sign.reshape(-1))
    if kind == "coboundary":
        table, sign = K.faces(k + 1), incidence_signs(K, k + 1)
        sender = torch.arange(K.count(k + 1), device=K.device)[:, None].expand(table.shape)
        return Adjacency(table.reshape(-1), sender.reshape(-1), None, sign.reshape(-1))
    if kind == "upper":
        return _upper(K, k)
    if kind == "lower":
        return _lower(K, k)
    raise ComplexError(
        f"Expected adjacency 'boundary', 'coboundary', 'lower' or 'upper', got {kind!r}."
    )


def _upper(K: "SimplicialComplex", k: int) -> Adjacency:
    table, sign = K.faces(k + 1).flip(1), incidence_signs(K, k + 1).flip(1)  # ascending faces
    width = k + 2
    one, two = (~torch.eye(width, dtype=torch.bool, device=K.device)).nonzero(as_tuple=True)
    shared = torch.arange(K.count(k + 1), device=K.device)[:, None].expand(-1, width * (width - 1))
    return Adjacency(
        table[:, one].reshape(-1),
        table[:, two].reshape(-1),
        shared.reshape(-1),
        (sign[:, one] * sign[:, two]).reshape(-1),
    )


def _lower(K: "SimplicialComplex", k: int) -> Adjacency:
    table = K.faces(k)
    face, order = table.reshape(-1).sort(stable=True)  # incidences grouped by face
    simplex = order // max(1, k + 1)
    sign = incidence_signs(K, k).reshape(-1)[order]
    sizes = torch.bincount(face, minlength=K.count(k - 1) if k else 0)
    starts = sizes.cumsum(0) - sizes
    others = sizes[face] - 1  # partners of each incidence
    receiver = torch.repeat_interleave(others)
    nth = torch.arange(receiver.numel(), device=K.device) - (others.cumsum(0) - others)[receiver]
    sender = starts[face][receiver] + nth
    sender += sender >= receiver  # pass over itself
    return Adjacency(
        simplex[receiver], simplex[sender], face[receiver], sign[receiver] * sign[sender]
    )
