"""Encodings of cells: what tells where in its complex a cell is, computed once."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, TypeVar, get_args

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
import torch
from torch import Tensor

from mpsn.complexes import Complex
from mpsn.complexes.internal import Kind
from mpsn.errors import ComplexError

C = TypeVar("C", bound=Complex)
Encoding = Literal["degrees", "walks", "heat"]
DENSE = 512  # cells of one complex up to which eigenvectors are found all at once
SAME = 1e-6  # distance of eigenvalues, relative to the largest, that count as one
SHIFT = 1e-8  # of Laplacians, which are singular


def degrees(K: Complex, k: int) -> Tensor:
    """Return the numbers of faces, co-faces, lower and upper neighbors of every k-cell, (n_k, 4).

    Neighbors count once for each cell that is shared.

    Example:
        >>> from mpsn.lifting import degrees
        >>> degrees(SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]]), 1).tolist()
        [[2.0, 1.0, 2.0, 2.0], [2.0, 1.0, 3.0, 2.0], [2.0, 1.0, 3.0, 2.0], [2.0, 0.0, 2.0, 0.0]]
    """
    below, above = K.incidence(k), K.incidence(k + 1)
    lower = below.from_faces(below.degree - 1)
    upper = above.from_cofaces(above.sizes - 1)
    columns = torch.stack([below.sizes, above.degree, lower, upper], dim=1)
    return columns.to(torch.get_default_dtype())


def return_probabilities(K: Complex, k: int, kind: Kind, steps: int = 8) -> Tensor:
    r"""Return how likely a random walk from a k-cell is back after 1, ..., t steps, (n_k, t).

    .. math:: \operatorname{diag}\bigl((D^{-1} A)^r\bigr), \qquad r = 1, \ldots, t

    Args:
        K: The complex.
        k: Dimension of the cells.
        kind: Where a step leads: ``"lower"`` or ``"upper"`` neighbors.
        steps: t. Defaults to 8.

    Example:
        >>> from mpsn.lifting import return_probabilities
        >>> K = mpsn.clique_complex(nx.cycle_graph(4))
        >>> return_probabilities(K, 0, "upper", steps=4)[0]
        tensor([0.0000, 0.5000, 0.0000, 0.5000])
    """
    if kind not in ("lower", "upper"):
        raise ComplexError(f"Expected kind 'lower' or 'upper', got {kind!r}.")
    pairs, n = K.adjacency(k, kind), K.count(k)
    ends = pairs.receiver.cpu().numpy(), pairs.sender.cpu().numpy()
    A = scipy.sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    step = scipy.sparse.diags_array(1 / np.maximum(A.sum(axis=1), 1)) @ A
    walk, columns = scipy.sparse.eye_array(n, format="csr"), []
    for _ in range(steps):
        walk = walk @ step
        columns.append(walk.diagonal())
    table = torch.from_numpy(np.stack(columns, axis=1)) if columns else torch.zeros(n, 0)
    return table.to(K.device, torch.get_default_dtype())


def hodge_eigenvectors(
    K: Complex, k: int, number: int = 8, part: Literal["full", "up", "down"] = "full"
) -> tuple[Tensor, Tensor]:
    r"""Return the smallest eigenvalues of :math:`L_k` of every complex, and their eigenvectors.

    Eigenvectors are defined up to their sign, and up to a rotation where eigenvalues are equal;
    they change sign with the orientation of cells. Networks should not depend on these: make
    functions of them even, see :class:`mpsn.nn.Even`, or use :func:`heat_kernel`.

    Args:
        K: A complex or a union.
        k: Dimension of the cells.
        number: Number N of eigenvalues. Defaults to 8.
        part: ``"full"``, ``"up"`` or ``"down"``. Defaults to ``"full"``.

    Returns:
        Eigenvalues (C, N) for a union of C complexes, ascending, NaN where a complex has fewer;
        and eigenvectors (n_k, N), of norm 1 in each complex, 0 where there are fewer.

    Example:
        >>> from mpsn.lifting import hodge_eigenvectors
        >>> K = mpsn.clique_complex(nx.cycle_graph(4))
        >>> values, vectors = hodge_eigenvectors(K, 0, 2)
        >>> values.abs().round(decimals=4), vectors.shape
        (tensor([[0., 2.]]), torch.Size([4, 2]))
    """
    L = K.hodge_laplacian(k, part, dtype=torch.float64).cpu().coalesce()
    index, n = L.indices().numpy(), K.count(k)
    matrix = scipy.sparse.csr_array((L.values().numpy(), tuple(index)), shape=(n, n))
    bounds = K.ptr(k).tolist()
    values = np.full((len(bounds) - 1, number), np.nan)
    vectors = np.zeros((n, number))
    for i, (start, stop) in enumerate(pairwise(bounds)):
        block, kept = matrix[start:stop, start:stop], min(number, stop - start)
        if stop - start <= max(DENSE, 2 * number):
            every, columns = np.linalg.eigh(block.toarray())
        else:
            every, columns = scipy.sparse.linalg.eigsh(block, kept, sigma=-SHIFT)
        order = np.argsort(every)[:kept]
        values[i, :kept], vectors[start:stop, :kept] = every[order], columns[:, order]
    tensors = (torch.from_numpy(array) for array in (values, vectors))
    dtype = torch.get_default_dtype()
    return tuple(tensor.to(K.device, dtype) for tensor in tensors)  # type: ignore[return-value]


def heat_kernel(
    K: Complex,
    k: int,
    times: Sequence[float] = (0.1, 1.0, 10.0),
    number: int = 64,
    part: Literal["full", "up", "down"] = "full",
) -> Tensor:
    r"""Return how much heat stays at every k-cell after some times, (n_k, T).

    .. math:: \operatorname{diag}(e^{-t L_k})_\sigma = \sum_i e^{-t \lambda_i} v_i(\sigma)^2

    It depends neither on signs and rotations of eigenvectors nor on the orientation. Of large
    complexes only the smallest eigenvalues are used, and none of a multiple eigenvalue that would
    be cut in two.

    Args:
        K: A complex or a union.
        k: Dimension of the cells.
        times: The times t. Defaults to (0.1, 1, 10).
        number: Largest number of eigenvalues of each complex. Defaults to 64.
        part: ``"full"``, ``"up"`` or ``"down"``. Defaults to ``"full"``.

    Example:
        >>> from mpsn.lifting import heat_kernel
        >>> heat_kernel(mpsn.clique_complex(nx.path_graph(2)), 0, [0.0, 100.0])
        tensor([[1.0000, 0.5000],
                [1.0000, 0.5000]])
    """
    values, vectors = hodge_eigenvectors(K, k, number + 1, part)
    last = values[:, -1:]  # NaN if the complex has no more than number
    cut = values >= last - SAME * last.abs().clamp(min=1)
    cut[:, -1] = True
    weight = torch.exp(-values[:, None] * torch.tensor(times, device=K.device)[:, None])
    weight = weight.masked_fill(cut[:, None] | values.isnan()[:, None], 0)  # (C, T, N + 1)
    return torch.einsum("ni,nti->nt", vectors.square(), weight[K.batch(k)])


def encode_cells(
    K: C, encodings: Iterable[Encoding] = get_args(Encoding), max_dim: int | None = None
) -> C:
    """Put encodings of cells before their features.

    ``"degrees"`` has four columns, ``"walks"`` eight for lower and eight for upper neighbors, and
    ``"heat"`` three for each half of the Hodge Laplacian: together what plain perceptrons need to
    know about neighborhoods, as in HOPSE (Carrasco et al. 2025).

    Args:
        K: A complex or a union.
        encodings: Which: ``"degrees"``, ``"walks"`` and ``"heat"``. Defaults to all.
        max_dim: Largest dimension of the cells to encode. Defaults to the complex's.

    Example:
        >>> K = mpsn.lifting.encode_cells(mpsn.clique_complex(nx.complete_graph(4), max_dim=2))
        >>> [tuple(x.shape) for x in K.x]
        [(4, 26), (6, 26), (4, 26)]
    """
    names = tuple(encodings)
    for name in names:
        if name not in get_args(Encoding):
            words = ", ".join(map(repr, get_args(Encoding)))
            raise ComplexError(f"Expected encodings among {words}, got {name!r}.")
    top = K.dim if max_dim is None else max_dim
    x = list(K.x) + [None] * (top + 1 - len(K.x))
    for k in range(top + 1):
        columns: list[Tensor] = []
        if "degrees" in names:
            columns.append(degrees(K, k))
        if "walks" in names:
            columns += [return_probabilities(K, k, kind) for kind in ("lower", "upper")]
        if "heat" in names:
            columns += [heat_kernel(K, k, part=part) for part in ("down", "up")]
        old = x[k]
        x[k] = torch.cat(columns if old is None else [*columns, old], dim=1)
    return K.replace(x=x)
