"""Appendix A: colorings that refine each other (Definition 22, Lemma 23, Corollary 24).

And its remark that SWL finds the dimension of each simplex by itself, so that simplices may all
start with one color, as in section 3.
"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn.complexes import SimplicialComplex, collate
from mpsn.errors import ColoringError
from mpsn.testing import complexes
from mpsn.wl import Palette, equivalent, refines, swl

some = st.lists(complexes(8).filter(lambda K: K.num_nodes), min_size=1, max_size=3)
colorings = st.lists(st.tuples(*[st.integers(0, 3)] * 2), max_size=8)


@given(st.lists(colorings, min_size=1, max_size=3))
def test_refining_is_as_defined(levels):
    """Definition 22, pair by pair; colors of different dimensions are not compared."""
    one, two = ([torch.tensor([pair[i] for pair in level]) for level in levels] for i in (0, 1))
    pairs = [(a, b) for level in levels for a in level for b in level]
    forth = all(a[1] == b[1] for a, b in pairs if a[0] == b[0])
    back = all(a[0] == b[0] for a, b in pairs if a[1] == b[1])
    assert (refines(one, two), refines(two, one)) == (forth, back)
    assert equivalent(one, two) == (forth and back)
    assert refines(one[0], two[0]) == refines(one[:1], two[:1])


def test_colorings_of_different_cells_are_refused():
    for other in (torch.zeros(3), [torch.zeros(2), torch.zeros(1)], torch.zeros(2, 1)):
        with pytest.raises(ColoringError, match=r"two colorings of the same cells, .* got \[\(2,"):
            refines(torch.zeros(2), other)


@settings(max_examples=50)
@given(some, st.randoms())
def test_finer_colorings_distinguish_all_multisets_that_coarser_ones_do(Ks, random):
    """Lemma 23, and Corollary 24 for whole complexes."""
    refined = swl(Ks)
    for coarse, fine in zip(refined.colors, refined.colors[1:], strict=False):
        assert refines(fine, coarse)
        for d, c in zip(coarse, fine, strict=True):
            for _ in range(5):
                A, B = (random.choices(range(len(c)), k=random.randint(0, 4)) for _ in "AB")
                if sorted(d[A].tolist()) != sorted(d[B].tolist()):
                    assert sorted(c[A].tolist()) != sorted(c[B].tolist())
    for turn in range(refined.rounds):
        assert refines(refined.classes(), refined.classes(turn))


@pytest.mark.parametrize("adjacencies", [("boundary", "upper"), ("boundary",)])
@given(Ks=some)
def test_swl_finds_the_dimension(adjacencies, Ks):
    """From one color for all simplices, a round with boundaries gives each dimension its own."""
    together, apart = swl(Ks, adjacencies, initial="uniform"), swl(Ks, adjacencies)
    dims = torch.cat([torch.full_like(c, k) for k, c in enumerate(apart.colors[0])])
    assert len(torch.cat(together.colors[0]).unique()) == 1
    assert all(refines(torch.cat(colors), dims) for colors in together.colors[1:])
    assert equivalent(together.colors[-1], apart.colors[-1])
    assert equivalent(together.classes(), apart.classes())
    assert together.ptr[0].tolist() == collate([K.bare() for K in Ks]).ptr(0).tolist()
    palette = Palette()
    one_by_one = [swl(K, adjacencies, initial="uniform", palette=palette) for K in Ks]
    last = min(r.rounds for r in one_by_one)
    found = [r.histograms_at(last)[0] for r in one_by_one]
    expected = swl(Ks, adjacencies, initial="uniform", rounds=last).histograms
    assert [h == found[0] for h in found] == [h == expected[0] for h in expected]


def test_it_does_not_without_boundaries():
    """A vertex and an edge without co-faces look alike to co-boundaries."""
    K = SimplicialComplex.from_simplices([[0, 1], [2]])
    colors = swl(K, ("coboundary",), initial="uniform").colors[-1]
    assert colors[0][2] == colors[1][0]
    with pytest.raises(ColoringError, match="Expected initial 'dimension' with marks"):
        swl(K, marks=1, initial="uniform")
