"""Comparing two graphs, grouping many, and the truth."""

import re

import networkx as nx
import pytest

from mpsn import MPSNError
from mpsn.datasets import named_graph
from mpsn.errors import TooLargeError
from mpsn.lifting import Lift
from mpsn.wl import TESTS, _ladder, compare, equivalence_classes, isomorphic


def test_compare_says_where():
    found = compare(nx.path_graph(4), nx.star_graph(3), tuple(TESTS))
    assert all(verdict.distinguished for verdict in found)
    assert (found["wl"].round, found["wl"].dim) == (1, 0)
    assert (found["2-wl"].round, found["2-wl"].dim) == (1, None)
    assert (found["swl"].round, found["swl"].dim) == (1, 0)


def test_compare_prints_a_line_per_test():
    lines = str(compare(named_graph("hexagon"), named_graph("two-triangles"), ["wl", "swl"]))
    assert lines.splitlines() == [
        "wl: indistinguishable",
        "swl: distinguished in round 0, dimension 2",
        "truth: not isomorphic",
    ]


def test_a_test_too_large_is_not_run():
    big = nx.cycle_graph(3000)
    found = compare(big, nx.disjoint_union(nx.cycle_graph(1500), nx.cycle_graph(1500)), ["3-wl"])
    assert found["3-wl"].distinguished is None
    assert "GiB" in found["3-wl"].note
    assert found.isomorphic is None
    assert "not run" in str(found)


def test_max_dim_limits_what_swl_sees():
    pair = named_graph("rook4x4"), named_graph("shrikhande")
    assert not compare(*pair, ["swl"], max_dim=1)["swl"].distinguished
    assert compare(*pair, ["swl"], max_dim=3)["swl"].dim == 3


def test_a_bad_dimension_is_refused_even_if_no_test_lifts():
    pair = [nx.path_graph(2), nx.path_graph(2)]
    with pytest.raises(MPSNError, match="Expected max_dim as an integer >= 0"):
        compare(*pair, ["wl"], max_dim=-3)
    with pytest.raises(MPSNError, match="Expected max_dim as an integer >= 0"):
        equivalence_classes(pair, "wl", max_dim=-3)


@pytest.mark.parametrize("test", TESTS)
def test_equivalence_classes_contain_the_truth(test):
    """All graphs on 4 vertices and a copy of each."""
    many = [G for G in nx.graph_atlas_g() if len(G) == 4]
    n = len(many)
    many += [nx.relabel_nodes(G, {v: 3 - v for v in G}) for G in many]
    found = equivalence_classes(many, test)
    assert found.truth == [[i, i + n] for i in range(n)]
    assert found.groups == found.truth  # every test is complete on 4 vertices
    assert found.pairs == n


def test_equivalence_classes_of_graphs_beyond_a_test():
    many = [named_graph(name) for name in ("decalin", "bicyclopentyl", "decalin")]
    found = equivalence_classes(many, "swl")
    assert (found.groups, found.truth, found.pairs) == ([[0, 1, 2]], [[0, 2], [1]], 3)
    assert equivalence_classes([], "swl").groups == []


def test_no_truth_for_large_graphs():
    many = [nx.path_graph(_ladder.SMALL + 1)] * 2
    assert equivalence_classes(many, "wl").truth is None


def test_unknown_tests_are_refused_with_the_right_names():
    names = re.escape(", ".join(TESTS))
    with pytest.raises(MPSNError, match=f"Expected tests among {names}, got 4-wl"):
        compare(nx.path_graph(2), nx.path_graph(2), ["wl", "4-wl"])
    with pytest.raises(MPSNError, match=f"among {names}, got gin"):
        equivalence_classes([nx.path_graph(2)], "gin")
    with pytest.raises(MPSNError, match="got swl"):
        compare(nx.path_graph(2), nx.path_graph(2), "swl")
    with pytest.raises(MPSNError, match="a test that was run, wl, swl, got 'nope'"):
        compare(nx.path_graph(2), nx.path_graph(2), ["wl", "swl"])["nope"]
    with pytest.raises(MPSNError, match="none in graph 1"):
        compare(nx.path_graph(2), nx.empty_graph(0))
    with pytest.raises(MPSNError, match="Expected max_ring as an integer >= 3"):
        compare(nx.path_graph(2), nx.path_graph(2), ["wl"], max_ring=2)


def test_lifts_by_name():
    square = nx.cycle_graph(4)
    counts = {name: Lift(name)(square).counts for name in ("cliques", "rings", "cubes")}
    assert counts.pop("cliques") == (4, 4)
    assert set(counts.values()) == {(4, 4, 1)}
    assert Lift("rings", max_ring=3)(square).counts == (4, 4)
    for max_dim, dim in ((3, 3), (None, 4)):
        assert Lift("cliques+rings", max_dim=max_dim)(nx.complete_graph(5)).dim == dim
    with pytest.raises(MPSNError, match=r"lift among cliques, rings.*Did you mean rings"):
        Lift("ring")
    with pytest.raises(MPSNError, match="a lift that returns a complex, got 4"):
        Lift(len).many([square])


