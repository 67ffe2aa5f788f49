"""Individualization and refinement, against its definition and on pairs known to be hard."""

import os
from itertools import combinations
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
import wl_twins
from mpsn.datasets import named_graph, read_graphs
from mpsn.errors import MPSNError, TooLargeError
from mpsn.testing import complexes
from mpsn.wl import _individualized, _partitions_cpu, individualized, isomorphic, swl

some = complexes(6).filter(lambda K: K.num_nodes)
several = st.sampled_from(["simplicial", "cell", "cubical"]).flatmap(
    lambda kind: st.lists(
        complexes(6, kind=kind).filter(lambda K: K.num_nodes), min_size=1, max_size=3
    )
)


def same(one, two):
    """Return whether two lists have equal entries at the same places."""
    return all(
        (one[i] == one[j]) == (two[i] == two[j]) for i, j in combinations(range(len(one)), 2)
    )


def shuffled(K, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return K.permute({k: torch.randperm(n, generator=generator) for k, n in enumerate(K.counts)})


def chosen_class(Ks):
    """Return a function to ask which vertices are marked next; checks that they are most alike."""
    graphs, counts = _individualized._graphs(mpsn.collate([K.bare() for K in Ks]))
    flat = all(K.dim < 2 for K in Ks)

    def branch(i, marks):
        refiner = _individualized.Refiner(graphs, int(counts[i].sum()))
        partition = refiner.stable(i)
        for _, v in marks:
            partition = refiner.single_out(i, v, partition)
        first = [{c: (c[0], marks.index(c) if c in marks else -1) for c in wl_twins.cells(Ks[i])}]
        (colors,) = wl_twins.cwl([wl_twins.cells(Ks[i])], first=first)[-1]
        vertices = [c for c in colors if c[0] == 0]
        start = partition[_partitions_cpu.START].tolist()
        assert same([colors[c] for c in vertices], start[: len(vertices)])
        if not flat:
            assert same(list(colors.values()), start)
        s, number = _partitions_cpu.choices(partition, int(counts[i, 0]), False)
        members = [c for c in vertices if start[c[1]] == s][:number]
        classes = [sum(colors[c] == colors[v] for c in vertices) for v in vertices]
        assert len(members) == number == (0 if max(classes) == 1 else max(classes))
        return members

    return branch


@settings(max_examples=40)
@given(several, st.integers(0, 2), st.sampled_from([0, 60]))
def test_as_defined(Ks, depth, shift):
    """Also with hashes of four bits, which collide."""
    Ks = [*Ks, shuffled(Ks[0])]
    theirs = wl_twins.individualized([*map(wl_twins.cells, Ks)], depth, chosen_class(Ks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_individualized, "SHIFT", shift)
        ours = individualized(Ks, depth)
    for d in range(depth + 1):
        assert same(ours.classes(d).tolist(), theirs[d])


@settings(max_examples=40)
@given(several, st.integers(0, 2))
def test_all_vertices_as_defined(Ks, depth):
    """Marking all vertices in turn, which is at least as powerful as as many marks."""
    Ks = [*Ks, shuffled(Ks[0])]
    cells = [*map(wl_twins.cells, Ks)]
    vertices = [[c for c in faces if c[0] == 0] for faces in cells]
    theirs = wl_twins.individualized(cells, depth, lambda i, marks: vertices[i])
    ours = individualized(Ks, depth, branch="all")
    for d in range(depth + 1):
        assert same(ours.classes(d).tolist(), theirs[d])
    assert mpsn.wl.refines(ours.classes(), swl(Ks, marks=depth).classes())


@settings(max_examples=40)
@given(some | complexes(7, kind="cubical").filter(lambda K: K.num_nodes), st.integers(0, 9))
def test_copies_share_a_color_at_every_depth(K, seed):
    r = individualized([K, *(shuffled(K, seed + i) for i in range(10))], 2)
    for d in range(3):
        assert len(r.classes(d).unique()) == 1


@settings(max_examples=40)
@given(several)
def test_depth_0_is_swl_and_more_depth_only_refines(Ks):
    r = individualized(Ks, 2)
    assert same(r.classes(0).tolist(), swl(Ks).classes().tolist())
    for d in (0, 1):
        assert mpsn.wl.refines(r.classes(d + 1), r.classes(d))
    assert r.rounds == 2
    assert len(r.colors[0][0]) == r.num_complexes == len(Ks)


LARGER = [
    *(nx.gnp_random_graph(40, p, seed=seed) for p in (0.03, 0.06, 0.1) for seed in range(6)),
    *(nx.random_regular_graph(3, 40, seed=seed) for seed in range(6)),
    *(nx.random_labeled_tree(40, seed=seed) for seed in range(12)),
    nx.disjoint_union(nx.path_graph(20), nx.path_graph(20)),
    nx.grid_2d_graph(6, 6),
    nx.full_rary_tree(3, 40),
]


@pytest.mark.parametrize("number", range(len(LARGER)))
def test_partitions_are_those_of_color_refinement(number):
    """With several marks, one after another; a shuffled copy gets a partition that agrees."""
    K = mpsn.clique_complex(nx.convert_node_labels_to_integers(LARGER[number]), 1)
    order = torch.randperm(K.num_nodes, generator=torch.Generator().manual_seed(number))
    L = K.permute({0: order})
    graphs, (counts, _) = _individualized._graphs(mpsn.collate([K, L]))
    refiner = _individualized.Refiner(graphs, int(counts.sum()))
    one, two = refiner.stable(0), refiner.stable(1)
    colors = torch.zeros(K.num_nodes, dtype=torch.int64)
    for mark, v in enumerate([*range(0, 40, 9), None], 1):
        (stable,) = mpsn.wl.wl(K.to_networkx(), colors).colors[-1]
        starts = torch.from_numpy(one[_partitions_cpu.START].astype(int))
        assert mpsn.wl.equivalent(stable, starts)
        assert refiner.agree(0, one[_partitions_cpu.START], 1, two)
        if v is not None and v < K.num_nodes:
            colors[v] = mark
            one = refiner.single_out(0, v, one)
            two = refiner.single_out(1, int((order == v).nonzero()), two)


def depth_of(G, H, max_dim=1, most=4):
    """Return the depth that distinguishes two graphs, and not their shuffled copies; or None."""
    Ks = mpsn.clique_complexes([G, H], max_dim)
    Ks = [Ks[0], Ks[1], shuffled(Ks[0], 1), shuffled(Ks[1], 2)]
    r = individualized(Ks, most)
    for d in range(most + 1):
        a, b, c, e = r.classes(d).tolist()
        assert (a, b) == (c, e)
        if a != b:
            return d
    return None


def cfi(graph, twisted):
    """Return the graph of Cai, Fürer and Immerman over a graph: sets of edges of even size."""
    G, first = nx.Graph(), next(iter(graph.edges))
    for v in graph:
        edges = [tuple(sorted(edge)) for edge in graph.edges(v)]
        odd = twisted and v == first[0]
        for size in range(odd, len(edges) + 1, 2):
            for inside in combinations(edges, size):
                G.add_edges_from(((v, inside), (v, edge, edge in inside)) for edge in edges)
    G.add_edges_from(
        ((u, edge, side), (v, edge, side))
        for edge in map(tuple, map(sorted, graph.edges))
        for u, v in [edge]
        for side in (True, False)
    )
    return nx.convert_node_labels_to_integers(G)


@pytest.mark.parametrize(
    ("one", "two", "depth"),
    [
        (named_graph("hexagon"), named_graph("two-triangles"), 1),
        (named_graph("decalin"), named_graph("bicyclopentyl"), 1),
        (nx.circulant_graph(41, [1, 2]), nx.circulant_graph(41, [1, 9]), 1),
        (named_graph("rook4x4"), named_graph("shrikhande"), 2),
        (named_graph("t8"), named_graph("chang1"), 2),
        (cfi(nx.complete_graph(3), False), cfi(nx.complete_graph(3), True), 1),
        (cfi(nx.complete_graph(4), False), cfi(nx.complete_graph(4), True), 2),
    ],
    ids=["cycles", "molecules", "skip links", "rook", "chang", "CFI of K3", "CFI of K4"],
)
def test_known_pairs(one, two, depth):
    assert depth_of(one, two) == depth
    assert not isomorphic(one, two)


def test_cliques_help():
    rook, shrikhande = named_graph("rook4x4"), named_graph("shrikhande")
    assert [depth_of(rook, shrikhande, max_dim) for max_dim in (1, 2, 3)] == [2, 1, 0]


def test_isomorphic_complexes_are_branched_once():
    K = mpsn.clique_complex(named_graph("shrikhande"), 1)
    many = [K, *(shuffled(K, seed) for seed in range(8))]
    assert len(individualized(many, 3).classes().unique()) == 1
    # At depth 3 partitions have single vertices only, and the first of a copy says what it is.
    pair, nine = ([individualized(Ks, d).refinements for d in (2, 3)] for Ks in (many[:2], many))
    assert nine[1] - nine[0] < 1.1 * (pair[1] - pair[0])


def test_many_in_a_call_are_as_two_by_two():
    names = ["hexagon", "two-triangles", "prism", "k3,3", "rook4x4", "shrikhande", "hexagon"]
    Ks = [mpsn.clique_complex(named_graph(name), 1) for name in names]
    labels = individualized(Ks, 2).classes().tolist()
    for i, j in combinations(range(len(Ks)), 2):
        one, two = individualized([Ks[i], Ks[j]], 2).classes().tolist()
        assert (one == two) == (labels[i] == labels[j])


def test_stable_means_that_no_depth_helps():
    path = mpsn.clique_complex(nx.path_graph(4))
    r = individualized([path, path], 1)
    assert (r.stable, r.classes().tolist()) == (True, [0, 0])
    grid = mpsn.clique_complex(nx.complete_graph(5), 1)
    assert not individualized([grid, grid], 1).stable


def test_nothing_to_branch_on():
    point = mpsn.clique_complex(nx.empty_graph(1))
    assert individualized(point, 3).classes().tolist() == [0]
    points = [mpsn.clique_complex(nx.empty_graph(n)) for n in (3, 3, 2)]
    labels = individualized(points, 3).classes().tolist()
    assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"depth": -1}, "Expected depth >= 0 as an integer, got -1"),
        ({"depth": True}, "Expected depth >= 0 as an integer, got True"),
        ({"depth": 1.5}, "Expected depth >= 0 as an integer, got 1.5"),
        ({"branch": "smallest"}, "Expected branch 'largest' or 'all', got 'smallest'"),
    ],
)
def test_bad_options(options, match):
    with pytest.raises(MPSNError, match=match):
        individualized(mpsn.clique_complex(nx.path_graph(2)), **options)
    with pytest.raises(MPSNError, match="Expected complexes, got <networkx"):
        individualized(nx.path_graph(2))


def test_what_would_not_fit_is_refused_with_its_count(monkeypatch):
    Ks = mpsn.clique_complexes([named_graph("rook4x4"), named_graph("shrikhande")], 1)
    monkeypatch.setattr(_individualized, "available_memory", lambda device: 2000)
    with pytest.raises(TooLargeError, match="got 288 refinements of 16 cells at depth 2, which"):
        individualized(Ks, 2)


DEPTHS = {0: 1, 60: 1, 110: 2, 159: 2, 160: 1, 260: 1, 290: 2, 340: 3, 354: 4, 360: 2, 398: 3}


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs MPSN_DATA")
@pytest.mark.parametrize(("pair", "depth"), DEPTHS.items())
def test_pairs_of_brec(pair, depth):
    """The graphs alone; pair 354 takes 60 000 refinements."""
    graphs = read_graphs(Path(os.environ["MPSN_DATA"]) / "brec/brec_pairs.g6")
    r = individualized(mpsn.clique_complexes(graphs[2 * pair : 2 * pair + 2], 1), 4)
    assert [d for d in range(5) if len(r.classes(d).unique()) == 1] == list(range(depth))
