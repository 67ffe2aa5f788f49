"""Appendix D: an even readout after equivariant layers is invariant, and so is forgetting signs."""

import pytest
import torch
from hypothesis import given, settings

from mpsn import nn
from mpsn.nn.models import EdgeFlowNet
from mpsn.testing import assert_orientation_invariant, complexes

INVARIANT = {
    "GNN L0-inv": {"act": "relu", "l0_inv": True, "upper": False},
    "MPSN L0-inv": {"act": "relu", "l0_inv": True},
    "MPSN Id": {"act": "id"},
    "MPSN Tanh": {"act": "tanh"},
}


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@pytest.mark.parametrize("name", INVARIANT)
def test_edge_flow_models_are_invariant(name, kind):
    torch.manual_seed(0)
    model = EdgeFlowNet(hidden=8, **INVARIANT[name])
    assert_orientation_invariant(model, kind=kind)


def test_mpsn_relu_is_not_and_the_kit_says_so():
    torch.manual_seed(0)
    with pytest.raises(AssertionError, match="f\\(TH, TBT\\) = f\\(H, B\\)"):
        assert_orientation_invariant(EdgeFlowNet(hidden=8, act="relu"))


@pytest.mark.parametrize("name", INVARIANT)
@settings(max_examples=15)
@given(K=complexes(max_vertices=7, oriented=True))
def test_on_random_complexes(name, K):
    torch.manual_seed(0)
    model = EdgeFlowNet(hidden=8, layers=2, **INVARIANT[name])
    assert_orientation_invariant(model, [K])


@pytest.mark.parametrize(
    "even", [torch.abs, nn.Even(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))]
)
def test_even_readouts_are_invariant(even):
    torch.manual_seed(0)
    conv = nn.LinearMPSNConv(3, 4, 2, act="tanh").double()
    even = even.double() if isinstance(even, torch.nn.Module) else even

    def model(K, xs):
        return torch.cat([nn.global_pool(K, k, even(x)) for k, x in enumerate(conv(K, xs))])

    assert_orientation_invariant(model, in_channels=3, max_dim=2)


def test_without_an_even_readout_invariance_is_lost():
    conv = nn.OrientedConv(3, 4).double()
    with pytest.raises(AssertionError, match=r"f\(TH, TBT\) = f\(H, B\), but it fails on"):
        assert_orientation_invariant(
            lambda K, h: nn.global_pool(K, 1, conv(K, h)), in_channels=3, dim=1
        )
