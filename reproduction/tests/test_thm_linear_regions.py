"""Section 5 and appendix B: Theorems 15, 16 and 19 on linear regions, and what they rest on."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from mpsn import SimplicialComplex
from mpsn.errors import MPSNError
from mpsn.regions import bounds, count, layer_matrix
from mpsn_reproduction.papers.regions import HOLLOW, TRIANGLE, layer, matrix

SMALL = {
    "vertex": SimplicialComplex(1),
    "edge": SimplicialComplex.from_simplices([[0, 1]]),
    "path": SimplicialComplex.from_simplices([[0, 1], [1, 2]]),
    "hollow": HOLLOW,
    "triangle": TRIANGLE,
    "two parts": SimplicialComplex.from_simplices([[0, 1], [2]]),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("d", "m"), [(1, 1), (1, 3), (2, 1), (2, 3), (3, 4)])
@pytest.mark.parametrize("name", SMALL)
def test_gnn_and_scnn_reach_their_bounds(name, d, m, seed):
    """Theorems 15 and 16: the bounds are optimal, reached by generic weights."""
    K = SMALL[name]
    assert count(matrix("gnn", K, d, m, seed)) == bounds.gnn(K.count(0), d, m)
    assert count(matrix("scnn", K, d, m, seed)) == bounds.scnn(K.counts, d, m)


def gcn(graph):
    """Kipf and Welling's normalized adjacency with loops."""
    A = nx.to_numpy_array(graph) + np.eye(len(graph))
    return A / np.sqrt(np.outer(A.sum(0), A.sum(0)))


HAAR = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]])
AGGREGATIONS = {
    "GCN": gcn,
    "spectral": lambda graph: np.linalg.eigh(nx.laplacian_matrix(graph).toarray())[1].T,
    "heat wavelets": lambda graph: expm(-nx.laplacian_matrix(graph).toarray()),
    "Haar wavelets": lambda graph: HAAR,
}


@pytest.mark.parametrize(("d", "m"), [(1, 2), (2, 3)])
@pytest.mark.parametrize("graph", [nx.path_graph(4), nx.star_graph(3)], ids=["path", "star"])
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_gnn_with_the_aggregations_that_the_theorem_names(name, graph, d, m):
    """Theorem 15: convolutions, Fourier and wavelet transforms; singular ones fall short."""
    W, M = np.random.default_rng(0).standard_normal((m, d)), AGGREGATIONS[name](graph)
    assert abs(np.linalg.det(M)) > 1e-3
    assert count(np.kron(W, M)) == bounds.gnn(4, d, m)
    M = M.copy()
    M[1] = M[0]
    assert count(np.kron(W, M)) < bounds.gnn(4, d, m)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("d", "m"), [(1, 1), (1, 2), (1, 3), (2, 2)])
@pytest.mark.parametrize("name", ["vertex", "edge", "path", "two parts", "hollow"])
def test_mpsn_stays_below_both_upper_bounds(name, d, m, seed):
    """Theorem 19, upper bounds."""
    K = SMALL[name]
    regions = count(matrix("mpsn", K, d, m, seed))
    assert regions <= bounds.mpsn_upper(K.counts, d, m)
    assert regions <= bounds.mpsn_trivial(K.counts, d, m)


def test_the_triangle_example():
    """Figure "regions": S = (3, 3, 1), d = 1, m = 3, so M = 21, N = 7; the count goes up."""
    W = {model: matrix(model, TRIANGLE, 1, 3, 0) for model in ("gnn", "scnn", "mpsn")}
    assert W["mpsn"].shape == W["scnn"].shape == (21, 7)
    regions = {model: count(weights) for model, weights in W.items()}
    assert regions["gnn"] == 8
    assert regions["scnn"] == 128
    assert 128 < regions["mpsn"] <= 120_920
    assert regions["mpsn"] == count(W["mpsn"], exact=True)


def blocks(K, m, seed, mpsn):
    """The matrices for vertex outputs with M_0 = L_0 and O_0 = B_1, in Kronecker form."""
    rng = np.random.default_rng(seed)
    W0, W1 = rng.standard_normal((2, 1, m))
    L0 = K.hodge_laplacian(0, dtype=torch.float64).to_dense().numpy()
    B1 = K.boundary_matrix(1, dtype=torch.float64).to_dense().numpy()
    left = np.kron(W0.T, L0)
    return np.hstack([left, np.kron(W1.T, B1)]) if mpsn else left


