"""The power of the baseline networks: what they are invariant to, separate, and cannot separate."""

import itertools

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn import GCNConv

import mpsn
from mpsn.datasets import strongly_regular
from mpsn.nn.models import GIN
from mpsn.wl import kfwl, wl
from mpsn_reproduction.baselines import BASELINES, _pairs, make_baseline
from mpsn_reproduction.baselines.gsn import SHAPES, substructures
from mpsn_reproduction.baselines.ign import EquivariantLinear
from mpsn_reproduction.baselines.ngn import Neighborhoods
from mpsn_reproduction.settings import Network

SMALL = Network(GIN, in_channels=2, hidden=8, out_channels=4, layers=3, act="tanh")
PAIR = [nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))]


def build(name, settings=SMALL):
    torch.manual_seed(0)
    network = settings() if name == "gin" else make_baseline(name, settings)
    return network.double().eval().requires_grad_(False)


def lift(graph, x=None):
    K = mpsn.clique_complex(graph, max_dim=None)
    x = torch.ones(K.num_nodes, 2) if x is None else x
    return K.replace(x=[x.double()])


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 6))
    pairs = list(itertools.combinations(range(n), 2))
    graph = nx.empty_graph(n)
    graph.add_edges_from(p for p in pairs if draw(st.booleans()))
    x = torch.tensor(draw(st.lists(st.integers(0, 2), min_size=2 * n, max_size=2 * n)))
    return graph, x.view(n, 2)


@settings(max_examples=10)
@given(one=graphs(), others=st.lists(graphs(), max_size=2), seed=st.integers(0, 99))
@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_invariant_to_order_and_to_the_rest_of_the_batch(name, readout, one, others, seed):
    """A graph has one embedding: alone, relabeled, or padded in a batch with larger graphs."""
    network = build(name, SMALL.replace(readout=readout, norm=True, jump=True))
    graph, x = one
    order = torch.randperm(len(graph), generator=torch.Generator().manual_seed(seed))
    turned = nx.empty_graph(len(graph))
    turned.add_edges_from((int(order[i]), int(order[j])) for i, j in graph.edges)
    y = torch.empty_like(x)
    y[order] = x
    alone = network(lift(graph, x))
    batch = mpsn.collate([*(lift(*other) for other in others), lift(turned, y)])
    torch.testing.assert_close(network(batch)[-1:], alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["ign", "ppgn"])
def test_parts_bound_the_memory_and_change_nothing(name, monkeypatch):
    network = build(name)
    batch = mpsn.collate([lift(nx.path_graph(n)) for n in (5, 2, 7, 0, 3, 7)])
    whole = network(batch)
    sizes = []

    class Watched(_pairs.Pairs):
        def __init__(self, sizes_of_graphs):
            super().__init__(sizes_of_graphs)
            sizes.append(len(self.first) * SMALL.hidden)

    monkeypatch.setattr(_pairs, "Pairs", Watched)
    monkeypatch.setattr(_pairs, "NUMBERS", 60 * SMALL.hidden)
    torch.testing.assert_close(network(batch), whole, rtol=1e-12, atol=1e-12)
    assert len(sizes) > 2
    assert max(sizes) <= _pairs.NUMBERS
    network.train()(batch)
    assert sizes[-1] > _pairs.NUMBERS


@settings(max_examples=25)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_products_of_pairs_are_those_of_matrices(sizes):
    pairs = _pairs.Pairs(torch.tensor(sizes))
    left, right = torch.randn(2, sum(n * n for n in sizes), 3, dtype=torch.float64)
    expected = [
        torch.einsum("ijf,jkf->ikf", A.view(n, n, 3), B.view(n, n, 3)).reshape(n * n, 3)
        for n, A, B in zip(
            sizes, *(h.split([n * n for n in sizes]) for h in (left, right)), strict=True
        )
    ]
    torch.testing.assert_close(pairs.product(left, right), torch.cat(expected))


