"""Ring lifting against all subsets of vertices."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mpsn import CellComplex, clique_complex, collate, lift_features, ring_complex, ring_complexes
from mpsn.errors import GraphError, TooLargeError
from mpsn.lifting import ring
from mpsn.testing import graphs


def all_rings(graph, longest):
    """Walks around the sets of vertices that induce a cycle."""
    walks = []
    for size in range(3, min(longest, len(graph)) + 1):
        for nodes in combinations(graph, size):
            part = graph.subgraph(nodes)
            if all(degree == 2 for _, degree in part.degree) and nx.is_connected(part):
                walk = [min(nodes), min(part[min(nodes)])]
                while len(walk) < size:
                    walk += set(part[walk[-1]]) - {walk[-2]}
                walks.append(walk)
    return sorted(walks)


def walks_of(K):
    """The rings of a complex as walks, read off the order and signs of their edges."""
    B, edges = K.incidence(2), K.incidence(1).table
    ends = edges[B.face].tolist()  # larger, smaller
    start = [low if s > 0 else high for (high, low), s in zip(ends, B.signs.tolist(), strict=True)]
    stop = [high if s > 0 else low for (high, low), s in zip(ends, B.signs.tolist(), strict=True)]
    rings = []
    for a, b in zip(B.offsets[:-1].tolist(), B.offsets[1:].tolist(), strict=True):
        assert start[a + 1 : b] + start[a : a + 1] == stop[a:b]  # the walk closes
        rings.append(start[a:b])
    return rings


def checked(K):
    """The same complex, through the checks of the constructor."""
    return CellComplex(K.num_nodes, [K.incidence(k) for k in range(1, K.dim + 1)])


@settings(max_examples=200)
@given(graphs(max_nodes=8), st.integers(3, 9))
def test_rings_are_found_in_lexicographic_order(graph, longest):
    K = ring_complex(graph, longest)
    assert walks_of(K) == all_rings(graph, longest)
    assert checked(K) == K


@given(graphs(max_nodes=8), st.integers(3, 6), st.sampled_from([0, 1, 2, 3, None]))
def test_cliques_stand_on_the_rings_of_three(graph, longest, max_dim):
    K, cliques = ring_complex(graph, longest, max_dim), clique_complex(graph, max_dim)
    assert checked(K) == K
    assert K.counts[:2] == cliques.counts[:2]
    assert K.counts[3:] == cliques.counts[3:]
    for k in range(3, K.dim + 1):
        assert torch.equal(K.cells(k)[0], cliques.cells(k)[0])


@given(graphs(max_nodes=8), st.randoms(use_true_random=False))
def test_the_numbering_of_the_vertices_does_not_matter(graph, random):
    names = list(range(len(graph)))
    random.shuffle(names)
    edges = torch.tensor([[names[u], names[v]] for u, v in graph.edges], dtype=torch.int64)
    other = ring_complex((edges.reshape(-1, 2).T, len(graph)), 6)
    mapped = sorted(sorted(names[v] for v in walk) for walk in walks_of(ring_complex(graph, 6)))
    assert mapped == sorted(map(sorted, walks_of(other)))


def test_small_buffers_grow(monkeypatch):
    graph = nx.gnp_random_graph(20, 0.3, seed=1)
    expected = ring_complex(graph, 8)
    monkeypatch.setattr(ring, "CHUNK", 10)
    monkeypatch.setattr(ring, "ROOTS", 3)
    assert ring_complex(graph, 8) == expected


@given(st.lists(graphs(max_nodes=6), max_size=6), st.sampled_from([1, 2, None]))
def test_many_graphs_in_one_call_are_lifted_as_one_by_one(items, max_dim):
    packed = ring_complexes(items, 5, max_dim)
    single = [ring_complex(graph, 5, max_dim) for graph in items]
    assert list(packed) == single
    assert not items or packed.union == collate(single)


def test_long_rings_of_sparse_graphs():
    graph = nx.disjoint_union(nx.cycle_graph(18), nx.balanced_tree(3, 6))  # a search in trees ends
    graph.add_edge(0, 18)
    assert ring_complex(graph, 17).dim == 1
    assert walks_of(ring_complex(graph, 18)) == [list(range(18))]
    assert walks_of(ring_complex(graph, 10**9)) == [list(range(18))]


def test_data_of_the_graph_is_kept():
    x, attr = torch.rand(4, 2), torch.rand(4, 3)
    ends = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    K = ring_complex(Data(x=x, edge_index=ends, edge_attr=attr, y=torch.tensor(2)), 6)
    assert torch.equal(K.x[0], x)
    assert torch.equal(K.x[1], attr[[0, 3, 1, 2]])  # edges 01, 03, 12, 23
    assert K.y.tolist() == [2]
    assert ring_complex(nx.cycle_graph("abcd"), 4).vertex_labels == ("a", "b", "c", "d")
    lifted = lift_features(ring_complex(Data(x=x, edge_index=ends), 6, 3), "mean", 3)
    torch.testing.assert_close(lifted.x[2], x.mean(0, keepdim=True))
    assert lifted.x[3].shape == (0, 2)


@pytest.mark.parametrize("value", [2, 0, -1, 3.5, None, True, "6"])
def test_bad_lengths(value):
    with pytest.raises(GraphError, match="max_ring as an integer >= 3, got"):
        ring_complex(nx.path_graph(2), value)


def test_bad_dimensions():
    with pytest.raises(GraphError, match="max_dim as an integer >= 0, or None for all cliques"):
        ring_complexes([nx.path_graph(2)], 6, -1)


def test_too_large_is_refused():
    graph = nx.complete_bipartite_graph(30, 30)  # 189 225 squares
    with pytest.raises(TooLargeError, match="smaller max_ring, max_dim=1, or raise max_bytes"):
        ring_complex(graph, 4, max_bytes=1_000_000)
    assert ring_complex(graph, 3, max_bytes=1_000_000).dim == 1


def test_too_many_rings_are_refused_early(monkeypatch):
    """A grid of 20 x 20 has more rings than could ever be listed."""
    largest = []
    original = np.empty
    monkeypatch.setattr(
        np, "empty", lambda *a, **k: largest.append(np.prod(a[0])) or original(*a, **k)
    )
    with pytest.raises(TooLargeError, match="smaller max_ring"):
        ring_complex(nx.grid_2d_graph(20, 20), 60, max_bytes=2_000_000)
    assert max(largest) <= 250_000
