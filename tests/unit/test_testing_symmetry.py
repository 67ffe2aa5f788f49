"""The test kit itself: what it passes, what it catches, what it says."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn import SimplicialComplex, nn
from mpsn.errors import LayerError
from mpsn.testing import (
    assert_orientation_equivariant,
    assert_orientation_invariant,
    assert_permutation_equivariant,
)
from mpsn.testing._symmetry import _code
from processes import finish


def test_it_shows_the_counterexample():
    def first_row_counts_double(K, xs):
        return [torch.cat([2 * x[:1], x[1:]]) for x in xs]

    with pytest.raises(AssertionError) as error:
        assert_permutation_equivariant(first_row_counts_double, in_channels=1)
    said = str(error.value)
    assert said.startswith("Expected f(PH, PBPᵀ) = P f(H, B), but it fails on\n")
    assert "K = SimplicialComplex.from_simplices([[0], [1]" in said
    assert "order = {0: [1, 0]" in said
    assert "features = [[[" in said
    assert "row 0 of output 0 is [" in said


def flipped_and_permuted():
    K = SimplicialComplex.from_simplices([[0, 1, 2], [1, 2, 3], [3, 4]])
    K = K.permute({k: torch.arange(n).flip(0) for k, n in enumerate(K.counts)})
    return K.flip({1: torch.tensor([True, False, True, True, False, False])})


@pytest.mark.parametrize(
    "complexes",
    [
        None,
        [flipped_and_permuted()],
        [mpsn.collate([flipped_and_permuted()] * 2)],
        [flipped_and_permuted().replace(x=[torch.randn(5, 2), None, torch.ones(2, 1).double()])],
    ],
    ids=["canonical", "flipped and permuted", "a union", "with features"],
)
def test_the_counterexample_can_be_run_again(complexes):
    layer = nn.OrientedConv(1, 1, act="relu")

    def overwrites(K, h):
        out = layer.double()(K, h)
        h.zero_()
        return out

    with pytest.raises(AssertionError) as error:
        assert_orientation_equivariant(overwrites, complexes, in_channels=1, dim=1)
    lines = dict(line.strip().split(" = ", 1) for line in str(error.value).split("\n")[1:4])
    names = {"SimplicialComplex": SimplicialComplex, "mpsn": mpsn, "torch": torch}
    K, flips, (h,) = (eval(lines[key], names) for key in ("K", "flips", "features"))
    assert complexes is None or complexes[0] == K
    h, turn = torch.tensor(h, dtype=torch.float64), torch.tensor(flips[1])
    turned = layer(K.flip({1: turn}), torch.where(turn[:, None], -h, h))
    assert not torch.allclose(turned, torch.where(turn[:, None], -layer(K, h), layer(K, h)))


@pytest.mark.parametrize("dim", [1, 4, 6])
def test_no_dimension_passes_for_want_of_simplices(dim):
    with pytest.raises(AssertionError, match="but it fails on"):
        assert_orientation_equivariant(lambda K, h: h.relu(), in_channels=1, dim=dim)
    with pytest.raises(AssertionError, match="but it fails on"):
        assert_permutation_equivariant(
            lambda K, xs: [*xs[:-1], xs[-1].cumsum(0)], in_channels=1, max_dim=dim
        )
    with pytest.raises(LayerError, match="Expected complexes to try the layer on, got none"):
        assert_orientation_equivariant(lambda K, h: h, [], in_channels=1, dim=dim)


def test_the_smallest_complex_suffices():
    edge, two = SimplicialComplex.from_simplices([[0, 1]]), SimplicialComplex(2)
    for seed in range(5):  # neither all as it was nor the identity, by chance
        with pytest.raises(AssertionError, match="but it fails on"):
            assert_orientation_equivariant(
                lambda K, h: h.relu(), [edge], in_channels=1, dim=1, seed=seed
            )
        with pytest.raises(AssertionError, match="but it fails on"):
            assert_permutation_equivariant(
                lambda K, h: h.cumsum(0), [two], in_channels=1, dim=0, seed=seed
            )


def test_it_catches_layers_that_look_at_labels_signs_and_missing_rows():
    with pytest.raises(AssertionError, match="fails on"):
        assert_permutation_equivariant(
            lambda K, h: h * torch.arange(len(h))[:, None], in_channels=2, dim=0
        )
    with pytest.raises(AssertionError, match="f\\(TH, TBT\\) = f\\(H, B\\)"):
        assert_orientation_invariant(lambda K, h: h.sum(0), in_channels=2, dim=1)
    with pytest.raises(AssertionError, match="Expected one row for each of the 2 0-cells"):
        assert_permutation_equivariant(lambda K, h: h[:-1], in_channels=2, dim=0)
    with pytest.raises(AssertionError, match=r"Expected one row for each .* got \(\)"):
        assert_permutation_equivariant(lambda K, h: h.sum(), in_channels=2, dim=0)
    with pytest.raises(AssertionError, match="row 0 of output"):
        assert_orientation_invariant(lambda K, h: h.sum(), in_channels=2, dim=1)
    with pytest.raises(AssertionError, match="but it fails on"):
        assert_orientation_equivariant(lambda K, h: h * torch.nan, in_channels=2, dim=1)


def test_it_leaves_the_layer_as_it_was():
    layer = nn.SINConv(2, 2, 2, norm=True)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    assert_permutation_equivariant(layer)
    assert layer.training
    assert all(torch.equal(before[key], value) for key, value in layer.state_dict().items())
    assert all(p.dtype == torch.float32 for p in layer.parameters())


def test_own_complexes_and_widths_can_be_given():
    K = SimplicialComplex.from_simplices([[0, 1, 2, 3]])
    assert_permutation_equivariant(lambda K, xs: xs, [K], in_channels=1)
    assert_permutation_equivariant(lambda K, xs: xs[:2], [K], in_channels=1, max_dim=1)
    with pytest.raises(LayerError, match="Expected in_channels"):
        assert_permutation_equivariant(lambda K, xs: xs)


def test_the_kit_needs_no_hypothesis(tmp_path):
    code = (
        "import sys; assert 'hypothesis' not in sys.modules; sys.modules['hypothesis'] = None; "
        "from mpsn.testing import assert_permutation_equivariant"
    )
    finish(code, said=tmp_path / "said")


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@settings(max_examples=20)
@given(data=st.data())
def test_counterexamples_of_all_kinds_can_be_pasted(kind, data):
    K = data.draw(mpsn.testing.complexes(max_vertices=6, features=1, oriented=True, kind=kind))
    names = {"SimplicialComplex": SimplicialComplex, "mpsn": mpsn, "torch": torch}
    assert eval(_code(K), names) == K


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@pytest.mark.parametrize("dim", [1, 3])
def test_the_small_complexes_of_all_kinds_catch_errors(kind, dim):
    with pytest.raises(AssertionError, match="but it fails on"):
        assert_orientation_equivariant(lambda K, h: h.relu(), in_channels=1, dim=dim, kind=kind)
    with pytest.raises(AssertionError, match="but it fails on"):
        assert_permutation_equivariant(
            lambda K, xs: [*xs[:-1], xs[-1].cumsum(0)], in_channels=1, max_dim=dim, kind=kind
        )