def test_the_layer_of_ign_spans_all_equivariant_maps():
    """For n = 4: 15 independent maps, each equivariant, and there are no others (Theorem 1)."""
    n, layer = 4, EquivariantLinear(1, 1).double()
    pairs = _pairs.Pairs(torch.full((n * n,), n))  # a copy for each unit matrix
    units = torch.eye(n * n, dtype=torch.float64).view(-1, 1)
    weights = [part.weight for part in layer.children()]
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        maps = []
        for weight in weights:
            for entry in weight[0]:
                entry.fill_(1)
                maps.append(layer(units, pairs).view(n * n, n * n))
                entry.zero_()
    turns = [torch.eye(n, dtype=torch.float64)[list(p)] for p in itertools.permutations(range(n))]
    turns = [torch.kron(P, P) for P in turns]
    assert len(maps) == 15 == torch.linalg.matrix_rank(torch.stack(maps).flatten(1))
    assert all(torch.allclose(P @ M, M @ P) for P in turns for M in maps)
    eye = torch.eye(n * n, dtype=torch.float64)
    commute = torch.cat([torch.kron(P, eye) - torch.kron(eye, P.T.contiguous()) for P in turns])
    assert n**4 - torch.linalg.matrix_rank(commute.T @ commute) == 15
    biases = [part.bias for part in layer.children() if part.bias is not None]
    assert len(biases) == 2  # everywhere, and on the diagonal


def distance(name, pair):
    one, two = build(name)(mpsn.collate([lift(graph) for graph in pair]))
    return float((one - two).norm())


def test_ppgn_natural_networks_and_gsn_separate_what_wl_and_ign_do_not():
    assert len(wl(PAIR).classes().unique()) == 1
    assert len(kfwl(PAIR, 2).classes().unique()) == 2
    assert max(distance(name, PAIR) for name in ("gin", "ign")) < 1e-12
    assert min(distance(name, PAIR) for name in ("ppgn", "ngn", "gsn")) > 1e-6


def test_cliques_help_gsn_where_2fwl_does_not():
    """The rook's graph has 4-cliques, the Shrikhande graph none; 3-WL does not separate them."""
    pair = [lift(graph, torch.ones(16, 2)) for graph in strongly_regular(16, 6, 2, 2)]
    for name, least, most in (("ign", 0, 1e-12), ("ppgn", 0, 1e-12), ("gsn", 1e-6, 1e4)):
        one, two = build(name)(mpsn.collate(pair))
        assert least <= float((one - two).norm()) <= most


@settings(max_examples=25)
@given(graphs())
def test_substructures_are_those_of_networkx(drawn):
    graph, _ = drawn
    cliques = substructures(mpsn.clique_complex(graph, max_dim=None))
    rings = substructures(mpsn.ring_complex(graph, max_ring=6))
    found = [c for c in nx.enumerate_all_cliques(graph) if len(c) > 2]
    for column, (dim, size) in enumerate(SHAPES):
        mine = [c for c in found if len(c) == size and dim == size - 1]
        assert cliques[:, column].tolist() == [sum(v in c for c in mine) for v in graph]
    cycles = list(nx.chordless_cycles(graph))
    for column, (dim, size) in enumerate(SHAPES):
        mine = [c for c in cycles if len(c) == size and dim == 2]
        assert rings[:, column].tolist() == [sum(v in c for c in mine) for v in graph]


@settings(max_examples=25)
@given(graphs())
def test_neighborhoods_of_edges_are_induced_subgraphs(drawn):
    graph, _ = drawn
    near = Neighborhoods.of(mpsn.clique_complex(graph))
    center = near.sum.cell
    assert torch.equal(near.sum.face, torch.arange(len(center)))
    pairs = list(zip(center.tolist(), near.member.tolist(), strict=True))
    around = {p: {p, *graph[p]} for p in graph}
    assert pairs == sorted((p, w) for p in graph for w in around[p])
    rows = [(p, q, w) for p, q in pairs for w in sorted(around[p] | around[q])]
    one = torch.eye(len(pairs) + 1, dtype=torch.float64)[:, :-1]  # the last row is 0
    where = {pair: i for i, pair in enumerate(pairs)}
    assert torch.equal(
        near.sent.from_faces(one[:-1]), one[[where.get((p, w), -1) for p, _, w in rows]]
    )
    assert torch.equal(
        near.received.from_faces(one[:-1]), one[[where.get((q, w), -1) for _, q, w in rows]]
    )
    assert near.marks.tolist() == [[w == p, w == q] for p, q, w in rows]
    ends = torch.stack([near.graph.cell, near.graph.face])
    edge_index = ends[:, ends[0] != ends[1]]
    edges = {(rows[i][:2], rows[i][2], rows[j][2]) for i, j in edge_index.T.tolist()}
    assert len(edges) == edge_index.shape[1] == ends.shape[1] - len(rows)
    assert edges == {
        ((p, q), u, w)
        for p, q in pairs
        for u, w in itertools.permutations(around[p] | around[q], 2)
        if graph.has_edge(u, w)
    }
    conv, x = GCNConv(3, 2).double(), torch.randn(len(rows), 3, dtype=torch.float64)
    torch.testing.assert_close(near.gcn(conv, x), conv(x, edge_index))
