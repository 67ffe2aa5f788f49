"""Appendix "Cubical Complexes", and the cellular test (CWL): SWL on rings, cubes and other cells.

CWL with rings is stronger than WL, CWL with cliques and rings stronger than SWL, and marked
refinement at least as strong as the test without marks. Networks are never finer than their test,
and as fine with random weights.
"""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn import CubicalComplex
from mpsn.datasets import named_graph
from mpsn.lifting import Lift
from mpsn.nn.models import CIN, Marked
from mpsn.testing import complexes, graphs
from mpsn.wl import compare, equivalent, refines, swl, wl

LIFTS = ["cliques", "rings", "cliques+rings", "cubes"]
several = st.lists(graphs(8).filter(len), min_size=2, max_size=5)
SMALL = [G for G in nx.graph_atlas_g() if 0 < len(G) <= 6]
HARD = [nx.cycle_graph(8), nx.disjoint_union(*[nx.cycle_graph(4)] * 2)] + [
    named_graph(name)
    for name in ("decalin", "bicyclopentyl", "rook4x4", "shrikhande", "prism", "k3,3")
]


def classes(lift, many, **options):
    return swl(Lift.of(lift, max_dim=None).many(many), **options).classes()


def test_decalin_and_bicyclopentyl_are_told_apart_by_rings():
    found = compare(named_graph("decalin"), named_graph("bicyclopentyl"), ["wl", "swl", "rings"])
    assert [v.test for v in found if v.distinguished] == ["rings"]
    found = compare(
        named_graph("decalin"), named_graph("bicyclopentyl"), ["rings", "cubes"], max_ring=4
    )
    assert not any(v.distinguished for v in found)


def squares(*filled):
    """The graph of 3 by 3 points, with some of its four squares."""
    points = [(i, j) for i in range(3) for j in range(3)]
    number = {point: i for i, point in enumerate(points)}
    across = [(p, (p[0], p[1] + 1)) for p in points if p[1] < 2]
    down = [(p, (p[0] + 1, p[1])) for p in points if p[0] < 2]
    edge = {pair: i for i, pair in enumerate(across + down)}
    rows = []
    for i, j in filled:
        a, b, c, d = (i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1)
        rows.append([edge[b, d], edge[a, c], edge[a, b], edge[c, d]])
    return CubicalComplex(9, [[[number[q], number[p]] for p, q in edge], rows])


def test_cubical_complexes_with_one_graph():
    """Two squares of four, side by side or at a corner: graphs and clique complexes are equal."""
    K, L = squares((0, 0), (0, 1)), squares((0, 0), (1, 1))
    assert K.counts == L.counts == (9, 12, 2)
    assert K.skeleton(1) == L.skeleton(1)
    graph = [K.to_networkx(), L.to_networkx()]
    assert len(wl(graph).classes().unique()) == 1
    assert len(swl(mpsn.clique_complexes(graph, None)).classes().unique()) == 1
    assert len(swl([K, L]).classes().unique()) == 2
    assert len(swl([K, squares((1, 0), (1, 1))]).classes().unique()) == 1  # a symmetry


@pytest.mark.parametrize("lift", LIFTS)
def test_at_least_as_strong_as_wl(lift):
    """On all graphs of up to six vertices and some harder ones, and strictly."""
    many = [*SMALL, *HARD]
    fine, coarse = classes(lift, many), wl(many).classes()
    assert refines(fine, coarse)
    assert not refines(coarse, fine)


def test_cliques_and_rings_at_least_as_strong_as_swl():
    many = [*SMALL, *HARD]
    both = classes("cliques+rings", many)
    for lift in ("cliques", "rings"):
        assert refines(both, classes(lift, many))
    assert not refines(classes("cliques", many), both)
    wide = [named_graph("rook4x4"), named_graph("shrikhande")]
    assert len(swl(mpsn.ring_complexes(wide, 3)).classes().unique()) == 1
    assert len(swl(mpsn.ring_complexes(wide, 3, None)).classes().unique()) == 2


@settings(max_examples=40)
@given(several)
def test_the_same_on_random_graphs(many):
    coarse, cliques = wl(many).classes(), classes("cliques", many)
    for lift in LIFTS:
        assert refines(classes(lift, many), coarse)
    assert refines(classes("cliques+rings", many), cliques)
    assert refines(classes("cliques+rings", many), classes("rings", many))


@pytest.mark.parametrize("lift", ["cliques", "rings"])
def test_marks_can_only_help(lift):
    many = [*SMALL, *HARD]
    marked, plain = classes(lift, many, marks=1), classes(lift, many)
    assert refines(marked, plain)
    assert refines(marked, swl(mpsn.clique_complexes(many, 1), marks=1).classes())


@settings(max_examples=60)
@given(st.sampled_from(["simplicial", "cell", "cubical"]), st.integers(0, 1), st.data())
def test_stable_coboundaries_tell_as_much_as_upper_neighbors(kind, marks, data):
    """A co-face's color has those of its faces; a cell has w - 1 neighbors in one of w faces."""
    some = complexes(7, kind=kind).filter(lambda K: K.num_nodes)
    Ks = [K.bare() for K in data.draw(st.lists(some, min_size=1, max_size=3))]
    one, two = (swl(Ks, ("boundary", name), marks=marks) for name in ("coboundary", "upper"))
    assert equivalent(one.colors[-1], two.colors[-1])


def test_marks_do_help():
    many = [nx.cycle_graph(8), nx.disjoint_union(*[nx.cycle_graph(4)] * 2)]
    one = mpsn.clique_complexes(many, 1)
    assert [len(swl(one, marks=m).classes().unique()) for m in (0, 1)] == [1, 2]


def embed(model, K):
    with torch.no_grad():
        return model(K, [torch.full((n, 1), k + 1.0).double() for k, n in enumerate(K.counts)])


def partition(rows, tolerance):
    close = torch.cdist(rows, rows, p=torch.inf) <= tolerance * rows.abs().max()
    return close.to(torch.int8).argmax(dim=1)  # the first that is equal


def network(kind, K, seed=0):
    torch.manual_seed(seed)
    model = CIN(in_channels=1 + (kind == "marked"), max_dim=max(K.dim, 0), layers=6, act="tanh")
    model = model.double()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not name.startswith("readout"):
                weight.mul_(2)
    return Marked(model) if kind == "marked" else model


@pytest.mark.parametrize("kind", ["plain", "marked"])
@pytest.mark.parametrize("lift", LIFTS)
def test_networks_are_as_fine_as_their_test(kind, lift):
    many = [*(G for G in SMALL if len(G) == 5), *HARD[:4]]
    lifted = Lift.of(lift, max_dim=None).many(many)
    test = swl(lifted, marks=int(kind == "marked")).classes()
    rows = embed(network(kind, lifted.union), lifted.union)
    found = partition(rows, 1e-11)
    assert equivalent(test, found)


@pytest.mark.parametrize("kind", ["plain", "marked"])
@settings(max_examples=25)
@given(data=st.data())
def test_networks_are_never_finer_than_their_test(kind, data):
    cells = data.draw(st.sampled_from(["simplicial", "cell", "cubical"]))
    some = complexes(6, kind=cells).filter(lambda K: K.num_nodes)
    Ks = data.draw(st.lists(some, min_size=2, max_size=4))
    K = mpsn.collate([K.bare() for K in Ks])
    test = swl(K, marks=int(kind == "marked")).classes()
    rows = embed(network(kind, K), K)
    for i, j in torch.combinations(torch.arange(len(Ks))).tolist():
        if test[i] == test[j]:
            assert torch.dist(rows[i], rows[j]) <= 1e-9 * rows.norm()