def test_rows_for_lifts_and_marks():
    prism, bipartite = named_graph("prism"), named_graph("k3,3")
    tests = [name for name in TESTS if "-wl" not in name and "fwl" not in name]
    found = compare(prism, bipartite, tests)
    assert [v.test for v in found if not v.distinguished] == ["wl"]
    assert {v.test: (v.round, v.dim) for v in found if v.test in ("cubes", "marked-swl")} == {
        "cubes": (0, 2),
        "marked-swl": (0, None),
    }
    assert str(found).splitlines()[-1] == "truth: not isomorphic"
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
    many = [hexagon, triangles, hexagon]
    assert equivalence_classes(many, "marked-wl").groups == [[0, 2], [1]]
    assert equivalence_classes(many, "cubes").groups == [[0, 1, 2]]


def test_rows_say_what_marks_and_depth_cost():
    pair = named_graph("rook4x4"), named_graph("shrikhande")
    found = compare(*pair, ["wl", "marked-wl", "twice-marked-wl", "depth-1", "depth-4"])
    assert [v.distinguished for v in found] == [False, False, True, False, True]
    assert [v.refinements for v in found] == [2, 32, 582, 36, 358]
    assert (found["depth-4"].round, found["depth-4"].dim) == (2, None)
    lines = str(found).splitlines()
    assert lines[1] == "marked-wl: indistinguishable; 32 refinements"
    assert lines[4] == "depth-4: distinguished at depth 2; 358 refinements"


@pytest.mark.parametrize(
    ("one", "two"), [("hexagon", "two-triangles"), ("decalin", "bicyclopentyl"), ("t8", "chang1")]
)
def test_isomorphic_is_not_fooled(one, two):
    assert not isomorphic(named_graph(one), named_graph(two))
    assert isomorphic(named_graph(two), named_graph(two))


def test_isomorphic_of_graphs_whose_vertices_are_alike():
    assert isomorphic(named_graph("shrikhande"), named_graph("shrikhande"))
    assert not isomorphic(named_graph("dodecahedron"), named_graph("desargues"))


def cycles(*lengths):
    return nx.disjoint_union_all([nx.cycle_graph(n) for n in lengths])


def test_isomorphic_matches_components():
    """Guesses in one cycle say nothing about the others: all at once they do not end."""
    assert not isomorphic(cycles(*[4] * 3, *[5] * 4), cycles(*[4] * 8))
    one, two = cycles(*[4] * 6, *[5] * 4, *[6] * 6), cycles(*[6] * 6, *[5] * 4, *[4] * 6)
    assert isomorphic(one, two)
    assert isomorphic(nx.complement(one), nx.complement(two))
    assert not isomorphic(nx.complement(one), nx.complement(cycles(*[4] * 15, *[5] * 4)))


def test_isomorphic_counts_components_that_swl_cannot_distinguish():
    a, b = named_graph("decalin"), named_graph("bicyclopentyl")
    a, b = (nx.Graph(graph.edge_index.T.tolist()) for graph in (a, b))
    aab, aba, abb = (nx.disjoint_union_all(parts) for parts in ([a, a, b], [a, b, a], [a, b, b]))
    assert isomorphic(aab, aba)
    assert not isomorphic(aab, abb)


def test_isomorphic_of_dense_graphs():
    assert isomorphic(nx.complete_graph(100), nx.complete_graph(100))
    near = [nx.complement(nx.path_graph(40)), nx.complement(cycles(20, 19))]
    assert not isomorphic(*near)


def test_a_search_too_long_is_given_up(monkeypatch):
    """A hub joins cycles, so that they cannot be matched one by one."""
    one, two = cycles(*[4] * 10), cycles(*[4] * 5, *[5] * 4)
    for graph in (one, two):
        graph.add_edges_from([("hub", v) for v in range(40)])
    monkeypatch.setattr("mpsn.wl._isomorphism.STEPS", 10**5)
    with pytest.raises(TooLargeError, match=r"at most 1e\+05 steps, got more.*raise max_steps"):
        isomorphic(one, two)
    with pytest.raises(TooLargeError, match="at most 1e\\+03 steps"):
        isomorphic(one, two, max_steps=1000)
    found = compare(one, two, ["wl"])
    assert (found["wl"].distinguished, found.isomorphic) == (False, None)
    assert "too large to check" in str(found)
    assert equivalence_classes([one, two], "wl").truth is None
