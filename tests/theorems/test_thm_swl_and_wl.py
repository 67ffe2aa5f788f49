"""Lemma 27 and Theorem 7: SWL with a clique lifting is stronger than WL."""

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn import SimplicialComplex, clique_complexes
from mpsn.datasets import named_graph
from mpsn.testing import complexes, graphs
from mpsn.wl import compare, equivalent, refines, swl, wl


@given(st.lists(complexes(8).filter(lambda K: K.num_nodes), min_size=1, max_size=3))
def test_swl_on_vertices_refines_wl(Ks):
    """Round by round, on any complexes and their graphs of vertices and edges."""
    fine, coarse = swl(Ks), wl([K.to_networkx() for K in Ks])
    for t in range(max(fine.rounds, coarse.rounds) + 1):
        a, b = fine.colors[min(t, fine.rounds)], coarse.colors[min(t, coarse.rounds)]
        assert refines(a[0], b[0])


@given(st.lists(graphs(8).filter(len), min_size=1, max_size=4))
def test_swl_tells_apart_what_wl_does(many):
    fine, coarse = swl(clique_complexes(many, None)).classes(), wl(many).classes()
    assert refines(fine, coarse)


@given(st.lists(graphs(8).filter(len), min_size=1, max_size=4))
def test_on_graphs_swl_is_wl(many):
    """Section 3: on 1-dimensional complexes the vertex colors of SWL are those of WL."""
    one, two = swl([SimplicialComplex.from_graph(G) for G in many]), wl(many)
    for t in range(min(one.rounds, two.rounds) + 1):
        assert equivalent(one.colors[t][0], two.colors[t][0])


def test_strictly():
    """The paper's figure 2: two triangles are seen by SWL alone."""
    found = compare(named_graph("hexagon"), named_graph("two-triangles"), ["wl", "swl"])
    assert not found["wl"].distinguished
    assert found["swl"].distinguished
    assert found["swl"].dim == 2
    assert found.isomorphic is False


def test_strictly_also_by_colors_alone():
    """Without the histogram of triangles, edges or vertices still give it away."""
    r = swl(clique_complexes([named_graph("hexagon"), named_graph("two-triangles")]))
    for k in (0, 1):
        one, two = r.classes(k=k).tolist()
        assert one != two


def test_decalin_and_bicyclopentyl_are_beyond_both():
    """Appendix: indistinguishable for WL and SWL on clique complexes, with any adjacencies."""
    found = compare(named_graph("decalin"), named_graph("bicyclopentyl"), ["wl", "swl", "swl-all"])
    assert [v.test for v in found if v.distinguished] == []
    assert found.isomorphic is False


@pytest.mark.parametrize("n", [4, 5, 6])
def test_never_wrong(n):
    """Isomorphic graphs are never distinguished: all graphs of n vertices, relabeled."""
    many = [G for G in nx.graph_atlas_g() if len(G) == n]
    turned = [nx.relabel_nodes(G, {v: n - 1 - v for v in G}) for G in many]
    for labels in (wl(many + turned), swl(clique_complexes(many + turned, None))):
        classes = labels.classes()
        assert torch.equal(classes[: len(many)], classes[len(many) :])
