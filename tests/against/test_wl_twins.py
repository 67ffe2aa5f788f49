"""Every test of the ladder against its dictionary twin, round by round."""

from dataclasses import replace
from itertools import chain, product

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
import wl_twins
from mpsn.testing import complexes, graphs
from mpsn.wl._inputs import uniform
from mpsn.wl._marks import refine_marked
from mpsn.wl._relations import ADJACENCIES

some_complexes = st.lists(complexes(7).filter(lambda K: K.num_nodes), min_size=1, max_size=3)
some_cells = st.sampled_from(["simplicial", "cell", "cubical"]).flatmap(
    lambda kind: st.lists(
        complexes(7, kind=kind).filter(lambda K: K.num_nodes), min_size=1, max_size=3
    )
)
some_graphs = st.lists(graphs(6).filter(len), min_size=1, max_size=3)


def same_partition(ours, theirs):
    """Return whether two colorings of the same things are one up to names."""
    pairs = set(zip(ours, theirs, strict=True))
    return len(pairs) == len(set(ours)) == len(set(theirs))


def assert_same(found, rounds, things):
    """``things[k]``: for each complex, the keys of the twin, in the order of the union."""
    assert found.rounds == len(rounds) - 1
    for ours, theirs in zip(found.colors, rounds, strict=True):
        for k, color in enumerate(ours):
            flat = [c[key] for c, keys in zip(theirs, things[k], strict=True) for key in keys]
            assert same_partition(color.tolist(), flat)


def check_swl(Ks, chosen):
    found = mpsn.wl.swl(Ks, tuple(chosen))
    keys = [[list(map(tuple, K.simplices(k).tolist())) for K in Ks] for k in range(len(found.ptr))]
    theirs = wl_twins.swl(
        [list(chain(*(level[i] for level in keys))) for i in range(len(Ks))], tuple(chosen)
    )
    assert_same(found, theirs, keys)


@given(some_complexes, st.sets(st.sampled_from(list(ADJACENCIES))))
def test_swl(Ks, chosen):
    check_swl(Ks, chosen)


@pytest.mark.parametrize(
    "chosen", [("upper",), ("lower",), ("boundary", "upper"), ("coboundary", "lower")], ids=str
)
def test_swl_where_only_shared_simplices_tell(chosen):
    """Regular graphs whose edges lie in triangles or not, and others with many triangles."""
    graphs = [nx.circular_ladder_graph(3), nx.complete_bipartite_graph(3, 3)]
    graphs += [nx.gnp_random_graph(8, 0.45, seed=seed) for seed in (1, 4, 8, 12)]
    check_swl([mpsn.clique_complex(G, None) for G in graphs], chosen)


@given(some_cells, st.sets(st.sampled_from(list(ADJACENCIES))), st.booleans())
def test_swl_on_any_complex(Ks, chosen, uniform):
    """From one color per dimension, or from one for all cells."""
    cells = list(map(wl_twins.cells, Ks))
    first = [dict.fromkeys(faces, 0) for faces in cells] if uniform else None
    theirs = wl_twins.cwl(cells, tuple(chosen), first)
    found = mpsn.wl.swl(Ks, tuple(chosen), initial="uniform" if uniform else "dimension")
    keys = [[[(k, i) for i in range(K.count(k))] for K in Ks] for k in range(len(found.ptr))]
    if uniform:  # colors are comparable between dimensions
        found = replace(found, colors=tuple((torch.cat(colors),) for colors in found.colors))
        keys = [list(chain(*keys))]
        theirs = [c * len(found.ptr) for c in theirs]
    assert_same(found, theirs, keys)


@settings(max_examples=50)
@given(some_cells, st.sets(st.sampled_from(list(ADJACENCIES))), st.integers(1, 500))
def test_marked_refinement(Ks, chosen, entries):
    """Also in many small parts."""
    theirs = wl_twins.marked(list(map(wl_twins.cells, Ks)), tuple(chosen))
    vertices = [[[((0, v),) for v in range(K.num_nodes)] for K in Ks]]
    assert_same(mpsn.wl.swl(Ks, tuple(chosen), marks=1), theirs, vertices)
    union = mpsn.collate([K.bare() for K in Ks])
    levels = range(union.dim + 1)
    start = [uniform(union.count(k), union.device) for k in levels]
    for palette in (None, mpsn.wl.Palette()):
        found = refine_marked(union, tuple(chosen), start, [0], None, palette, entries)
        assert_same(found, theirs, vertices)


@settings(max_examples=30)
@given(some_cells, st.sampled_from([2, {1: 1}, {0: 1, 2: 1}, {0: 2, 1: 0}, {2: 1, 5: 1}]))
def test_any_marks(Ks, marks):
    """Any number of marks of any dimensions; those without cells are left out."""
    Ks = [K for K in Ks if sum(K.counts) < 30] or [mpsn.clique_complex(nx.path_graph(3))]
    numbers = marks if isinstance(marks, dict) else {0: marks}
    dims = [k for k in sorted(numbers) for _ in range(numbers[k])]
    cells = list(map(wl_twins.cells, Ks))
    theirs = wl_twins.marked(cells, dims=dims)
    keys = [[list(colors) for colors in theirs[0]]]
    assert_same(mpsn.wl.swl(Ks, marks=marks), theirs, keys)


@given(some_graphs)
def test_wl(many):
    assert_same(mpsn.wl.wl(many), wl_twins.wl(many), [many])


@given(some_graphs, st.integers(0, 2**16))
def test_wl_with_colors(many, seed):
    given_colors = [[(v * seed + i) % 3 for v in graph] for i, graph in enumerate(many)]
    start = [dict(zip(g, c, strict=True)) for g, c in zip(many, given_colors, strict=True)]
    assert_same(mpsn.wl.wl(many, given_colors), wl_twins.wl(many, start), [many])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ["kwl", "kfwl"])
@settings(max_examples=30)
@given(some_graphs)
def test_tuples(name, k, many):
    tuples = [[list(product(graph, repeat=k)) for graph in many]]
    assert_same(getattr(mpsn.wl, name)(many, k), getattr(wl_twins, name)(many, k), tuples)


@settings(max_examples=50)
@given(graphs(7).filter(len), graphs(7).filter(len), st.randoms())
def test_isomorphic_against_networkx(G, H, random):
    assert mpsn.wl.isomorphic(G, H) == nx.is_isomorphic(G, H)
    names = list(G)
    random.shuffle(names)
    assert mpsn.wl.isomorphic(G, nx.relabel_nodes(G, dict(zip(G, names, strict=True))))


@pytest.mark.filterwarnings("ignore:The hashes produced")
def test_wl_splits_as_networkx_does():
    """networkx's hash of the same refinement groups all graphs on up to 6 vertices alike."""
    many = [G for G in nx.graph_atlas_g() if 0 < len(G) <= 6]
    labels = mpsn.wl.wl(many).classes().tolist()
    hashes = [(len(G), nx.weisfeiler_lehman_graph_hash(G, iterations=6)) for G in many]
    assert same_partition(labels, hashes)
