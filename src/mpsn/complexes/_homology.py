"""Homology: Betti numbers, harmonic cochains, and the Hodge decomposition."""

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.checks import as_tensor
from mpsn._rows.compiled import compiled
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

PRIME = 2**31 - 1
# Cells up to which a dense Laplacian is faster: with few holes, with more than one for 20 cells.
DENSE = (500, 3000)


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
                for at in heap:
                    if acc[at] != 0:
                        stored[used], stored_values[used] = at, acc[at] * inverse % PRIME
                        used += 1
                        acc[at] = 0
                    queued[at] = False
                size[low] = used - start[low]
                pivots[low] = True
                rank += 1
                break
            for e in range(start[low], start[low] + size[low]):
                at = stored[e]
                acc[at] = (acc[at] - value * stored_values[e]) % PRIME
                if at != low and not queued[at]:
                    queued[at] = True
                    heappush(heap, at)
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
    gradient, curl = torch.zeros_like(x), torch.zeros_like(x)
    if k > 0 and x.numel():
        gradient = _project(K.boundary_matrix(k, dtype=torch.float64).T.coalesce(), x)
    if K.count(k + 1) and x.numel():
        curl = _project(K.boundary_matrix(k + 1, dtype=torch.float64), x)
    parts = (gradient, curl, x - gradient - curl)
    return HodgeParts(*(part.reshape(cochain.shape).to(cochain.dtype) for part in parts))


def _project(A: Tensor, x: Tensor, tolerance: float = 1e-13) -> Tensor:
    """Return the orthogonal projection of the columns of ``x`` onto the image of sparse ``A``.

    Conjugate gradients on the normal equations, until the residual is ``tolerance`` times ``x``.
    """
    At = A.T.coalesce()
    p, r = x.new_zeros((A.shape[1], x.shape[1])), At @ x
    goal = (x * x).sum(0) * tolerance**2
    d, rr = r.clone(), (r * r).sum(0)
    for _ in range(10 * len(p) + 10):
        if bool((rr <= goal).all()):
            return A @ p
        q = A @ d
        step = torch.where(rr > goal, rr / (q * q).sum(0), 0.0)
        p, r = p + step * d, r - step * (At @ q)
        rr, before = (r * r).sum(0), rr
        d = r + torch.where(rr > goal, rr / before, 0.0) * d
    raise ComplexError(
        f"Expected the Hodge decomposition to converge, got no convergence in {10 * len(p) + 10} "
        f"steps; decompose the parts of a disconnected complex one by one."
    )


def harmonic_basis(K: "Complex", k: int) -> Tensor:
    """Return an orthonormal basis of the harmonic k-cochains, (n_k, b_k) float64.

    Complexes of up to 500 cells, or 3000 with many holes, use the eigenvectors of a dense matrix;
    others the harmonic parts of b_k random cochains (fixed seed), which span the space with
    probability one.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2], [0, 2]])
        >>> K.harmonic_basis(1).shape
        torch.Size([3, 1])
    """
    betti = betti_numbers(K)[k] if k <= K.dim else 0
    if K.count(k) <= DENSE[20 * betti > K.count(k)]:
        L = K.hodge_laplacian(k, dtype=torch.float64).to_dense()
        vectors: Tensor = torch.linalg.eigh(L).eigenvectors
        return vectors[:, :betti]
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(K.count(k), betti, generator=generator, dtype=torch.float64).to(K.device)
    for _ in range(2):  # the second pass removes what the first left of the other two parts
        x = torch.linalg.qr(hodge_decomposition(K, k, x).harmonic).Q if betti else x
    return x
