"""Barycentric subdivision: chains of cells, by the definition; topology stays."""

from itertools import combinations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mpsn
from mpsn import SimplicialComplex, collate
from mpsn.testing import complexes

KINDS = st.sampled_from(["simplicial", "cell", "cubical"])


def chains(K):
    """Return all chains of cells of a complex, by the definition, as sets of numbers."""
    below, start = [], 0  # of each cell, the numbers of those in its boundary
    for k in range(K.dim + 1):
        B, lower, start = K.incidence(k), start, len(below)
        for i in range(K.count(k)):
            faces = {lower + int(f) for f in B.face[B.offsets[i] : B.offsets[i + 1]]}
            below.append(faces.union(*(below[f] for f in faces)))
    found, last = set(), [[i] for i in range(len(below))]
    while last:
        found |= {frozenset(chain) for chain in last}
        last = [[i, *chain] for chain in last for i in below[chain[0]]]
    return found


@given(st.data(), KINDS)
def test_simplices_are_the_chains_of_cells(data, kind):
    K = data.draw(complexes(max_vertices=6, kind=kind))
    S = K.barycentric_subdivision()
    assert {frozenset(row) for row in S.to_simplices()} == chains(K)
    assert SimplicialComplex.from_simplices(S.to_simplices(), S.num_nodes) == S


@given(st.data(), KINDS)
def test_topology_stays(data, kind):
    K = data.draw(complexes(max_vertices=6, kind=kind))
    S = K.barycentric_subdivision()
    assert S.euler_number() == K.euler_number()
    assert S.betti_numbers() == K.betti_numbers()


@given(st.data(), KINDS)
def test_a_union_is_subdivided_complex_by_complex(data, kind):
    parts = [data.draw(complexes(max_vertices=5, kind=kind, features=2)) for _ in range(3)]
    alone = [K.replace(y=i).barycentric_subdivision() for i, K in enumerate(parts)]
    union = collate([K.replace(y=i) for i, K in enumerate(parts)]).barycentric_subdivision()
    assert union.to_list() == alone


def test_counts_of_surfaces():
    torus = [[i, (i + a) % 7, (i + 3) % 7] for i in range(7) for a in (1, 2)]
    octahedron = [[i, 2 + j, 4 + k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    parts = map(SimplicialComplex.from_simplices, (torus, octahedron))
    K = mpsn.ComplexDataset(collate([S.replace(y=S.euler_number()) for S in parts]))
    v, e, t = K.counts.T
    S = mpsn.ComplexDataset(K.union.barycentric_subdivision())
    assert torch.equal(S.counts, torch.stack([v + e + t, 2 * e + 6 * t, 6 * t], 1))
    assert torch.equal(S.y, K.y)
    assert [L.betti_numbers() for L in S] == [L.betti_numbers() for L in K]


def test_features_of_cells_become_those_of_vertices():
    K = mpsn.clique_complex(nx.path_graph(3))
    xs = [torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[10.0], [20.0]])]
    K = K.replace(x=xs, y=torch.tensor([7]), vertex_labels="abc")
    S = K.barycentric_subdivision()
    assert S.x[0].T.tolist() == [[0, 1, 2, 10, 20]]
    assert S.simplices(1).tolist() == [[0, 3], [1, 3], [1, 4], [2, 4]]
    assert S.y.tolist() == [7]
    assert S.vertex_labels is None
    assert K.replace(x=[xs[0], torch.ones(2, 3)]).barycentric_subdivision().x[0] is None
    assert K.replace(y=torch.arange(3)).barycentric_subdivision().y is None


@pytest.mark.parametrize("K", [SimplicialComplex(), SimplicialComplex(3), collate([])])
def test_without_cells_above_vertices_nothing_changes(K):
    assert K.barycentric_subdivision() == K


def test_a_triangle_has_a_vertex_for_each_face():
    K = SimplicialComplex.from_simplices([[0, 1, 2]])
    S = K.barycentric_subdivision()
    middle = S.num_nodes - 1
    assert S.simplices(2)[:, 2].eq(middle).all()
    assert all({a, b} <= set(range(6)) for a, b in combinations(S.simplices(2)[0, :2].tolist(), 2))
