"""What every coloring must do: ignore names, only refine, agree with itself."""

import json
import os
import subprocess
import sys
from itertools import pairwise

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn.testing import complexes, graphs
from mpsn.wl import Palette, isomorphic, kfwl, kwl, refines, swl, wl

some = complexes(8).filter(lambda K: K.num_nodes)
adjacencies = st.sets(st.sampled_from(["boundary", "coboundary", "lower", "upper"])).map(tuple)
ON_GRAPHS = {
    "wl": wl,
    "2-wl": lambda graphs: kwl(graphs, 2),
    "3-wl": lambda graphs: kwl(graphs, 3),
    "2-fwl": lambda graphs: kfwl(graphs, 2),
    "3-fwl": lambda graphs: kfwl(graphs, 3),
}


def shuffled(K, seed):
    generator = torch.Generator().manual_seed(seed)
    order = {k: torch.randperm(K.count(k), generator=generator) for k in range(K.dim + 1)}
    return K.permute(order), order


def only_refines(result):
    assert all(refines(new, old) for old, new in pairwise(result.colors))


@given(some, adjacencies, st.integers(0, 2**31 - 1))
def test_relabelling_never_changes_a_histogram(K, chosen, seed):
    """Neither refined together, nor by themselves, nor one after another."""
    L, order = shuffled(K, seed)
    one, two = swl(K, chosen), swl(L, chosen)
    assert one.histograms == two.histograms
    for t, colors in enumerate(one.colors):
        assert one.histograms_at(t) == two.histograms_at(t)
        for k, color in enumerate(colors):
            assert torch.equal(color[order[k]], two.colors[t][k])
    together = swl([K, L], chosen)
    assert together.histograms[0] == together.histograms[1]
    palette = Palette()
    assert swl(K, chosen, palette=palette).histograms == swl(L, chosen, palette=palette).histograms


@pytest.mark.parametrize("test", ON_GRAPHS)
@settings(max_examples=30)
@given(graphs(6).filter(len), st.randoms())
def test_relabelling_graphs(test, G, random):
    names = list(G)
    random.shuffle(names)
    H = nx.relabel_nodes(G, dict(zip(G, names, strict=True)))
    assert ON_GRAPHS[test](G).histograms == ON_GRAPHS[test](H).histograms


@given(st.lists(some, min_size=1, max_size=3), adjacencies)
def test_a_coloring_only_refines(Ks, chosen):
    only_refines(swl(Ks, chosen))


@pytest.mark.parametrize("test", ON_GRAPHS)
@settings(max_examples=30)
@given(st.lists(graphs(6).filter(len), min_size=1, max_size=3))
def test_a_coloring_of_graphs_only_refines(test, many):
    only_refines(ON_GRAPHS[test](many))


@given(st.lists(some, min_size=1, max_size=4))
def test_stable_means_stable(Ks):
    r = swl(Ks)
    assert r.stable
    assert swl(Ks, rounds=r.rounds + 3).num_colors(r.rounds + 3) == r.num_colors(r.rounds)


@given(st.lists(some, min_size=1, max_size=4))
def test_classes_are_equal_histograms(Ks):
    r = swl(Ks)
    labels = r.classes().tolist()
    for i, one in enumerate(r.histograms):
        assert sum(map(len, one)) <= sum(Ks[i].counts)
        assert tuple(sum(counts.values()) for counts in one) == Ks[i].counts
        for j, two in enumerate(r.histograms):
            assert (one == two) == (labels[i] == labels[j])


@given(some, st.integers(0, 2**31 - 1))
def test_orientation_does_not_matter(K, seed):
    generator = torch.Generator().manual_seed(seed)
    turned = {k: torch.rand(K.count(k), generator=generator) < 0.5 for k in range(1, K.dim + 1)}
    assert swl(K.flip(turned)).histograms == swl(K).histograms


SCRIPT = """
import json, networkx as nx, mpsn
result = mpsn.wl.swl(mpsn.clique_complex(nx.karate_club_graph(), None))
print(json.dumps([[color.tolist() for color in colors] for colors in result.colors]))
"""


def test_the_same_in_every_process():
    """Colors of a fixed complex are fixed numbers, whatever Python's hashes are seeded with."""
    r = swl(mpsn.clique_complex(nx.karate_club_graph(), None))
    assert r.rounds == 6
    assert r.colors[2][0][:6].tolist() == [40, 34, 35, 57, 33, 58]
    env = os.environ | {
        "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",  # another
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, check=True, capture_output=True, text=True
    )
    assert json.loads(done.stdout) == [[color.tolist() for color in t] for t in r.colors]


@settings(max_examples=50)
@given(st.lists(graphs(4).filter(len), min_size=1, max_size=3), graphs(6).filter(len), st.randoms())
def test_isomorphic_agrees_with_networkx(parts, other, random):
    """On graphs in pieces, dense ones, and shuffled copies of them."""
    G = nx.disjoint_union_all(parts)
    names = list(G)
    random.shuffle(names)
    shuffled_parts = random.sample(parts, len(parts))
    copies = [nx.relabel_nodes(G, dict(zip(G, names, strict=True))), nx.complement(G), other]
    for H in [*copies, nx.disjoint_union_all(shuffled_parts)]:
        assert isomorphic(G, H) == nx.is_isomorphic(G, H)
        assert isomorphic(nx.complement(G), nx.complement(H)) == nx.is_isomorphic(G, H)
