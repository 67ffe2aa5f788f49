"""What refinements give back, palettes, initial colors, and bad input."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import mpsn
from mpsn import MPSNError, SimplicialComplex
from mpsn.errors import TooLargeError
from mpsn.wl import Palette, kfwl, kwl, swl, wl
from mpsn.wl._refinement import Painter

TRIANGLE = SimplicialComplex.from_simplices([[0, 1, 2]])
TAILED = SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]])


def test_a_triangle_with_a_tail_by_hand():
    r = swl(TAILED)
    assert r.stable
    assert [r.num_colors(t) for t in range(r.rounds + 1)] == [
        (1, 1, 1),
        (3, 2, 1),  # degrees 1, 2, 3; edges inside a triangle or not
        (3, 3, 1),  # inside edges with or without vertex 2
        (3, 3, 1),
    ]
    assert [part.tolist() for part in sorted(r.partition(0), key=len)][-1] == [0, 1]
    assert sorted(len(part) for part in r.partition(1)) == [1, 1, 2]
    (histogram,) = r.histograms
    assert [sorted(counts.values()) for counts in histogram] == [[1, 1, 2], [1, 1, 2], [1]]
    assert "complexes=1, rounds=3, colors=(3, 3, 1)" in repr(r)


def test_one_complex_a_list_a_union_and_a_dataset_are_all_taken():
    both = [TRIANGLE, TAILED]
    results = [swl(both), swl(mpsn.collate(both)), swl(mpsn.ComplexDataset(both))]
    assert results[0].histograms == results[1].histograms == results[2].histograms
    assert swl(TRIANGLE).num_complexes == 1


def test_what_does_not_count_need_not_agree():
    """Labels, features and orientations of complexes, features of graphs."""
    labeled = TAILED.replace(y=1, x=[torch.ones(4, 2)]).flip({1: torch.ones(4, dtype=bool)})
    one, two = swl([labeled, TAILED]).histograms
    assert one == two
    edges = torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]])
    data = Data(edge_index=edges, x=torch.ones(4, 3), y=torch.tensor([1]))
    other = Data(edge_index=edges, x=torch.ones(4, 1), edge_attr=torch.ones(4, 2))
    found = mpsn.wl.compare(data, other)
    assert found.isomorphic
    assert not any(verdict.distinguished for verdict in found)
    assert mpsn.wl.equivalence_classes([data, other, TAILED.to_networkx()]).truth == [[0, 1, 2]]


def test_features_that_differ_in_kind_are_refused():
    one, two = (TRIANGLE.replace(x=[torch.ones(3, width)]) for width in (1, 2))
    for other in (two, TRIANGLE):
        with pytest.raises(MPSNError, match="x\\[0\\]"):
            swl([one, other], initial="features")


def test_histograms_end_with_the_dimension_of_the_complex():
    point = SimplicialComplex(1)
    assert [len(h) for h in swl([point, TAILED, TRIANGLE]).histograms] == [1, 3, 3]
    assert swl(point).histograms == [({swl(point).colors[-1][0].item(): 1},)]


def test_nothing_to_refine():
    r = swl([])
    assert (r.num_complexes, r.histograms, r.classes().tolist()) == (0, [], [])
    assert wl([]).histograms == wl([], []).histograms == []


def test_no_adjacency_is_counting():
    r = swl([TRIANGLE, TAILED], adjacencies=())
    assert r.rounds == 1
    assert r.num_colors(1) == (1, 1, 1)


def test_rounds_can_be_set():
    assert swl(TAILED, rounds=0).rounds == 0
    cut, on = swl(TAILED, rounds=1), swl(TAILED, rounds=6)
    assert (cut.rounds, cut.stable, on.rounds, on.stable) == (1, False, 6, True)
    assert on.num_colors(6) == (3, 3, 1)


def test_isolated_vertices_and_missing_dimensions():
    r = wl([nx.empty_graph(3), nx.path_graph(3)])
    assert [sorted(v.values()) for (v,) in r.histograms] == [[3], [1, 2]]
    assert swl(SimplicialComplex(3)).num_colors(0) == (1,)


# Palettes ------------------------------------------------------------------------------------

RUNS = {
    "swl": lambda K, p: swl(K, palette=p),
    "swl-all": lambda K, p: swl(K, ("boundary", "coboundary", "lower", "upper"), palette=p),
    "wl": lambda K, p: wl([L.to_networkx() for L in K], palette=p),
    "2-wl": lambda K, p: kwl([L.to_networkx() for L in K], 2, palette=p),
    "3-wl": lambda K, p: kwl([L.to_networkx() for L in K], 3, palette=p),
    "2-fwl": lambda K, p: kfwl([L.to_networkx() for L in K], 2, palette=p),
    "3-fwl": lambda K, p: kfwl([L.to_networkx() for L in K], 3, palette=p),
}


@pytest.mark.parametrize("test", RUNS)
def test_one_after_another_is_as_good_as_together(test):
    """All graphs on up to 5 vertices, each refined by itself with one palette."""
    Ks = [mpsn.clique_complex(G, None) for G in nx.graph_atlas_g() if 0 < len(G) <= 5]
    together = RUNS[test](Ks, None).classes().tolist()
    palette = Palette()
    apart = [RUNS[test]([K], palette).histograms[0] for K in Ks]
    for i in range(len(Ks)):
        for j in range(i):
            assert (apart[i] == apart[j]) == (together[i] == together[j])


def test_a_palette_grows_and_can_be_copied():
    r = swl(TRIANGLE, palette=Palette())
    before, state = len(r.palette), r.palette.copy()
    assert swl(TRIANGLE, palette=r.palette).histograms == r.histograms
    assert len(r.palette) == before
    assert swl(TAILED, palette=r.palette).palette is r.palette
    assert len(r.palette) > before == len(state)
    assert repr(state) == f"Palette({before} colors)"


def test_a_palette_serves_one_test():
    palette = swl(TRIANGLE, palette=Palette()).palette
    with pytest.raises(MPSNError, match="Expected a palette made with wl"):
        wl(nx.path_graph(3), palette=palette)
    with pytest.raises(MPSNError, match="cannot be compared"):
        swl(TRIANGLE, adjacencies=["upper"], palette=palette)
    with pytest.raises(MPSNError, match="cannot be compared"):
        swl(TRIANGLE.replace(x=[torch.ones(3, 1)]), initial="features", palette=palette)


def test_more_colors_than_codes_have_room_for():
    """Triples of colors above 2^20 are named pair by pair."""
    few, many = Painter(None), Painter(None)
    many.used = 1 << 21
    columns = [torch.tensor(c) for c in ([0, 1, 0, 1, 0], [2, 3, 2, 3, 3], [0, 1, 0, 0, 0])]
    for painter in (few, many):
        code = painter.pack(columns)
        assert len(code.unique()) == len(torch.stack(columns).unique(dim=1).T) == 4
    many.used = (1 << 31) + 1
    with pytest.raises(TooLargeError, match="2\\^31 colors"):
        many.pack(columns)


@pytest.mark.parametrize("test", RUNS)
def test_after_different_numbers_of_rounds(test):
    """Refined one after another, histograms are compared in the last round that both ran."""
    Ks = [mpsn.clique_complex(G, None) for G in nx.graph_atlas_g() if 0 < len(G) <= 4]
    Ks += [mpsn.clique_complex(nx.path_graph(n), None) for n in (7, 9)]
    together = RUNS[test](Ks, None).classes().tolist()
    palette = Palette()
    apart = [RUNS[test]([K], palette) for K in Ks]
    rest = RUNS[test](Ks, palette)  # runs as long as the slowest of them
    assert apart[1].rounds < rest.rounds
    assert apart[1].histograms[0] != rest.histograms[1]
    for i, one in enumerate(apart):
        turn = min(one.rounds, rest.rounds)
        for j, histogram in enumerate(rest.histograms_at(turn)):
            assert (one.histograms_at(turn)[0] == histogram) == (together[i] == together[j])


# Initial colors ------------------------------------------------------------------------------


def test_features_color_simplices():
    K = TRIANGLE.replace(x=[torch.tensor([[1.0, 0.0], [1.0, 0.0], [2.0, -0.0]])])
    assert swl(K).num_colors(0) == (1, 1, 1)
    assert swl(K, initial="features").num_colors(0) == (2, 1, 1)
    assert swl(K, initial=[None, torch.tensor([5, 6, 6])]).num_colors(0) == (1, 2, 1)
    assert swl(TRIANGLE, initial="features").num_colors(0) == (1, 1, 1)


@pytest.mark.parametrize(
    "colors",
    [
        ["a", "a", "b"],
        [1, 1, 0],
        torch.tensor([0.5, 0.5, 1]),
        np.eye(3)[[1, 1, 0]],
        [(0, 1), (0, 1), (1, 0)],
        {0: 1, 1: 1, 2: 0}.values(),
        np.array(["a", "a", "b"]),
        np.array([1, 1, 0], ">i4"),
        np.broadcast_to(np.array([[1], [1], [0]]), (3, 4)),  # read-only
        *(np.array([1, 1, 0], dtype) for dtype in ("u1", "u2", "u4", "u8", "f2", "?")),
        *(torch.tensor([1, 1, 0], dtype=dtype) for dtype in (torch.uint32, torch.bfloat16)),
    ],
)
def test_vertex_colors_of_every_type(colors):
    assert wl(nx.complete_graph(3), colors).num_colors(0) == (2,)
    assert wl([nx.complete_graph(3)], [colors], palette=Palette()).num_colors(0) == (2,)


def test_graphs_of_every_kind_are_taken():
    edges = torch.tensor([[0, 1], [1, 2]])
    one = wl((edges, 3))
    for graph in (nx.path_graph(3), Data(edge_index=edges, num_nodes=3), [(edges, 3)]):
        assert wl(graph).histograms == one.histograms
    assert wl(((edges, 3), nx.path_graph(3))).num_complexes == 2
    assert kwl(mpsn.datasets.named_graph("hexagon")).num_complexes == 1


# Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("test", [wl, kwl, kfwl])
def test_graphs_without_vertices(test):
    with pytest.raises(MPSNError, match="at least one vertex, got none in graph 1; leave it out"):
        test([nx.path_graph(2), nx.empty_graph(0)])


def test_complexes_without_vertices():
    with pytest.raises(MPSNError, match="got none in complex 0"):
        swl([SimplicialComplex(), TRIANGLE])


@pytest.mark.parametrize(
    ("colors", "match"),
    [
        ([[0, 1], ["a", "b"]], "one type, got int, str"),
        ([[0, "a"], [0, 1]], "one type"),
        ([torch.zeros(2), torch.zeros(2, dtype=torch.int64)], "torch.float32, torch.int64"),
        ([torch.zeros(2, 1), torch.zeros(2, 3)], "rows of 3"),
        ([[0, 1], [0]], "Expected 2 vertex colors for graph 1, got 1"),
        ([[0, 1]], "each of 2 graphs, got 1"),
        ([[1j, 2j], [1j, 1j]], "can be sorted"),
        ([list(torch.zeros(2)), list(torch.zeros(2))], "can be sorted"),
        ([[0.0, float("nan")], [0.0, 1.0]], "equal themselves, got NaN"),
        ([torch.tensor([0, float("nan")])] * 2, "equal themselves, got NaN"),
        ([{0: 1, 1: 0}, {0: 1, 1: 0}], r"got \{0: 1, 1: 0\}; of a dict, use \[colors\[v\]"),
        ([[0, 1], None], "colors of graph 1 as a tensor, array or list.*got None"),
        (torch.zeros(2), "colors of graph 0 as a tensor, array or list"),
        ({0: [0, 1], 1: [0, 1]}, "one entry per graph, got {0"),
        (7, "one entry per graph, got 7"),
    ],
)
def test_different_initial_color_types(colors, match):
    with pytest.raises(MPSNError, match=match):
        wl([nx.path_graph(2), nx.path_graph(2)], colors)


def test_vertex_colors_by_name():
    """A dict is not read as its keys."""
    with pytest.raises(MPSNError, match="one per vertex in the order of its vertices"):
        wl(nx.path_graph(3), {0: 1, 1: 0, 2: 1})


@pytest.mark.parametrize("test", [kwl, kfwl])
def test_k_from_numpy(test):
    graph = nx.path_graph(4)
    assert test(graph, np.int64(2)).histograms == test(graph, 2).histograms


@pytest.mark.parametrize("test", [kwl, kfwl])
@pytest.mark.parametrize("k", [1, 4, 0, "2", 2.0])
def test_k_outside_its_range(test, k):
    with pytest.raises(MPSNError, match="Expected k = 2 or 3"):
        test(nx.path_graph(3), k)


@pytest.mark.parametrize("test", [kwl, kfwl])
def test_a_table_that_would_not_fit_is_refused_with_its_size(test):
    with pytest.raises(TooLargeError, match=r"1000000000000000 tuples, which need .* GiB"):
        test((torch.zeros((2, 0), dtype=torch.int64), 100_000), 3)
    with pytest.raises(TooLargeError, match="raise max_bytes"):
        test(nx.path_graph(10), 2, max_bytes=1000)


def test_more_rounds_than_fit_are_refused(monkeypatch):
    monkeypatch.setattr("mpsn.wl._refinement.available_memory", lambda device: 10_000)
    with pytest.raises(TooLargeError, match="set rounds to stop earlier"):
        wl(nx.path_graph(100))
    assert wl(nx.path_graph(100), rounds=3).rounds == 3


def test_unknown_adjacencies():
    for wrong in (["faces"], "upper", None, iter(["upper"])):
        with pytest.raises(MPSNError, match="among boundary, coboundary, lower, upper, got"):
            swl(TRIANGLE, adjacencies=wrong)


def test_other_bad_input():
    with pytest.raises(MPSNError, match=r"lift graphs with mpsn.clique_complexes"):
        swl([nx.path_graph(2)])
    with pytest.raises(MPSNError, match="'uniform', 'features' or tensors, got 'degree'"):
        swl(TRIANGLE, initial="degree")
    for alone in (None, torch.zeros(3), np.zeros(3), 7):
        with pytest.raises(MPSNError, match="put tensors into a list, one per dimension"):
            swl(TRIANGLE, initial=alone)
    for row in (torch.zeros(2), torch.tensor(0)):
        with pytest.raises(MPSNError, match="dimension 1 as a tensor of 3 rows"):
            swl(TRIANGLE, initial=[None, row])
    with pytest.raises(MPSNError, match="got NaN"):
        swl(TRIANGLE, initial=[torch.tensor([0, 1, float("nan")])])
    for rounds in (-1, 1.5, True, "1"):
        with pytest.raises(MPSNError, match=f"Expected rounds >= 0 .*got {rounds!r}"):
            swl(TRIANGLE, rounds=rounds)
    assert swl(TRIANGLE, rounds=np.int64(2)).rounds == 2


PAIR = [nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)]


def test_marked_refinement_by_hand():
    """In a path of three, the ends are alike, marked or not."""
    path = mpsn.clique_complex(nx.path_graph(3))
    r = swl(path, marks=1)
    ends, middle = r.colors[-1][0][[0, 2]].tolist(), int(r.colors[-1][0][1])
    assert ends[0] == ends[1] != middle
    assert r.num_colors(0) == (1,)  # one marked vertex of three
    assert (len(r.ptr), r.num_complexes, r.stable) == (1, 1, True)
    (histogram,) = r.histograms
    assert sorted(histogram[0].values()) == [1, 2]


def test_marked_refinement_with_rounds_and_a_palette():
    """One by one with a palette as together, compared after the rounds both have."""
    graphs = [*PAIR, nx.cycle_graph(6), nx.path_graph(6)]
    together = swl(mpsn.clique_complexes(graphs, 1), marks=1)
    palette = Palette()
    alone = [swl(mpsn.clique_complex(G, 1), marks=1, palette=palette) for G in graphs]
    turn = min(r.rounds for r in alone)
    found = [r.histograms_at(turn)[0] for r in alone]
    labels = together.classes(turn).tolist()
    for i in range(4):
        for j in range(4):
            assert (found[i] == found[j]) == (labels[i] == labels[j])
    assert labels[0] == labels[2] != labels[1]
    assert [swl(mpsn.clique_complexes(PAIR, 1), marks=1, rounds=t).rounds for t in (0, 2)] == [0, 2]
    with pytest.raises(MPSNError, match="Expected a palette made with"):
        swl(mpsn.clique_complex(PAIR[0], 1), palette=palette)


def test_marks_and_features_together():
    """A mark does not hide the color below it."""
    K = mpsn.clique_complex(nx.cycle_graph(4), 1)
    for values, classes in (([0, 0, 0, 0], 1), ([0, 1, 0, 1], 2), ([0, 1, 2, 3], 4)):
        x = torch.tensor(values).float()[:, None]
        for r in (
            swl(K.replace(x=[x]), initial="features", marks=1),
            swl(K, initial=[x], marks=1),
        ):
            assert r.num_colors() == (classes,)


@pytest.mark.parametrize("marks", [-1, True, 0.5, "one", None, {0: -1}, {-1: 1}, {0: "a"}])
def test_other_numbers_of_marks_are_refused(marks):
    with pytest.raises(MPSNError, match="Expected marks as an integer >= 0"):
        swl(TRIANGLE, marks=marks)


def test_marked_copies_that_would_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr("mpsn.wl._marks.available_memory", lambda device: 1000)
    with pytest.raises(TooLargeError, match="got 4 copies, which need"):
        swl(TAILED, marks=1)
