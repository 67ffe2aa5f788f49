"""Homology: Betti numbers, harmonic cochains, and the Hodge decomposition."""

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu
from torch import Tensor

from mpsn._rows.checks import as_tensor
from mpsn._rows.compiled import compiled
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

PRIME = 2**31 - 1
TOLERANCE = 1e-13  # of a projection, relative to what is projected
FEW = 100  # steps: where more are needed, cells have small separators, and factors few entries
SHIFT = 1e-10  # of a Laplacian, far below its eigenvalues that are not zero
BLOCK = 32  # cochains to decompose at a time

Product = Callable[[Tensor], Tensor]


class HodgeParts(NamedTuple):
    """The three orthogonal parts that a cochain is the sum of, each of the same shape."""

    gradient: Tensor
    curl: Tensor
    harmonic: Tensor


def betti_numbers(K: "Complex") -> tuple[int, ...]:
    r"""Return the Betti numbers :math:`\dim \ker L_k`, one per dimension.

    :math:`b_k = n_k - \operatorname{rank} B_k - \operatorname{rank} B_{k+1}`, with ranks by exact
    sparse elimination of the coboundary modulo the prime 2³¹−1. These are the ranks over the
    rational numbers unless the complex has torsion of exactly that order.

    Example:
        >>> SimplicialComplex.from_simplices([[0, 1], [1, 2], [0, 2]]).betti_numbers()
        (1, 1)
    """
    n = K.counts
    ranks = [0]
    cleared = np.zeros(K.count(0), dtype=np.bool_)
    for k in range(K.dim):
        B = K.incidence(k + 1).apply(Tensor.cpu)
        cofaces, order = B.T, B.positions.item
        entries, values = cofaces.item.numpy(), B.signs[order].to(torch.int64).numpy()
        ptr = cofaces.offsets.numpy()
        rank, cleared = _rank_of_coboundary(entries, values, ptr, cleared, n[k + 1])
        ranks.append(rank)
    ranks.append(0)
    return tuple(n[k] - ranks[k] - ranks[k + 1] for k in range(len(n)))


@compiled
def _rank_of_coboundary(
    entries: NDArray[np.int64],
    values: NDArray[np.int64],
    ptr: NDArray[np.int64],
    cleared: NDArray[np.bool_],
    n_above: int,
) -> tuple[int, NDArray[np.bool_]]:
    """Reduce the columns of the coboundary from the last; return the rank and the pivots above.

    A column whose cell was a pivot one dimension below reduces to zero and is skipped ("clearing").
    """
    n = ptr.size - 1
    pivots = np.zeros(n_above, np.bool_)
    column_of = np.full(n_above, -1, np.int64)  # reduced column by its pivot
    start = np.zeros(n_above, np.int64)
    size = np.zeros(n_above, np.int64)
    stored = np.empty(max(16, entries.size), np.int64)
    stored_values = np.empty(max(16, entries.size), np.int64)
    used = 0
    acc = np.zeros(n_above, np.int64)
    queued = np.zeros(n_above, np.bool_)
    rank = 0
    for column in range(n - 1, -1, -1):
        if cleared[column]:
            continue
        heap = [np.int64(0) for _ in range(0)]
        for e in range(ptr[column], ptr[column + 1]):
            acc[entries[e]] = values[e] % PRIME
            queued[entries[e]] = True
            heappush(heap, entries[e])
        while len(heap):
            low = heappop(heap)
            queued[low] = False
            value = acc[low]
            if value == 0:
                continue
            if column_of[low] < 0:
                # A new pivot: store the column, scaled to 1 at the pivot.
                inverse = _power(value, PRIME - 2)
                need = used + 1 + len(heap)
                if need > stored.size:
                    more = np.empty(max(need, stored.size), np.int64)
                    stored = np.concatenate((stored, more))
                    stored_values = np.concatenate((stored_values, more))
                column_of[low], start[low] = column, used
                acc[low] = 0
                stored[used], stored_values[used] = low, 1
                used += 1
                for cell in heap:
                    if acc[cell] != 0:
                        stored[used], stored_values[used] = cell, acc[cell] * inverse % PRIME
                        used += 1
                        acc[cell] = 0
                    queued[cell] = False
                size[low] = used - start[low]
                pivots[low] = True
                rank += 1
                break
            for e in range(start[low], start[low] + size[low]):
                cell = stored[e]
                acc[cell] = (acc[cell] - value * stored_values[e]) % PRIME
                if cell != low and not queued[cell]:
                    queued[cell] = True
                    heappush(heap, cell)
    return rank, pivots


@compiled
def _power(base: int, exponent: int) -> int:
    result = 1
    while exponent:
        if exponent & 1:
            result = result * base % PRIME
        base = base * base % PRIME
        exponent >>= 1
    return result


