"""Polynomials of Hodge Laplacians, one sparse product at a time."""

from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor

from mpsn._rows.sums import per_row
from mpsn.errors import LayerError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

Basis = Literal["monomial", "chebyshev", "jacobi"]
Part = Literal["full", "down", "up"]


def laplacian(
    K: "Complex", k: int, h: Tensor, part: Part = "full", *, normalized: bool = False
) -> Tensor:
    r"""Return :math:`L_k h`, or the product with a half of the Hodge Laplacian, without forming it.

    Args:
        K: The complex.
        k: Dimension of the cells.
        h: Features (n_k, ..., F).
        part: ``"down"``, :math:`B_k^\top B_k h`; ``"up"``, :math:`B_{k+1} B_{k+1}^\top h`; or
            ``"full"``, their sum. Defaults to ``"full"``.
        normalized: Whether the matrices are those of
            :meth:`~mpsn.complexes.Complex.hodge_laplacian` with ``normalized=True``. Defaults to
            False.

    Returns:
        (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> mpsn.nn.functional.laplacian(K, 1, torch.tensor([[1.0], [0.0]]), "down").T
        tensor([[ 2., -1.]])
    """
    if part not in get_args(Part):
        raise LayerError(f"Expected part 'full', 'down' or 'up', got {part!r}.")
    if part == "full":
        down, up = (laplacian(K, k, h, half, normalized=normalized) for half in ("down", "up"))
        return down + up
    above = K.incidence(k + 1)
    degree = above.degree if normalized else None
    if part == "up":
        h = h if degree is None else h / per_row(degree.clamp(min=1), h)
        on_cofaces = above.from_faces(h, signed=True)
        if normalized and k > 0:
            on_cofaces = on_cofaces / per_row(above.sizes, on_cofaces)
        return above.from_cofaces(on_cofaces, signed=True)
    if k == 0:
        return torch.zeros_like(h)
    below = K.incidence(k)
    on_faces = below.from_cofaces(h, signed=True)
    if degree is None:
        return below.from_faces(on_faces, signed=True)
    around = below.from_cofaces(degree.clamp(min=1) * below.sizes).clamp(min=1)
    on_faces = on_faces / per_row(around, on_faces)
    return per_row(degree.clamp(min=1), h) * below.from_faces(on_faces, signed=True)


def laplacian_powers(
    K: "Complex",
    k: int,
    h: Tensor,
    part: Part,
    degree: int,
    *,
    basis: Basis = "monomial",
    normalized: bool = False,
    scale: float = 1.0,
) -> list[Tensor]:
    r"""Return :math:`P_1(L) h, \ldots, P_R(L) h` for the Hodge Laplacian, or a half of it.

    With ``basis="monomial"``, :math:`P_r(L) = (s L)^r`. With ``"chebyshev"`` and ``"jacobi"``,
    P_r are the polynomials of Chebyshev, or of Jacobi with α = β = 1, at :math:`2 s L - I`; they
    stay small where the eigenvalues of sL are from 0 to 1. Normalized Laplacians are halved for
    k = 0, so that theirs are, with s = 1.

    Args:
        K: The complex.
        k: Dimension of the cells.
        h: Features (n_k, ..., F).
        part: ``"full"``, ``"down"`` or ``"up"``.
        degree: R.
        basis: ``"monomial"``, ``"chebyshev"`` or ``"jacobi"``. Defaults to ``"monomial"``.
        normalized: Whether to normalize the Laplacian. Defaults to False.
        scale: s, such as one over the largest eigenvalue. Defaults to 1.

    Returns:
        R tensors (n_k, ..., F).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> h = torch.tensor([[1.0], [0.0]])
        >>> [x.T.tolist() for x in mpsn.nn.functional.laplacian_powers(K, 1, h, "down", 2)]
        [[[2.0, -1.0]], [[5.0, -4.0]]]
    """
    if basis not in get_args(Basis):
        raise LayerError(f"Expected basis 'monomial', 'chebyshev' or 'jacobi', got {basis!r}.")
    factor = scale / 2 if normalized and k == 0 else scale
    before, last, powers = torch.zeros_like(h), h, []
    for r in range(1, degree + 1):
        new = factor * laplacian(K, k, last, part, normalized=normalized)
        if basis != "monomial":
            a, b = _jacobi(r) if basis == "jacobi" else (min(r, 2), 1)
            new = a * (2 * new - last) - b * before
        powers.append(new)
        before, last = last, new
    return powers


def _jacobi(r: int) -> tuple[float, float]:
    """Return a and b of P_r(x) = a x P_{r-1}(x) - b P_{r-2}(x), for α = β = 1."""
    return (2 * r + 1) * (r + 1) / (r * (r + 2)), (r + 1) / (r + 2)
