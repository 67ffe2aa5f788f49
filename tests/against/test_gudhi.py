"""gudhi as an oracle: cliques, Betti numbers, conversions."""

import gudhi
import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from mpsn import SimplicialComplex, clique_complex, cubical_complex
from mpsn.testing import complexes


def expansion(graph, max_dim):
    tree = gudhi.SimplexTree()
    for v in graph.nodes:
        tree.insert([v])
    for u, v in graph.edges:
        tree.insert([u, v])
    tree.expansion(max_dim)
    return tree


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_dim", [1, 2, 4])
def test_the_cliques_gudhi_finds(seed, max_dim):
    graph = nx.gnp_random_graph(25, 0.1 + 0.1 * seed, seed=seed)
    K, tree = clique_complex(graph, max_dim), expansion(graph, max_dim)
    assert sorted(map(tuple, K.to_simplices())) == sorted(tuple(s) for s, _ in tree.get_simplices())


@pytest.mark.parametrize("seed", range(4))
def test_the_betti_numbers_gudhi_finds(seed):
    graph = nx.gnp_random_graph(30, 0.15 + 0.1 * seed, seed=seed)
    K, tree = clique_complex(graph, max_dim=4), expansion(graph, 4)
    tree.compute_persistence(homology_coeff_field=11, persistence_dim_max=True)
    betti = tree.betti_numbers()
    assert list(K.betti_numbers()) == betti + [0] * (K.dim + 1 - len(betti))


@given(complexes())
def test_round_trip(K):
    tree = K.to_gudhi()
    assert tree.num_vertices() == K.num_nodes
    back = SimplicialComplex.from_gudhi(tree)
    assert back.bare() == K
    assert all(bool((x == 0).all()) for x in back.x)


def test_vertex_numbers_of_gudhi_are_kept():
    tree = gudhi.SimplexTree()
    tree.insert([10, 20, 30])
    K = SimplicialComplex.from_gudhi(tree)
    assert K.vertex_labels == (10, 20, 30)
    assert K.counts == (3, 3, 1)


def test_a_delaunay_triangulation_with_a_hole():
    points = np.random.default_rng(0).random((200, 2))
    tree = gudhi.DelaunayComplex(points=points).create_simplex_tree()
    triangles = [s for s, _ in tree.get_simplices() if len(s) == 3]
    away = [t for t in triangles if np.abs(points[t] - 0.5).max() > 0.15]
    K = SimplicialComplex.from_simplices(away)
    assert K.betti_numbers()[1:] == (1, 0)
    assert torch.linalg.matrix_rank(K.harmonic_basis(1)) == 1


@pytest.mark.parametrize("pixels", ["cells", "vertices"])
@pytest.mark.parametrize("shape", [(9,), (6, 5), (4, 3, 4), (2, 3, 2, 3)])
def test_the_sublevel_sets_of_images(shape, pixels):
    rng = np.random.default_rng(len(shape))
    values, mask = rng.random(shape), rng.random(shape) < 0.8
    K = cubical_complex(values, pixels=pixels, mask=mask)
    name = {"cells": "top_dimensional_cells", "vertices": "vertices"}[pixels]
    theirs = gudhi.CubicalComplex(**{name: np.where(mask, values, np.inf)})
    theirs.compute_persistence()
    for level in (0.2, 0.4, 0.6, 1.0):
        part = K.subcomplex({k: K.x[k][:, 0] <= level for k in range(K.dim + 1)})
        expected = theirs.persistent_betti_numbers(level, level)
        betti = [*part.betti_numbers(), *[0] * len(shape)]
        assert betti[: len(shape)] == expected[: len(shape)]
