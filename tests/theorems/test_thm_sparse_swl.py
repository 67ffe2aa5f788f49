"""Theorem 6, with Lemma 25 and Proposition 26: boundary and upper adjacencies are enough.

SWL with HASH(c, c_B, c_↑) is as powerful as with all four adjacencies, at most twice as slowly:
round 2t of the former refines round t of the latter. Leaving out co-boundaries alone costs
nothing at all: every round is the same.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mpsn
import wl_twins
from mpsn import clique_complexes
from mpsn.datasets import named_graph, strongly_regular
from mpsn.testing import complexes
from mpsn.wl import equivalent, refines, swl

ALL = ("boundary", "coboundary", "lower", "upper")
PAIRS = [("hexagon", "two-triangles"), ("rook4x4", "shrikhande"), ("decalin", "bicyclopentyl")]
some = st.lists(complexes(8, 4).filter(lambda K: K.num_nodes), min_size=1, max_size=3)


def check_sparse(Ks):
    sparse, full = swl(Ks), swl(Ks, ALL)
    assert equivalent(sparse.colors[-1], full.colors[-1])
    assert equivalent(sparse.classes(), full.classes())
    for t in range(full.rounds + 1):
        twice = min(2 * t, sparse.rounds)
        assert refines(sparse.colors[twice], full.colors[t])
        assert refines(full.colors[t], sparse.colors[min(t, sparse.rounds)])
    assert sparse.rounds <= 2 * full.rounds


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
    """Lemma 25: HASH(c, c_B, c_↓, c_↑) and all four agree in every round."""
    three, four = swl(Ks, ("boundary", "lower", "upper")), swl(Ks, ALL)
    assert three.rounds == four.rounds
    for a, b in zip(three.colors, four.colors, strict=True):
        assert equivalent(a, b)


@given(some)
def test_more_adjacencies_never_see_less(Ks):
    full = swl(Ks, ALL).colors[-1]
    for chosen in (("upper",), ("boundary", "lower"), ("boundary", "upper")):
        assert refines(full, swl(Ks, chosen).colors[-1])


def neighbors_through_faces(K, colors):
    """Color cells by the multiset, over their faces, of the colors of a face and its co-faces.

    That is all sizes |A(δ)| of Proposition 26 at once, for every pair of colors.
    """
    cells = wl_twins.cells(K)
    color = {cell: int(colors[cell[0]][cell[1]]) for cell in cells}
    above = {cell: [] for cell in cells}
    for cell, faces in cells.items():
        for face in faces:
            above[face].append(color[cell])
    seen = {cell: sorted((color[f], sorted(above[f])) for f in cells[cell]) for cell in cells}
    number = {}
    return [
        torch.tensor([number.setdefault(str(seen[k, i]), len(number)) for i in range(n)])
        for k, n in enumerate(K.counts)
    ]


@given(some)
def test_lower_neighbors_arrive_two_rounds_later(Ks):
    """Proposition 26: b^(2t+2) tells apart what the lower neighbors in round 2t do."""
    K = mpsn.collate([K.bare() for K in Ks])
    rounds = swl(K, rounds=6).colors
    for t in range(5):
        assert refines(rounds[t + 2], neighbors_through_faces(K, rounds[t]))


def test_not_one_round_later():
    """The ends of a path know their degree after a round, their edges after two."""
    K = mpsn.SimplicialComplex.from_simplices([[0, 1], [1, 2], [2, 3]])
    first, second = (swl(K, rounds=t).colors[-1] for t in (1, 2))
    lower = neighbors_through_faces(K, swl(K, rounds=0).colors[0])
    assert not refines(first, lower)
    assert refines(second, lower)
