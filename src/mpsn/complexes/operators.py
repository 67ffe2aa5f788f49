"""Matrices and adjacencies, all read off the face tables."""

import warnings
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor

from mpsn.complexes.incidence import degrees, grouped, incidence_signs
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
    table = K.faces(k)
    order, _ = grouped(table, K.count(k - 1))
    index = torch.stack([table.reshape(-1)[order], order // (k + 1)])
    values = incidence_signs(K, k).reshape(-1)[order] if signed else torch.ones_like(order)
    shape = (K.count(k - 1), K.count(k))
    return _sparse(index, values.to(dtype or torch.get_default_dtype()), shape)


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
    down, up = _down_block(K, k, normalized), _up_block(K, k, normalized)
    if part == "up":
        down = _Block(*(side[:, :0] for side in down))
    if part == "down":
        up = _Block(*(side[:0] for side in up))
    left, right = _factors(down, up, n, K.count(k - 1) if k else 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        total = torch.sparse.mm(left, right).coalesce()
    keep = total.values() != 0  # upper and lower pairs cancel
    values = total.values()[keep].to(dtype or torch.get_default_dtype())
    return _sparse(total.indices()[:, keep], values, (n, n))


class _Block(NamedTuple):
    """Two matrices X and Y with the nonzero entries of a face table, or of its transpose."""

    table: Tensor
    x: Tensor
    y: Tensor


def _down_block(K: "SimplicialComplex", k: int, normalized: bool) -> _Block:
    """Return X and Y, (n_k, n_{k-1}), with X Yᵀ the part of the Laplacian below."""
    table, sign = K.faces(k), incidence_signs(K, k).to(torch.float64)
    if not normalized or k == 0:
        return _Block(table, sign, sign)
    degree = degrees(K, k).clamp(min=1).to(torch.float64)
    around = torch.zeros(K.count(k - 1), dtype=torch.float64, device=K.device)
    around.index_add_(0, table.reshape(-1), degree.repeat_interleave(k + 1))
    return _Block(table, sign * degree[:, None], sign / ((k + 1) * around[table]))


def _up_block(K: "SimplicialComplex", k: int, normalized: bool) -> _Block:
    """Return X and Y, (n_k, n_{k+1}), with X Yᵀ the part of the Laplacian above."""
    table, sign = K.faces(k + 1), incidence_signs(K, k + 1).to(torch.float64)
    if not normalized:
        return _Block(table, sign, sign)
    share, degree = (1.0 if k == 0 else 1 / (k + 2)), degrees(K, k).to(torch.float64)
    return _Block(table, sign * share, sign / degree[table])


def _factors(down: _Block, up: _Block, n: int, below: int) -> tuple[Tensor, Tensor]:
    """Return [X X'] and [Y Y']ᵀ, whose product sums both parts as it goes.

    Entries are written to their places in row order: sorting them would cost more than the
    product. Row σ of the first holds σ's faces, then its co-faces.
    """
    device, w, inner = down.table.device, down.table.shape[1], below + len(up.table)
    faces, columns = down.table.sort(dim=1)
    order, ptr = grouped(up.table, n)
    owner = up.table.reshape(-1)[order]
    row = torch.arange(n, device=device)[:, None]
    at_faces = row * w + ptr[:-1, None] + torch.arange(w, device=device)
    at_cofaces = torch.arange(len(order), device=device) + (owner + 1) * w
    index = torch.empty((2, n * w + len(order)), dtype=torch.int64, device=device)
    x = torch.empty(index.shape[1], dtype=torch.float64, device=device)
    index[0, at_faces], index[0, at_cofaces] = row.expand_as(faces), owner
    index[1, at_faces], index[1, at_cofaces] = faces, below + order // max(1, up.table.shape[1])
    x[at_faces], x[at_cofaces] = down.x.gather(1, columns), up.x.reshape(-1)[order]

    order, _ = grouped(down.table, below)
    simplices, columns = up.table.sort(dim=1)
    coface = torch.arange(below, inner, device=device)[:, None].expand_as(simplices)
    rows = torch.cat([down.table.reshape(-1)[order], coface.reshape(-1)])
    cols = torch.cat([order // max(1, w), simplices.reshape(-1)])
    y = torch.cat([down.y.reshape(-1)[order], up.y.gather(1, columns).reshape(-1)])
    return _sparse(index, x, (n, inner)), _sparse(torch.stack([rows, cols]), y, (inner, n))


def _sparse(index: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a sparse matrix from entries that are in row order already."""
    with warnings.catch_warnings():  # torch 2.11 warns even those who say what they want
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        return torch.sparse_coo_tensor(
            index, values, shape, check_invariants=False, is_coalesced=True
        )


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
    order, ptr = grouped(table, K.count(k - 1) if k else 0)
    face, simplex = table.reshape(-1)[order], order // max(1, k + 1)
    sign = incidence_signs(K, k).reshape(-1)[order]
    others = ptr.diff()[face] - 1  # partners of each incidence
    receiver = torch.repeat_interleave(others)
    shift = ptr[face] - others.cumsum(0) + others
    sender = torch.arange(len(receiver), device=K.device) + shift[receiver]
    sender += sender >= receiver  # pass over itself
    return Adjacency(
        simplex[receiver], simplex[sender], face[receiver], sign[receiver] * sign[sender]
    )