@settings(max_examples=15)
@given(st.integers(0, 30), st.integers(1, 3))
def test_mpsn_has_at_least_the_regions_of_scnn(seed, m):
    """Theorem 19, lower bound: L_0 = B_1 B_1ᵀ, so its rank conditions hold for every graph."""
    graph = nx.gnm_random_graph(3 + seed % 2, 3, seed=seed)
    K = SimplicialComplex.from_graph(graph)
    L0 = K.hodge_laplacian(0).to_dense().numpy()
    B1 = K.boundary_matrix(1).to_dense().numpy()
    lower = bounds.mpsn_lower([L0], [B1], 1, m)
    assert count(blocks(K, m, seed, mpsn=False)) == lower
    assert count(blocks(K, m, seed, mpsn=True)) >= lower


def test_the_lower_bound_can_be_strict():
    K = SMALL["path"]
    assert count(blocks(K, 3, 0, mpsn=True)) > count(blocks(K, 3, 0, mpsn=False))


@pytest.mark.parametrize(("m", "regions"), [(1, 48), (2, 1008)])
def test_the_lower_bound_on_a_complex_of_triangles(m, regions):
    """Theorem 19 at p = 2, with outputs H_0 and H_1: M_1 = B_2 B_2ᵀ, whose rank O_1 = B_2 has."""
    B1, B2 = (TRIANGLE.boundary_matrix(k, dtype=torch.float64).to_dense().numpy() for k in (1, 2))
    W0, W1, W2 = np.random.default_rng(0).standard_normal((3, m, 1))
    M0, M1 = B1 @ B1.T, B2 @ B2.T
    scnn = np.block(
        [[np.kron(W0, M0), np.zeros((3 * m, 3))], [np.zeros((3 * m, 3)), np.kron(W1, M1)]]
    )
    mpsn = np.block(
        [
            [np.kron(W0, M0), np.kron(W1, B1), np.zeros((3 * m, 1))],
            [np.kron(W0, B1.T), np.kron(W1, M1), np.kron(W2, B2)],
        ]
    )
    assert bounds.mpsn_lower([M0, M1], [B1, B2], 1, m) == count(scnn) == 12
    assert count(mpsn) == regions


def test_populated_features_never_lose_regions_and_can_add_some():
    """Proposition 32, on all graphs of up to four vertices: H_1 is a linear function of H_0."""
    rng, strict = np.random.default_rng(0), 0
    graphs = [G for G in nx.graph_atlas_g() if 1 < len(G) <= 4 and G.size()]
    for G in graphs:
        K = SimplicialComplex.from_graph(G)
        C = rng.standard_normal((K.count(1), K.count(0)))
        for m in (1, 2, 3):
            W0, W1 = rng.standard_normal((2, m, 1))
            B1 = K.boundary_matrix(1, dtype=torch.float64).to_dense().numpy()
            scnn = np.kron(W0, B1 @ B1.T)
            both = count(scnn + np.kron(W1, B1) @ C)
            assert both >= count(scnn)
            strict += both > count(scnn)
    assert strict > len(graphs)


def test_ranks_that_dominate_have_as_many_regions():
    """Proposition 30, on all pairs of some matrices: rank W_B >= rank W'_B for all rows B."""
    rng = np.random.default_rng(0)
    matrices = rng.integers(-1, 2, (150, 5, 3))
    subsets = [list(B) for size in range(1, 6) for B in combinations(range(5), size)]
    ranks = np.stack([np.linalg.matrix_rank(matrices[:, B]) for B in subsets], axis=1)
    regions = np.array([count(W, exact=True) for W in matrices])
    dominates = (ranks[:, None] >= ranks).all(axis=2)
    assert (regions[:, None] >= regions)[dominates].all()
    assert (dominates & (ranks[:, None] > ranks).any(axis=2)).sum() > 1000
    assert (regions[:, None] < regions).any()


