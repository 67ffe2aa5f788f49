"""Graph kernels as features: sparse vectors whose inner products they are."""

from math import floor, log10
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes.complex import Complex

BIN = 1e-3  # width of the bins of the propagation kernel


def graphlets(K: Complex) -> Any:
    """Count the induced subgraphs on three vertices, by their number of edges.

    The inner product is the graphlet kernel (Shervashidze et al. 2009) with k = 3.

    Args:
        K: A union of C complexes with all triangles of their graphs.

    Returns:
        (C, 4) as scipy CSR.

    Example:
        >>> from mpsn_reproduction.papers.graph_kernels import graphlets
        >>> graphlets(mpsn.clique_complex(nx.star_graph(3), max_dim=2)).toarray()
        array([[1., 0., 3., 0.]])
    """
    n, edges, triangles = (K.ptr(k).diff().double() for k in range(3))  # (C,)
    pairs = _degrees(K) * (_degrees(K) - 1) / 2  # of edges at a vertex
    paths = K.membership(0).from_faces(pairs[:, None])[:, 0] - 3 * triangles
    single = edges * (n - 2) - 2 * paths - 3 * triangles
    none = n * (n - 1) * (n - 2) / 6 - single - paths - triangles
    return sp.csr_array(torch.stack([none, single, paths, triangles], dim=1).numpy())


def propagation(K: Complex, x: Tensor, steps: int) -> Any:
    """Count the bins of vertices while their features diffuse to the neighbors.

    The inner product is the propagation kernel (Neumann et al. 2016) for the total variation:
    after t = 0, ..., ``steps`` times the mean over the neighbors, vertices are hashed into bins of
    width 0.001 along a direction with Cauchy distribution. The directions are the same in all
    calls.

    Args:
        K: A union of C complexes.
        x: Distributions over labels, (n_0, F), such as one-hot labels.
        steps: Number of times.

    Returns:
        (C, bins) as scipy CSR.

    Example:
        >>> from mpsn_reproduction.papers.graph_kernels import propagation
        >>> K = mpsn.clique_complex(nx.path_graph(3))
        >>> propagation(K, torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 0).toarray()
        array([[2., 1.]])
    """
    rng = np.random.default_rng(0)
    x, counts = x.double(), []
    for step in range(steps + 1):
        x = K.incidence(1).upper(x, reduce="mean") if step else x
        along = x.numpy() @ rng.standard_cauchy(x.shape[1]) + rng.uniform(0, BIN)
        bins = np.unique(np.floor(along / BIN), return_inverse=True)[1]
        counts.append(_owners(K) @ _one_hot(bins))
    return sp.hstack(counts, format="csr")


def walks(K: Complex, labels: NDArray[np.int64], steps: int) -> Any:
    r"""Count the walks with each sequence of labels, times √λ for every step.

    The inner product is the geometric random walk kernel (Gärtner et al. 2003) for walks of up to
    ``steps`` steps, the sum over p of λ^p times the number of walks with p steps in the direct
    product graph, whose vertices are pairs with the same label. λ is the largest power of ten below
    1 / d² for the largest degree d, so that the sum over all p converges.

    Args:
        K: A union of C complexes.
        labels: Label of each vertex, (n_0,), from 0.
        steps: Largest number of steps.

    Returns:
        (C, sequences) as scipy CSR.

    Example:
        >>> from mpsn_reproduction.papers.graph_kernels import walks
        >>> K = mpsn.clique_complex(nx.path_graph(2))
        >>> (walks(K, np.array([0, 1]), 1) ** 2).toarray()  # 0, 1, 01, 10; λ = 1/10
        array([[1. , 1. , 0.1, 0.1]])
    """
    n, (low, high) = K.num_nodes, K.incidence(1).table.numpy().T
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    adjacency = sp.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    root = 10.0 ** (-(1 + floor(2 * log10(max(_degrees(K).max().item(), 1)))) / 2)  # of λ
    starting = _one_hot(labels)  # walks from each vertex with each sequence, (n_0, sequences)
    counts = [_owners(K) @ starting]
    for _ in range(steps):
        vertex, rest = (longer := (root * adjacency @ starting).tocoo()).coords
        keys, sequence = np.unique(labels[vertex] * longer.shape[1] + rest, return_inverse=True)
        starting = sp.csr_array((longer.data, (vertex, sequence)), shape=(n, len(keys)))
        counts.append(_owners(K) @ starting)
    return sp.hstack(counts, format="csr")


def _degrees(K: Complex) -> Tensor:
    return torch.bincount(K.incidence(1).face, minlength=K.num_nodes).double()


def _owners(K: Complex) -> Any:
    """Return the matrix that sums over the vertices of each complex, (C, n_0)."""
    return sp.csr_array((np.ones(K.num_nodes), np.arange(K.num_nodes), K.ptr(0).numpy()))


def _one_hot(kinds: NDArray[np.int64]) -> Any:
    return sp.csr_array((np.ones(len(kinds)), (np.arange(len(kinds)), kinds)))