def hodge_decomposition(K: "Complex", k: int, cochain: Tensor) -> HodgeParts:
    r"""Split a k-cochain into gradient, curl and harmonic parts.

    :math:`x = B_k^\top p + B_{k+1} q + h` with :math:`L_k h = 0`; the three terms are orthogonal.
    Computed by conjugate gradients on the boundary matrices, not on their product.

    Args:
        k: Dimension.
        cochain: Floating-point tensor (n_k,) or (n_k, F) on the device of the complex.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2], [0, 2]])
        >>> flow = torch.tensor([1, 0, 0], dtype=torch.float64)  # on edges 01, 02, 12
        >>> [part.round(decimals=2).tolist() for part in K.hodge_decomposition(1, flow)]
        [[0.67, 0.33, -0.33], [0.0, 0.0, 0.0], [0.33, -0.33, 0.33]]
    """
    cochain = as_tensor(cochain, "a cochain")
    if cochain.shape[:1] != (K.count(k),) or cochain.dim() > 2 or not cochain.is_floating_point():
        raise ComplexError(
            f"Expected a floating-point cochain of shape ({K.count(k)},) or ({K.count(k)}, F), "
            f"got {cochain.dtype} of shape {tuple(cochain.shape)}."
        )
    if not torch.isfinite(cochain).all():
        raise ComplexError(
            "Expected a finite cochain, got NaN or infinity; fill or drop the missing values."
        )
    x = cochain.detach().to(torch.float64).reshape(K.count(k), -1)
    gradient, curl = _projections(K, k, x, 10 * max(map(K.count, (max(k - 1, 0), k + 1))) + 10)
    if gradient is None or curl is None:
        raise ComplexError(
            "Expected the Hodge decomposition to converge, got no convergence in ten steps a cell; "
            "decompose the parts of a disconnected complex one by one."
        )
    parts = (gradient, curl, x - gradient - curl)
    return HodgeParts(*(part.reshape(cochain.shape).to(cochain.dtype) for part in parts))


def _projections(K: "Complex", k: int, x: Tensor, most: int) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradient and the curl of cochains; None if ``most`` steps were too few."""
    gradient: Tensor | None = torch.zeros_like(x)
    curl: Tensor | None = torch.zeros_like(x)
    if k > 0 and x.numel():
        from_faces, from_cofaces = _products(K.incidence(k))
        gradient = _project(from_faces, from_cofaces, K.incidence(k).degree, x, most)
    if K.count(k + 1) and x.numel():
        from_faces, from_cofaces = _products(K.incidence(k + 1))
        curl = _project(from_cofaces, from_faces, K.incidence(k + 1).sizes, x, most)
    return gradient, curl


def _products(B: Incidence) -> tuple[Product, Product]:
    """Return the products with the transpose of a boundary matrix, and with the matrix.

    On the CPU they are scipy's, which for a single column take half of the time of ours.
    """
    if not B.face.is_cpu:
        return partial(B.from_faces, signed=True), partial(B.from_cofaces, signed=True)
    entries = B.signs.double().numpy(), B.face.numpy(), B.offsets.numpy()
    transpose = csr_array(entries, shape=(len(B), B.count))
    matrix = transpose.T.tocsr()
    return (
        lambda h: torch.from_numpy(transpose @ h.numpy()),
        lambda h: torch.from_numpy(matrix @ h.numpy()),
    )


def _project(
    times: Product, transposed: Product, diagonal: Tensor, x: Tensor, most: int
) -> Tensor | None:
    """Return the orthogonal projection of the columns of ``x`` onto the image of a matrix A.

    Conjugate gradients on the normal equations, until the residual is ``TOLERANCE`` times ``x``, in
    at most ``most`` steps; ``diagonal``, that of AᵀA, is the preconditioner.
    """
    scale = diagonal.clamp(min=1).to(x.dtype).reciprocal()[:, None]
    r = transposed(x)
    p, z = torch.zeros_like(r), scale * r
    goal = (x * x).sum(0) * TOLERANCE**2
    d, rz = z, (r * z).sum(0)
    for _ in range(most):
        active = (r * r).sum(0) > goal
        if not bool(active.any()):
            return times(p)
        q = times(d)
        step = torch.where(active, rz / (q * q).sum(0), 0.0)
        p, r = p + step * d, r - step * transposed(q)
        z = scale * r
        rz, before = (r * z).sum(0), rz
        d = z + torch.where(active, rz / before, 0.0) * d
    return None


def harmonic_basis(K: "Complex", k: int) -> Tensor:
    """Return an orthonormal basis of the harmonic k-cochains, (n_k, b_k) float64.

    The harmonic parts of b_k random cochains (fixed seed) span the space with probability one. They
    are found by decomposition, or where that takes many steps, as in the plane, by inverse
    iteration with a sparse factorization of the Hodge Laplacian, on the CPU.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2], [0, 2]])
        >>> K.harmonic_basis(1).shape
        torch.Size([3, 1])
    """
    betti = betti_numbers(K)[k] if k <= K.dim else 0
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(K.count(k), betti, generator=generator, dtype=torch.float64)
    if not betti:
        return x.to(K.device)
    probe = _projections(K, k, x[:, :1].to(K.device), FEW)
    if any(part is None for part in probe):
        L = K.hodge_laplacian(k, dtype=torch.float64).cpu()
        matrix = csc_array((L.values().numpy(), tuple(L.indices().numpy())), shape=tuple(L.shape))
        matrix += SHIFT * eye_array(len(x), format="csc")
        factors = splu(matrix, "MMD_AT_PLUS_A", 0, options={"SymmetricMode": True})
        for _ in range(3):
            x = torch.linalg.qr(torch.from_numpy(factors.solve(x.numpy()))).Q
        return x.to(K.device)
    x = x.to(K.device)
    for _ in range(2):  # the second pass removes what the first left of the other two parts
        parts = [hodge_decomposition(K, k, part).harmonic for part in torch.split(x, BLOCK, 1)]
        x = torch.linalg.qr(torch.cat(parts, dim=1)).Q
    return x
