"""Lifts of graphs against all subsets, sequences and subgraphs."""

from itertools import combinations, pairwise, permutations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher
from torch_geometric.data import Data

import mpsn
from mpsn import CellComplex, clique_complex, ring_complex
from mpsn._rows.memory import Budget
from mpsn.errors import ComplexError, GraphError, LeftOut, TooLargeError
from mpsn.lifting import (
    clique,
    directed_flag_complex,
    independence_complex,
    motif_complex,
    nearest_neighbor_complex,
    neighborhood_complex,
    path_complex,
)
from mpsn.testing import graphs

DIMS = st.sampled_from([0, 1, 2, None])


def listed(simplices, max_dim):
    found = {tuple(sorted(s)) for s in simplices if max_dim is None or len(s) <= max_dim + 1}
    return sorted(found, key=lambda s: (len(s), s))


def subsets(vertices):
    return [s for size in range(1, len(vertices) + 1) for s in combinations(sorted(vertices), size)]


@given(graphs(max_nodes=7), DIMS)
def test_neighborhoods(graph, max_dim):
    found = [(v,) for v in graph] + [s for v in graph for s in subsets(graph[v])]
    expected = [list(s) for s in listed(found, max_dim)]
    assert neighborhood_complex(graph, max_dim).to_simplices() == expected


@given(graphs(max_nodes=7), DIMS)
def test_independent_sets(graph, max_dim):
    free = [s for s in subsets(graph) if not any(graph.has_edge(*p) for p in combinations(s, 2))]
    K = independence_complex(graph, max_dim)
    assert K.to_simplices() == [list(s) for s in listed(free, max_dim)]
    assert clique_complex(nx.complement(graph), max_dim) == K


@given(graphs(max_nodes=6), st.integers(1, 4), DIMS)
def test_paths(graph, length, max_dim):
    paths = [
        walk
        for size in range(1, length + 2)
        for walk in permutations(graph, size)
        if all(graph.has_edge(*pair) for pair in pairwise(walk))
    ]
    expected = listed([s for path in paths for s in subsets(path)], max_dim)
    assert path_complex(graph, length, max_dim).to_simplices() == [list(s) for s in expected]


def test_features_and_names_are_kept_and_edges_are_not():
    graph = nx.path_graph(["a", "b", "c"])
    data = Data(
        x=torch.arange(3.0)[:, None],
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        edge_attr=torch.ones(2, 1),
        y=torch.tensor([4]),
    )
    for lift in (neighborhood_complex, independence_complex, path_complex):
        assert lift(graph).vertex_labels == ("a", "b", "c")
        with pytest.warns(LeftOut, match="edge_attr is not used"):
            K = lift(data)
        assert torch.equal(K.x[0], data.x)
        assert K.x[1] is None
        assert K.y.tolist() == [4]


def test_results_that_explode_are_refused():
    star = nx.star_graph(20_000)
    with pytest.raises(TooLargeError):
        neighborhood_complex(star, 3)
    with pytest.raises(TooLargeError):
        independence_complex(star, max_bytes=1 << 20)
    with pytest.raises(TooLargeError, match="a smaller length"):
        path_complex(nx.star_graph(2000), max_bytes=1 << 20)
    with pytest.raises(TooLargeError, match="smaller patterns"):
        motif_complex(nx.complete_graph(60), [4], max_bytes=1 << 20)


def test_nearest_features():
    x = torch.tensor([[0.0], [0.1], [5.0], [5.1], [9.0]])
    data = Data(x=x, edge_index=torch.tensor([[0], [4]]))
    K = nearest_neighbor_complex(data, k=1)
    assert K.simplices(1).tolist() == [[0, 1], [0, 4], [2, 3], [3, 4]]
    assert torch.equal(K.x[0], x)
    with pytest.raises(GraphError, match=r"set data\.x"):
        nearest_neighbor_complex(nx.path_graph(3))


# Motifs ------------------------------------------------------------------------------------

PATTERNS = [nx.cycle_graph(3), nx.cycle_graph(4), nx.diamond_graph(), nx.house_graph()]
PATTERNS += [nx.complete_graph(4), nx.wheel_graph(5), nx.complete_bipartite_graph(2, 2)]


def occurrences(graph, pattern, induced):
    """Return the cycles through all vertices of each occurrence, by networkx, as sets of edges."""
    matcher = GraphMatcher(graph, pattern)
    maps = matcher.subgraph_isomorphisms_iter if induced else matcher.subgraph_monomorphisms_iter
    found = set()
    for mapping in maps():
        back = {small: large for large, small in mapping.items()}
        for walk in permutations(pattern):
            steps = [(walk[i - 1], walk[i]) for i in range(len(walk))]
            if all(pattern.has_edge(*step) for step in steps):
                found.add(frozenset(frozenset(back[v] for v in step) for step in steps))
    return found


