"""Clique lifting against all subsets, on both code paths."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import mpsn
from mpsn import (
    SimplicialComplex,
    clique_complex,
    clique_complexes,
    collate,
    lift_features,
    ring_complex,
)
from mpsn._rows import memory
from mpsn._rows.memory import Budget
from mpsn.errors import ComplexError, GraphError, TooLargeError
from mpsn.lifting import Lift, _shared, clique
from mpsn.testing import graphs


def all_cliques(graph, max_dim):
    sizes = range(1, len(graph) + 1) if max_dim is None else range(1, max_dim + 2)
    return [
        list(nodes)
        for size in sizes
        for nodes in combinations(sorted(graph), size)
        if all(graph.has_edge(u, v) for u, v in combinations(nodes, 2))
    ]


@settings(max_examples=200)
@given(graphs(), st.sampled_from([0, 1, 2, 3, None]))
def test_cliques_are_found_in_lexicographic_order(graph, max_dim):
    K = clique_complex(graph, max_dim)
    assert K.to_simplices() == all_cliques(graph, max_dim)
    faces = [K.faces(k) for k in range(1, K.dim + 1)]
    assert SimplicialComplex(K.num_nodes, faces) == K  # the face tables pass every check


@pytest.fixture
def torch_path(monkeypatch):
    """Run the code path of GPUs on the CPU, in chunks of the given number of candidates."""

    def use(room):
        monkeypatch.setattr(clique, "_extend", clique.extend_torch)
        monkeypatch.setattr(Budget, "room", lambda *_: room)

    return use


@pytest.mark.parametrize("room", [1, 7, 1 << 20])
@pytest.mark.parametrize("seed", range(5))
def test_both_paths_agree_bit_for_bit(torch_path, room, seed):
    graph = nx.gnp_random_graph(40, 0.45, seed=seed)
    expected = clique_complex(graph, max_dim=None)
    torch_path(room)
    assert clique_complex(graph, max_dim=None) == expected


@pytest.mark.parametrize("path", ["numba", "torch"])
def test_hubs_and_other_uneven_degrees(torch_path, path):
    if path == "torch":
        torch_path(1 << 20)
    graph = nx.barabasi_albert_graph(120, 6, seed=1)
    graph.add_edges_from((119, v) for v in range(119))  # a hub with the largest number
    graph.add_edges_from((0, v) for v in range(1, 120))  # and one with the smallest
    K = clique_complex(graph, max_dim=3)
    assert K.count(2) == sum(nx.triangles(graph).values()) // 3
    maximal = nx.find_cliques(graph)
    fours = {tuple(sorted(c)) for m in maximal for c in combinations(m, 4)}
    assert [tuple(row) for row in K.simplices(3).tolist()] == sorted(fours)


@given(st.lists(graphs(max_nodes=6), max_size=6), st.sampled_from([0, 2, None]))
def test_many_graphs_in_one_call_are_lifted_as_one_by_one(items, max_dim):
    packed = clique_complexes(items, max_dim)
    single = [clique_complex(graph, max_dim) for graph in items]
    assert list(packed) == single
    assert packed.union == collate(single)


def test_mixed_kinds_of_graph_in_one_call():
    named = nx.path_graph("abc")
    packed = clique_complexes([(torch.tensor([[0], [1]]), 2), named])
    assert packed[1].vertex_labels == ("a", "b", "c")
    assert packed[0].vertex_labels == (0, 1)


def test_no_graphs_and_empty_graphs():
    assert len(clique_complexes([])) == 0
    assert clique_complex(nx.Graph()) == SimplicialComplex()
    assert [K.counts for K in clique_complexes([nx.Graph(), nx.empty_graph(2)])] == [(), (2,)]
    loop = (torch.tensor([[0], [0]]), 1)
    assert clique_complex(loop, max_dim=None).counts == (1,)


def test_too_large_is_refused_with_the_counts_found():
    graph = nx.complete_graph(30)
    with pytest.raises(TooLargeError, match=r"\(30, 435, 4060, 27405\).*dimension 3.*max_dim=2"):
        clique_complex(graph, max_dim=None, max_bytes=300_000)
    assert clique_complex(graph, max_dim=2, max_bytes=300_000).count(2) == 4060


@pytest.mark.parametrize("path", [np, torch])
def test_too_large_is_refused_before_allocation(monkeypatch, torch_path, path):
    if path is torch:
        torch_path(1000)
    allocated, original = [], path.empty

    def spy(shape, *args, **kwargs):
        allocated.append(shape)
        return original(shape, *args, **kwargs)

    monkeypatch.setattr(path, "empty", spy)
    with pytest.raises(TooLargeError):
        clique_complex(nx.complete_graph(30), max_dim=None, max_bytes=300_000)
    assert (4060, 3) in allocated
    assert (27405, 4) not in allocated


def test_negative_dimension():
    with pytest.raises(
        GraphError, match="max_dim as an integer >= 0, or None for all cliques, got -1"
    ):
        clique_complex(nx.path_graph(2), max_dim=-1)


def test_graphs_on_two_devices():
    pair = [(torch.tensor([[0], [1]], device=d), 2) for d in ("cpu", "meta")]
    with pytest.raises(GraphError, match="one device, got \\['cpu', 'meta'\\]"):
        clique_complexes(pair)


@given(graphs(), st.sampled_from(["sum", "mean"]))
def test_feature_lifts(graph, how):
    x = torch.randn(len(graph), 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    K = lift_features(clique_complex(graph, max_dim=None).replace(x=[x]), how)
    for k in range(1, K.dim + 1):
        gathered = x[K.simplices(k)]
        expected = gathered.sum(1) if how == "sum" else gathered.mean(1)
        torch.testing.assert_close(K.x[k], expected)


def test_feature_lifts_fill_every_dimension_asked_for():
    from torch_geometric.data import Data

    data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))
    K = lift_features(clique_complex(data, max_dim=3), "mean", 3)
    assert [tuple(x.shape) for x in K.x] == [(3, 3), (2, 3), (0, 3), (0, 3)]
    assert lift_features(clique_complexes([data, data]).union, "sum").x[1].tolist()[2:] == [
        [1, 1, 0],
        [0, 1, 1],
    ]


def test_features_already_there_stay():
    K = clique_complex(nx.complete_graph(3)).replace(x=[torch.ones(3, 1), torch.zeros(3, 5)])
    lifted = lift_features(K, "sum")
    assert lifted.x[1].shape == (3, 5)
    assert lifted.x[2].tolist() == [[3]]


def test_bad_feature_lifts():
    K = clique_complex(nx.complete_graph(3))
    with pytest.raises(ComplexError, match="vertex features"):
        lift_features(K)
    with pytest.raises(ComplexError, match="'sum' or 'mean', got 'max'"):
        lift_features(K, "max")
    with pytest.raises(ComplexError, match="floating-point features for a mean"):
        lift_features(K.replace(x=[torch.ones(3, 1, dtype=torch.int64)]), "mean")


def test_progress_is_shown_on_long_work_only(monkeypatch, capsys):
    clique_complex(nx.complete_graph(5))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(_shared, "DELAY", 0.0)
    monkeypatch.setattr(clique, "CHUNK", 4)
    clique_complex(nx.complete_graph(5))
    assert "Lifting to dimension 2" in capsys.readouterr().err


@pytest.mark.parametrize("lift", ["clique", "ring", "cube"])
def test_vertices_alone_have_no_features_of_edges(lift):
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_attr=torch.ones(2, 3), num_nodes=3)
    more = {"max_ring": 6} if lift == "ring" else {}
    K = getattr(mpsn, f"{lift}_complex")(data, max_dim=0, **more)
    assert K.x[1].shape == (0, 3)
    assert mpsn.collate([K, K]).counts == (6,)


def test_cliques_on_rings_need_a_third_dimension():
    with pytest.raises(GraphError, match=r"max_dim >= 3 for the lift 'cliques.rings', got 2"):
        Lift("cliques+rings", max_dim=2)
    assert Lift("cliques+rings", max_dim=3)(nx.complete_graph(4)).counts == (4, 6, 4, 1)


def test_a_small_result_needs_no_look_at_free_memory(monkeypatch):
    """Reading the limits of the machine takes as long as lifting a small graph."""
    asked = []
    monkeypatch.setattr(memory, "_free", lambda: asked.append(1) or iter([1 << 40]))
    assert ring_complex(nx.karate_club_graph(), 6, None).counts[:2] == (34, 78)
    assert not asked
    assert clique_complex(nx.complete_graph(60), max_dim=2).count(2) == 34220
    assert asked
