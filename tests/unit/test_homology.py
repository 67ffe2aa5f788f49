"""Holes of shapes whose holes are known, and of random ones by dense linear algebra."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from mpsn import SimplicialComplex, clique_complex, collate
from mpsn.errors import ComplexError
from mpsn.testing import complexes


def torus() -> SimplicialComplex:
    n = 7
    square = [
        ((i, j), a, b) for i in range(n) for j in range(n) for a, b in ((1, 0), (0, 1), (1, 1))
    ]
    graph = nx.Graph((p, ((p[0] + a) % n, (p[1] + b) % n)) for p, a, b in square)
    return clique_complex(graph, max_dim=None)


def projective_plane() -> SimplicialComplex:
    six = (
        "012 023 034 045 015 124 235 134 135 245"  # the 6-vertex triangulation, from 0-based digits
    )
    triangles = [[int(c) for c in t] for t in six.split()]
    return SimplicialComplex.from_simplices(triangles)


@pytest.mark.parametrize(
    ("K", "betti"),
    [
        (clique_complex(nx.octahedral_graph()), (1, 0, 1)),
        (clique_complex(nx.cycle_graph(5)), (1, 1)),
        (clique_complex(nx.complete_graph(6), max_dim=None), (1, 0, 0, 0, 0, 0)),
        (clique_complex(nx.complete_graph(6), max_dim=2), (1, 0, 10)),
        (torus(), (1, 2, 1)),
        (projective_plane(), (1, 0, 0)),  # torsion of order 2 is no hole over the rationals
        (clique_complex(nx.complete_multipartite_graph(2, 2, 2, 2), max_dim=None), (1, 0, 0, 1)),
        (collate([torus(), clique_complex(nx.cycle_graph(4))]), (2, 3, 1)),
    ],
)
def test_known_betti_numbers(K, betti):
    assert K.betti_numbers() == betti
    assert K.euler_number() == sum((-1) ** k * b for k, b in enumerate(betti))


@given(complexes(max_vertices=9, oriented=True))
def test_betti_numbers_by_dense_ranks(K):
    kernel = [
        K.count(k)
        - np.linalg.matrix_rank(K.hodge_laplacian(k, dtype=torch.float64).to_dense().numpy())
        for k in range(K.dim + 1)
    ]
    assert list(K.betti_numbers()) == kernel


@given(complexes(oriented=True))
def test_harmonic_bases(K):
    for k, betti in enumerate(K.betti_numbers()):
        basis = K.harmonic_basis(k)
        assert basis.shape == (K.count(k), betti)
        torch.testing.assert_close(basis.T @ basis, torch.eye(betti, dtype=torch.float64))
        image = K.hodge_laplacian(k, dtype=torch.float64) @ basis
        torch.testing.assert_close(image, torch.zeros_like(image), atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "graph",
    [nx.cycle_graph(400), nx.complete_bipartite_graph(7, 9)],  # of many steps, and of many holes
    ids=["by a factorization", "by decomposition"],
)
def test_harmonic_bases_of_larger_graphs(graph):
    K = clique_complex(graph)
    basis = K.harmonic_basis(1)
    assert basis.shape == (K.count(1), K.count(1) - K.count(0) + 1)
    torch.testing.assert_close(basis.T @ basis, torch.eye(basis.shape[1], dtype=torch.float64))
    divergence = K.boundary_matrix(1, dtype=torch.float64) @ basis
    torch.testing.assert_close(divergence, torch.zeros_like(divergence), atol=1e-9, rtol=0)


@given(complexes(features=3, oriented=True))
def test_hodge_decomposition(K):
    for k in range(K.dim + 1):
        x = K.x[k]
        parts = K.hodge_decomposition(k, x)
        close = {"atol": 1e-8, "rtol": 0}
        torch.testing.assert_close(sum(parts), x)
        for a, b in ((0, 1), (0, 2), (1, 2)):
            dot = (parts[a] * parts[b]).sum(0)
            torch.testing.assert_close(dot, torch.zeros_like(dot), **close)
        L = K.hodge_laplacian(k, dtype=torch.float64)
        assert (L @ parts.harmonic).abs().sum() < 1e-7
        up, down = (K.hodge_laplacian(k, p, dtype=torch.float64) for p in ("up", "down"))
        assert (up @ parts.gradient).abs().sum() < 1e-7
        assert (down @ parts.curl).abs().sum() < 1e-7
        # Oracle: the projection on the image, by least squares.
        if k:
            Bt = K.boundary_matrix(k, dtype=torch.float64).to_dense().T.numpy()
            gradient = Bt @ np.linalg.lstsq(Bt, x.numpy(), rcond=None)[0]
            np.testing.assert_allclose(parts.gradient.numpy(), gradient, atol=1e-8)


def test_decomposition_keeps_shape_and_type():
    K = torus()
    flow = torch.randn(K.count(1), generator=torch.Generator().manual_seed(0))
    parts = K.hodge_decomposition(1, flow)
    assert {(p.shape, p.dtype) for p in parts} == {(flow.shape, torch.float32)}
    torch.testing.assert_close(sum(parts), flow)


def test_bad_cochains():
    with pytest.raises(ComplexError, match=r"cochain of shape \(147,\) or \(147, F\), got"):
        torus().hodge_decomposition(1, torch.ones(5))
    with pytest.raises(ComplexError, match=r"got torch\.int64"):
        torus().hodge_decomposition(1, torch.ones(147, dtype=torch.int64))
