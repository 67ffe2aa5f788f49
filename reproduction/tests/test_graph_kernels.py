"""Graph kernels and their definitions."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn_reproduction.papers.graph_kernels import BIN, graphlets, propagation, walks

GRAPHS = [
    nx.empty_graph(1),
    nx.path_graph(2),
    nx.star_graph(4),
    nx.complete_graph(4),
    nx.disjoint_union(nx.cycle_graph(3), nx.empty_graph(2)),
    *(nx.gnp_random_graph(7, 0.4, seed=seed) for seed in range(3)),
]
UNION = mpsn.clique_complexes(GRAPHS, max_dim=2).union
LABELS = np.random.default_rng(0).integers(0, 3, UNION.num_nodes)


def inner(features):
    return (features @ features.T).toarray()


def test_graphlets_by_the_definition():
    for graph, row in zip(GRAPHS, graphlets(UNION).toarray(), strict=True):
        found = [0, 0, 0, 0]
        for three in combinations(graph, 3):
            found[graph.subgraph(three).number_of_edges()] += 1
        assert row.tolist() == found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_walks_are_those_of_the_product_graph(seed, steps):
    rng = np.random.default_rng(seed)
    pair = [nx.gnp_random_graph(int(rng.integers(1, 7)), 0.5, seed=seed + i) for i in (0, 1)]
    labels = rng.integers(0, 2, sum(map(len, pair)))
    first, second = labels[: len(pair[0])], labels[len(pair[0]) :]
    degree = max(d for graph in pair for _, d in graph.degree)
    decay = max(10.0**-i for i in range(1, 9) if 10.0**-i * degree**2 < 1)
    W = np.kron(*map(nx.to_numpy_array, pair))
    same = (first[:, None] == second).ravel()
    W = W[np.ix_(same, same)]
    expected = sum(decay**p * np.linalg.matrix_power(W, p).sum() for p in range(steps + 1))
    found = inner(walks(mpsn.clique_complexes(pair, max_dim=2).union, labels, steps))[0, 1]
    assert found == pytest.approx(expected)


def test_long_walks_converge_to_the_geometric_kernel():
    """The sum over all lengths, with the inverse of a matrix (Gärtner et al. 2003)."""
    A = nx.to_numpy_array(GRAPHS[-1])
    same = (LABELS[-7:, None] == LABELS[-7:]).ravel()
    W = np.kron(A, A)[np.ix_(same, same)]
    decay = 0.01  # below 1 / 25 and 1 / 36: the largest degree is 5 or 6
    assert 3 < max(d for graph in GRAPHS for _, d in graph.degree) < 10
    expected = np.linalg.inv(np.eye(len(W)) - decay * W).sum()
    off = [abs(inner(walks(UNION, LABELS, p))[-1, -1] / expected - 1) for p in (0, 2, 5)]
    assert off[0] > off[1] > 100 * off[2]
    assert off[2] < 1e-4


def test_propagation_by_the_definition():
    x = np.eye(3)[LABELS]
    ptr = UNION.ptr(0).tolist()
    for steps in (0, 2):
        rng = np.random.default_rng(0)
        expected = np.zeros((len(GRAPHS), len(GRAPHS)))
        for t in range(steps + 1):
            direction, offset = rng.standard_cauchy(3), rng.uniform(0, BIN)
            bins = []
            for i, graph in enumerate(GRAPHS):
                A = nx.to_numpy_array(graph)
                P = A / np.maximum(A.sum(1, keepdims=True), 1)
                values = np.linalg.matrix_power(P, t) @ x[ptr[i] : ptr[i + 1]] @ direction
                bins.append(np.floor((values + offset) / BIN))
            for i, j in np.ndindex(expected.shape):
                expected[i, j] += (bins[i][:, None] == bins[j]).sum()
        found = inner(propagation(UNION, torch.from_numpy(x).float(), steps))
        assert found.tolist() == expected.tolist()


def test_without_labels_walks_are_counted_together():
    """Then the kernel is the product of the numbers of walks, summed over their lengths."""
    counts = [[nx.to_numpy_array(g).sum() for g in GRAPHS], [len(g) for g in GRAPHS]]
    found = inner(walks(UNION, np.zeros_like(LABELS), 1))
    assert found == pytest.approx(np.outer(counts[1], counts[1]) + 0.01 * np.outer(*counts[:1] * 2))