@settings(max_examples=60)
@given(st.tuples(*[st.integers(1, 4)] * 4), st.integers(0, 10_000))
def test_the_rank_of_block_triangular_matrices(shape, seed):
    """Lemma 31: rank [[A, 0], [B, C]] >= rank A + rank C."""
    (k, width, m, n), rng = shape, np.random.default_rng(seed)
    A, B, C = (rng.integers(-1, 2, size) for size in ((k, width), (m, width), (m, n)))
    rank = np.linalg.matrix_rank
    assert rank(np.block([[A, np.zeros((k, n))], [B, C]])) >= rank(A) + rank(C)


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 8), st.integers(0, 2), st.integers(0, 100))
def test_matrices_of_uniform_rank(K, M, extra, seed):
    """Proposition 18, with K ≤ N: rank (W_B) = min(|B|, K) for all B."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((M, K)) @ rng.standard_normal((K, K + extra))
    assert count(W) == bounds.dense(K, M)


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 100))
def test_general_position(N, M, seed):
    """Theorem 29, and its affine companion."""
    rng = np.random.default_rng(seed)
    W, b = rng.standard_normal((M, N)), rng.standard_normal(M)
    assert count(W) == bounds.dense(N, M)
    assert count(W, b) == bounds.dense(N, M, affine=True)


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_small_perturbations_never_lose_regions(seed):
    """Lower semi-continuity, which the proof of Proposition 30 rests on."""
    rng = np.random.default_rng(seed)
    W = rng.integers(-1, 2, (6, 3)).astype(float)
    assert count(W + 1e-4 * rng.standard_normal(W.shape)) >= count(W)


@pytest.mark.parametrize("name", ["edge", "path", "hollow", "triangle"])
@pytest.mark.parametrize(("d", "m"), [(1, 3), (2, 2)])
def test_the_matrix_of_a_layer_has_block_kronecker_form(name, d, m):
    """Equations "MPSN full standard" and "MPSNdimkron", by Roth's lemma."""
    K, conv = SMALL[name], layer("mpsn", SMALL[name], d, m, seed=3)
    W = layer_matrix(conv, K, [d] * (K.dim + 1))
    V = [conv.own[n].weight.detach().double().numpy() for n in range(K.dim + 1)]  # W_nᵀ
    dense = lambda sparse: sparse.to_dense().numpy()  # noqa: E731
    B = {n: dense(K.boundary_matrix(n, dtype=torch.float64)) for n in range(1, K.dim + 1)}
    rows = []
    for n in range(K.dim + 1):
        row = []
        for k in range(K.dim + 1):
            if k == n:
                M = dense(K.hodge_laplacian(n, dtype=torch.float64)) + np.eye(K.count(n))
                row.append(np.kron(V[n], M))
            elif k == n - 1:
                row.append(np.kron(V[k], B[n].T))
            elif k == n + 1:
                row.append(np.kron(V[k], B[k]))
            else:
                row.append(np.zeros((m * K.count(n), d * K.count(k))))
        rows.append(row)
    np.testing.assert_allclose(W, np.block(rows), atol=1e-12)

    xs = [torch.randn(n, d, dtype=torch.float64) for n in K.counts]
    vec = lambda parts: np.concatenate([p.detach().numpy().T.reshape(-1) for p in parts])  # noqa: E731
    np.testing.assert_allclose(vec(conv.double()(K, xs)), np.maximum(W @ vec(xs), 0), atol=1e-12)


def test_populated_matrices_compose_with_the_linear_map():
    conv = layer("mpsn", HOLLOW, 1, 2, seed=0)
    C = torch.randn(3, 3, dtype=torch.float64)
    whole = layer_matrix(conv, HOLLOW, [1, 1])
    composed = layer_matrix(conv, HOLLOW, [1], populate=lambda x: [x, C @ x])
    np.testing.assert_allclose(composed, whole @ np.vstack([np.eye(3), C.numpy()]), atol=1e-12)


@pytest.mark.parametrize(
    "bend",
    [
        torch.relu,
        torch.abs,
        lambda x: torch.relu(x) @ torch.ones(1, 2, dtype=x.dtype),  # an inner one
        lambda x: 1e-10 * torch.relu(x),
        lambda x: x.clamp(-1, 1),
        lambda x: x + 1,
    ],
)
def test_layers_that_bend_before_their_activation_are_refused(bend):
    for K in SMALL.values():
        with pytest.raises(MPSNError, match="linear before its activation"):
            layer_matrix(lambda K, xs: [bend(xs[0])], K, [1])
