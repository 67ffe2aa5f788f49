"""Cube lifting against all embeddings of cubes into a graph."""

import math

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn import CellComplex, collate, cube_complex, cube_complexes
from mpsn._rows.memory import Budget
from mpsn.errors import GraphError, TooLargeError
from mpsn.testing import graphs


def all_cubes(graph, k):
    """The edges of each subgraph that is a k-cube."""
    Q = nx.hypercube_graph(k)
    matcher = nx.algorithms.isomorphism.GraphMatcher(graph, Q)
    found = set()
    for match in matcher.subgraph_monomorphisms_iter():
        at = {corner: vertex for vertex, corner in match.items()}
        found.add(frozenset(frozenset((at[a], at[b])) for a, b in Q.edges))
    return found


def edges_of(K, k):
    ends = K.incidence(1).table.tolist()
    sets = [frozenset([frozenset(pair)]) for pair in ends]
    for j in range(2, k + 1):
        sets = [frozenset().union(*(sets[f] for f in row)) for row in K.faces(j).tolist()]
    return sets if K.count(k) else []


def is_regular(K):
    """Whether the constructor's checks of boundaries and signs pass."""
    cells = CellComplex.from_complex(K)
    return cells == CellComplex(K.num_nodes, [cells.incidence(k) for k in range(1, K.dim + 1)])


@settings(max_examples=30)
@given(graphs(max_nodes=8))
def test_all_squares_and_cubes_are_found_once(graph):
    K = cube_complex(graph, 3)
    assert is_regular(K)
    for k in (2, 3):
        found = edges_of(K, k)
        assert len(set(found)) == len(found)
        assert set(found) == all_cubes(graph, k)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [3, 4, 5])
def test_a_hypercube_in_any_numbering(d, seed):
    graph = nx.hypercube_graph(d)
    order = torch.randperm(2**d, generator=torch.Generator().manual_seed(seed)).tolist()
    graph = nx.relabel_nodes(graph, dict(zip(graph, order, strict=True)))
    ends = torch.tensor(list(graph.edges)).T
    K = cube_complex((ends, 2**d), None)
    assert K.counts == tuple(2 ** (d - k) * math.comb(d, k) for k in range(d + 1))
    assert is_regular(K)
    assert K.betti_numbers() == (1,) + (0,) * d


def test_squares_with_chords_and_dense_graphs():
    assert cube_complex(nx.complete_graph(4)).counts == (4, 6, 3)
    assert cube_complex(nx.complete_graph(8), 3).counts == (8, 28, 210, 840)
    assert cube_complex(nx.complete_bipartite_graph(4, 4), 3).counts == (8, 16, 36, 24)
    torus = nx.cartesian_product(nx.cycle_graph(5), nx.cycle_graph(6))
    assert cube_complex(torus).betti_numbers() == (1, 2, 1)


def test_small_dimensions_and_empty_graphs():
    assert cube_complex(nx.cycle_graph(4), 0).counts == (4,)
    assert cube_complex(nx.cycle_graph(4), 1).counts == (4, 4)
    assert cube_complex(nx.Graph(), None).counts == ()
    assert len(cube_complexes([])) == 0
    with pytest.raises(GraphError, match="max_dim as an integer >= 0, or None for all cubes"):
        cube_complex(nx.path_graph(2), -1)


@given(st.lists(graphs(max_nodes=6), max_size=5), st.sampled_from([1, 2, None]))
def test_many_graphs_in_one_call_are_lifted_as_one_by_one(items, max_dim):
    packed = cube_complexes(items, max_dim)
    single = [cube_complex(graph, max_dim) for graph in items]
    assert list(packed) == single
    assert not items or packed.union == collate(single)


@pytest.mark.parametrize("room", [1, 30])
def test_chunks_make_no_difference(room, monkeypatch):
    graph = nx.gnp_random_graph(12, 0.5, seed=2)
    whole = cube_complex(graph, 3)
    monkeypatch.setattr(Budget, "room", lambda *_: room)
    assert cube_complex(graph, 3) == whole


def test_features_and_names():
    K = cube_complex(nx.cycle_graph("abcd"))
    assert K.vertex_labels == ("a", "b", "c", "d")
    from mpsn import lift_features

    lifted = lift_features(K.replace(x=[torch.tensor([[0], [1], [2], [3]])]), "sum")
    assert lifted.x[1].T.tolist() == [[1, 3, 3, 5]]
    assert lifted.x[2].tolist() == [[6]]


def test_too_large_is_refused_with_the_counts_found():
    with pytest.raises(TooLargeError, match=r"\(60, 900, \d+\).*use max_dim=1"):
        cube_complex(nx.complete_bipartite_graph(30, 30), None, max_bytes=1_000_000)
