"""Lemma 9 and Theorem 10: MPSNs are at most as powerful as SWL, and can be as powerful.

The MPSN is SIN with random weights; SWL uses boundaries and upper neighbors (Theorem 6). On cells
and cubes, SIN is CIN and SWL is CWL.
"""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn import nn
from mpsn.testing import complexes

ROUNDS = 6


def swl(K, rounds):
    """Refine colors by whole signatures, round by round; yield the colors of each dimension."""
    top = range(K.dim + 1)
    colors = [[0] * n for n in K.counts]
    rows = [
        [face.tolist() for face in B.face.split(B.offsets.diff().tolist())]
        for B in map(K.incidence, top)
    ]
    for _ in range(rounds):
        above = [[[] for _ in row] for row in colors]
        for k in top[1:]:
            for d, row in enumerate(rows[k]):
                for f in row:
                    above[k - 1][f] += [(colors[k - 1][g], colors[k][d]) for g in row if g != f]
        below = [[sorted(colors[k - 1][f] for f in row) for row in rows[k]] for k in top]
        signs = [
            [(c, tuple(b), tuple(sorted(a))) for c, b, a in zip(*parts, strict=True)]
            for parts in zip(colors, below, above, strict=True)
        ]
        names = [{s: i for i, s in enumerate(sorted(set(row)))} for row in signs]
        colors = [[names[k][s] for s in row] for k, row in enumerate(signs)]
        yield colors


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
    """Return which rows agree, as a partition: for each row its first equal."""
    if len(h) == 0:
        return []
    return [int(row.nonzero()[0]) for row in torch.cdist(h, h, p=torch.inf) < tolerance]


def as_partition(colors):
    first = {}
    return [first.setdefault(c, i) for i, c in enumerate(colors)]


def check_equal(K):
    for colors, hs in zip(swl(K, ROUNDS), sin_features(K, ROUNDS), strict=True):
        for k, h in enumerate(hs[: K.dim + 1]):
            assert classes(h, 1e-9) == as_partition(colors[k])


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@settings(max_examples=60)
@given(data=st.data())
def test_sin_partitions_equal_swl_round_by_round(kind, data):
    check_equal(data.draw(complexes(max_vertices=8, kind=kind)))


@pytest.mark.parametrize("seed", range(4))
def test_on_larger_clique_complexes(seed):
    graph = nx.gnp_random_graph(16, 0.35, seed=seed)
    check_equal(mpsn.clique_complex(graph, max_dim=None))
    regular = nx.random_regular_graph(4, 14, seed=seed)
    check_equal(mpsn.clique_complex(regular, max_dim=None))
    check_equal(mpsn.ring_complex(regular, max_ring=6))


@settings(max_examples=30)
@given(complexes(max_vertices=8) | complexes(max_vertices=8, kind="cell"))
def test_never_finer_than_swl_whatever_the_variant(K):
    for options in ({"coface_message": False, "act": "relu"}, {"act": "tanh", "train_eps": True}):
        for colors, hs in zip(swl(K, 3), sin_features(K, 3, **options), strict=True):
            check_not_finer(hs, colors)
    *_, stable = swl(K, K.num_nodes + 3)
    for hs in sin_features(K, 3, lower=True):  # lower neighbors come sooner, but add no power
        check_not_finer(hs, stable)


def check_not_finer(hs, colors):
    """Rows that SWL cannot distinguish are equal."""
    for k, row_colors in enumerate(colors):
        first = classes(hs[k], 1e-9)
        for row, twin in enumerate(as_partition(row_colors)):
            assert first[row] == first[twin]


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
    exact = as_partition(mpsn.wl.swl(data).classes().tolist())
    assert (exact[0] == exact[1]) == (max_ring == 3)  # Shrikhande has no induced 4-cycles
    assert (exact[2] == exact[3]) == (max_ring < 5)
    *_, hs = sin_features(data.union, 10, lower=lower)
    pooled = torch.cat([nn.global_pool(data.union, k, h) for k, h in enumerate(hs)], dim=1)
    assert classes(pooled / pooled.abs().amax(0).clamp(min=1e-300), 1e-8) == exact


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
