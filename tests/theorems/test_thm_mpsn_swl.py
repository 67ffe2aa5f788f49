"""Lemma 9 and Theorem 10: MPSNs are at most as powerful as SWL, and can be as powerful.

At most: the general layer with any functions. As powerful: SIN with random weights, where SWL uses
boundaries and upper neighbors (Theorem 6). On cells and cubes, SIN is CIN and SWL is CWL.
"""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn import nn
from mpsn.testing import complexes
from mpsn.wl import equivalent, refines, swl

ROUNDS = 6
some = (complexes(8) | complexes(8, kind="cell")).filter(lambda K: K.num_nodes)


def sin_features(K, layers, seed=0, **options):
    """Run random layers, each brought back to a sane scale; yield features per layer."""
    torch.manual_seed(seed)
    max_dim = max(K.dim, 0)
    hs = [torch.full((n, 1), k + 1.0, dtype=torch.float64) for k, n in enumerate(K.counts)]
    for i in range(layers):
        conv = nn.CINConv(1 if i == 0 else 16, 16, max_dim, eps=0.37, **options).double()
        with torch.no_grad():
            hs = [h / h.abs().max().clamp(min=1e-300) if len(h) else h for h in conv(K, hs)]
        yield hs


def classes(h, tolerance):
    """Return which rows agree: for each row the first equal."""
    return (torch.cdist(h, h, p=torch.inf) < tolerance).byte().argmax(1) if len(h) else h[:, 0]


def check_equal(K):
    rounds = swl(K, rounds=ROUNDS).colors[1:]
    for colors, hs in zip(rounds, sin_features(K, ROUNDS), strict=True):
        assert equivalent(colors, [classes(h, 1e-9) for h in hs[: len(colors)]])


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@settings(max_examples=60)
@given(data=st.data())
def test_sin_partitions_equal_swl_round_by_round(kind, data):
    check_equal(data.draw(complexes(max_vertices=8, kind=kind).filter(lambda K: K.num_nodes)))


@pytest.mark.parametrize("seed", range(4))
def test_on_larger_clique_complexes(seed):
    graph = nx.gnp_random_graph(16, 0.35, seed=seed)
    check_equal(mpsn.clique_complex(graph, max_dim=None))
    regular = nx.random_regular_graph(4, 14, seed=seed)
    check_equal(mpsn.clique_complex(regular, max_dim=None))
    check_equal(mpsn.ring_complex(regular, max_ring=6))


@settings(max_examples=30)
@given(some)
def test_never_finer_than_swl_whatever_the_variant(K):
    for options in ({"coface_message": False, "act": "relu"}, {"act": "tanh", "train_eps": True}):
        check_not_finer(sin_features(K, 3, **options), swl(K, rounds=3).colors[1:])
    stable = swl(K).colors[-1]
    check_not_finer(sin_features(K, 3, lower=True), [stable] * 3)  # sooner, but with no more power


def check_not_finer(layers, rounds):
    """Rows that SWL cannot distinguish are equal, round by round."""
    for hs, colors in zip(layers, rounds, strict=True):
        assert refines(colors, [classes(h, 1e-9) for h in hs[: len(colors)]])


def general_features(K, layers, aggr, seed=0):
    """Run random layers with all four messages, each of all that it may use."""
    torch.manual_seed(seed)
    width = 4
    hs = [torch.full((n, width), k + 1.0, dtype=torch.float64) for k, n in enumerate(K.counts)]
    parts = len(aggr) if isinstance(aggr, list) else 1
    for _ in range(layers):
        weights = [torch.randn(n * width, width).double() for n in (2, 2, 3, 3, 1 + 4 * parts)]

        def mix(i, *features, weights=weights):
            return torch.sin(torch.cat(features, dim=1) @ weights[i])

        layer = nn.MPSNConv(
            lambda receiver, boundary, coboundary, lower, upper: mix(
                4, receiver, boundary, coboundary, lower, upper
            ),
            boundary=lambda receiver, sender: mix(0, receiver, sender),
            coboundary=lambda receiver, sender: mix(1, receiver, sender),
            lower=lambda receiver, sender, shared: mix(2, receiver, sender, shared),
            upper=lambda receiver, sender, shared: mix(3, receiver, sender, shared),
            aggr=aggr,
        )
        hs = layer(K, hs)
        yield hs


@pytest.mark.parametrize("aggr", ["sum", "mean", "max", ["min", "var"]], ids=str)
@settings(max_examples=25)
@given(some)
def test_no_mpsn_is_finer_than_swl(aggr, K):
    """Lemma 9: any messages, aggregation and update, against the test with all four adjacencies."""
    four = ("boundary", "coboundary", "lower", "upper")
    check_not_finer(general_features(K, 3, aggr), swl(K, four, rounds=3).colors[1:])


ROOK = nx.line_graph(nx.complete_bipartite_graph(4, 4))
STEPS = [(0, 1), (1, 0), (1, 1), (0, 3), (3, 0), (3, 3)]
SHRIKHANDE = nx.Graph(
    ((a, b), ((a + x) % 4, (b + y) % 4)) for a in range(4) for b in range(4) for x, y in STEPS
)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("max_ring", [3, 4, 6])
def test_cin_distinguishes_what_cwl_does_and_no_more(max_ring, lower):
    decalin = nx.Graph(nx.cycle_graph(10).edges | {(0, 5)})
    bicyclopentyl = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    bicyclopentyl.add_edge(0, 5)
    regular = [nx.random_regular_graph(3, 10, seed=seed) for seed in range(12)]
    graphs = [ROOK, SHRIKHANDE, decalin, bicyclopentyl, nx.petersen_graph(), *regular]
    data = mpsn.ring_complexes(graphs, max_ring)
    exact = swl(data).classes()
    assert (exact[0] == exact[1]) == (max_ring == 3)  # Shrikhande has no induced 4-cycles
    assert (exact[2] == exact[3]) == (max_ring < 5)
    *_, hs = sin_features(data.union, 10, lower=lower)
    pooled = torch.cat([nn.global_pool(data.union, k, h) for k, h in enumerate(hs)], dim=1)
    assert equivalent(classes(pooled / pooled.abs().amax(0).clamp(min=1e-300), 1e-8), exact)


def test_sin_separates_what_wl_cannot():
    """Corollary 11: the 4x4 rook's graph and the Shrikhande graph, where GIN fails."""
    K = mpsn.clique_complexes([ROOK, SHRIKHANDE], max_dim=3).batch([0, 1])
    K = mpsn.lift_features(
        K.replace(x=[torch.ones(32, 1, dtype=torch.float64)]), how="sum", max_dim=3
    )
    torch.manual_seed(0)
    a, b = nn.models.SIN(max_dim=3).double()(K)
    assert torch.dist(a, b) > 0.01
    a, b = nn.models.GIN().double()(K)
    assert torch.dist(a, b) < 1e-9
