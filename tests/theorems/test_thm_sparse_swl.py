"""Theorem 6 and Lemma "drop co-faces": boundary and upper adjacencies are enough.

SWL with HASH(c, c_B, c_↑) is as powerful as with all four adjacencies, at most twice as slowly:
round 2t of the former refines round t of the latter. Leaving out co-boundaries alone costs
nothing at all: every round is the same.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn import clique_complexes
from mpsn.datasets import named_graph, strongly_regular
from mpsn.testing import complexes
from mpsn.wl import swl

ALL = ("boundary", "coboundary", "lower", "upper")
PAIRS = [("hexagon", "two-triangles"), ("rook4x4", "shrikhande"), ("decalin", "bicyclopentyl")]
some = st.lists(complexes(8, 4).filter(lambda K: K.num_nodes), min_size=1, max_size=3)


def refines(fine, coarse):
    """Return whether equal colors in ``fine`` are equal in ``coarse``, dimension by dimension."""
    return all(
        len(torch.stack([a, b]).unique(dim=1).T) == len(a.unique())
        for a, b in zip(fine, coarse, strict=True)
    )


def check_sparse(Ks):
    sparse, full = swl(Ks), swl(Ks, ALL)
    assert refines(sparse.colors[-1], full.colors[-1])
    assert refines(full.colors[-1], sparse.colors[-1])
    assert same(sparse, full)
    for t in range(full.rounds + 1):
        twice = min(2 * t, sparse.rounds)
        assert refines(sparse.colors[twice], full.colors[t])
        assert refines(full.colors[t], sparse.colors[min(t, sparse.rounds)])
    assert sparse.rounds <= 2 * full.rounds


def same(one, two):
    """Return whether two refinements put the complexes into the same classes."""
    pairs = torch.stack([one.classes(), two.classes()]).unique(dim=1)
    return pairs.shape[1] == len(one.classes().unique()) == len(two.classes().unique())


@given(some)
def test_boundary_and_upper_reach_the_partition_of_all_four(Ks):
    check_sparse(Ks)


@pytest.mark.parametrize("names", PAIRS)
def test_on_the_named_witnesses(names):
    check_sparse(clique_complexes([named_graph(name) for name in names], None))


def test_on_strongly_regular_graphs():
    for family in ((16, 6, 2, 2), (25, 12, 5, 6), (28, 12, 6, 4)):
        check_sparse(clique_complexes(strongly_regular(*family), None))


@given(some)
def test_coboundaries_can_be_dropped_round_by_round(Ks):
    """Lemma "drop co-faces": HASH(c, c_B, c_↓, c_↑) and all four agree in every round."""
    three, four = swl(Ks, ("boundary", "lower", "upper")), swl(Ks, ALL)
    assert three.rounds == four.rounds
    for a, b in zip(three.colors, four.colors, strict=True):
        assert refines(a, b)
        assert refines(b, a)


@given(some)
def test_more_adjacencies_never_see_less(Ks):
    full = swl(Ks, ALL).colors[-1]
    for chosen in (("upper",), ("boundary", "lower"), ("boundary", "upper")):
        assert refines(full, swl(Ks, chosen).colors[-1])