@settings(max_examples=60)
@given(graphs(max_nodes=6), st.sampled_from(PATTERNS), st.booleans())
def test_motifs(graph, pattern, induced):
    K = motif_complex(graph, [pattern], induced=induced)
    edges = [frozenset(row) for row in K.incidence(1).table.tolist()]
    B = K.incidence(2)
    found = [
        frozenset(edges[e] for e in B.face[start:stop].tolist())
        for start, stop in zip(B.offsets[:-1].tolist(), B.offsets[1:].tolist(), strict=True)
    ]
    assert len(set(found)) == len(found)
    assert set(found) == occurrences(graph, pattern, induced)
    assert CellComplex(K.num_nodes, [K.incidence(k) for k in range(1, K.dim + 1)]) == K


def test_induced_cycles_are_rings():
    graph = nx.gnp_random_graph(25, 0.2, seed=3)
    K, rings = motif_complex(graph, [5, 3, 4], induced=True), ring_complex(graph, 5)
    assert K.counts == rings.counts
    assert K.betti_numbers() == rings.betti_numbers()
    assert motif_complex(graph, [3]).to_simplicial() == clique_complex(graph)


@pytest.mark.parametrize("pattern", [nx.star_graph(3), nx.path_graph(4), nx.path_graph(2), 9, "3"])
def test_patterns_without_a_cycle_are_refused(pattern):
    with pytest.raises(GraphError, match="a cycle through"):
        motif_complex(nx.complete_graph(4), [pattern])
    with pytest.raises(GraphError, match="a list of patterns"):
        motif_complex(nx.complete_graph(4), [])


# Directed flags ----------------------------------------------------------------------------

digraphs = st.integers(0, 5).flatmap(
    lambda n: st.sets(st.tuples(*[st.integers(0, max(n - 1, 0))] * 2), max_size=14 if n else 0).map(
        lambda edges: (n, sorted(edges))
    )
)


def sequences(K):
    """Return the vertices of the simplices in their order: those of face k, then of face 0."""
    out = [[(v,) for v in range(K.num_nodes)]]
    for k in range(1, K.dim + 1):
        table = K.incidence(k).face.view(-1, k + 1).tolist()
        out.append([(*out[-1][row[-1]], out[-1][row[0]][-1]) for row in table])
    return out


@pytest.mark.parametrize("path", ["numba", "torch"])
def test_directed_flags(path, monkeypatch):
    if path == "torch":
        monkeypatch.setattr(clique, "_extend", clique.extend_torch)
        monkeypatch.setattr(Budget, "room", lambda *_: 3)

    @given(digraphs, st.sampled_from([0, 1, 2, None]))
    def check(given_graph, max_dim):
        n, edges = given_graph
        graph = nx.DiGraph(edges)
        graph.add_nodes_from(range(n))
        index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
        K = directed_flag_complex((index, n), max_dim)
        for k, found in enumerate(sequences(K)):
            assert found == [
                s
                for s in permutations(range(n), k + 1)
                if all(graph.has_edge(a, b) for a, b in combinations(s, 2))
            ]
        assert K.dim == (-1 if not n else K.dim) <= (n if max_dim is None else max_dim)
        # Parallel edges pass every check, and files keep them.
        assert CellComplex(n, [K.incidence(k) for k in range(1, K.dim + 1)]) == K

    check()


def test_edges_in_both_directions_bound_a_loop(tmp_path):
    K = directed_flag_complex(nx.path_graph(2))
    assert K.counts == (2, 2)
    assert K.betti_numbers() == (1, 1)
    K.save(tmp_path / "K.npz")
    assert mpsn.load(tmp_path / "K.npz") == K
    flipped = K.flip({1: torch.tensor([True, False])})
    flipped.save(tmp_path / "K.npz")
    assert mpsn.load(tmp_path / "K.npz") == flipped
    with pytest.raises(ComplexError, match="edges in both directions"):
        K.to_simplicial()
    cycle = directed_flag_complex(nx.DiGraph([(0, 1), (1, 2), (2, 0)]))
    assert cycle.betti_numbers() == (1, 1)  # no vertex points at both others


def test_directed_flags_keep_features():
    data = Data(
        x=torch.zeros(3, 1),
        edge_index=torch.tensor([[0, 1, 0, 1, 0], [1, 0, 2, 2, 1]]),
        edge_attr=torch.tensor([1.0, 2.0, 3.0, 4.0, 1.0]),
    )
    K = directed_flag_complex(data)
    assert K.counts == (3, 4, 2)
    assert K.x[1].T.tolist() == [[1.0, 3.0, 2.0, 4.0]]  # 01, 02, 10, 12
    with pytest.raises(GraphError, match=r"vertices 0\.\.1"):
        directed_flag_complex((torch.tensor([[0], [2]]), 2))
    whole = directed_flag_complex(nx.complete_graph(4), None)
    assert whole.counts == (4, 12, 24, 24)
    with pytest.raises(TooLargeError):
        directed_flag_complex(nx.complete_graph(12), None, max_bytes=1 << 16)
