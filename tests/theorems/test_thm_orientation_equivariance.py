"""Theorem 14: with odd functions and relative orientations, a layer is orientation equivariant."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn import nn
from mpsn.testing import assert_orientation_equivariant, complexes


def odd_mpsn():
    """Build a general layer of odd functions, on the linear road and on the explicit one."""
    return nn.MPSNConv(
        lambda receiver, boundary, coboundary, lower, upper: torch.tanh(
            receiver + boundary + coboundary + lower + upper
        ),
        boundary=torch.tanh,
        coboundary=lambda receiver, sender: torch.sin(receiver) + sender**3,
        lower=lambda sender, shared: torch.tanh(sender - 2 * shared),
        upper=lambda receiver, sender, shared: receiver * sender * shared + torch.sin(sender),
        signed=True,
    )


ODD = {
    "OrientedConv id": lambda: nn.OrientedConv(3, 4),
    "OrientedConv tanh": lambda: nn.OrientedConv(3, 4, act="tanh"),
    "OrientedConv on tetrahedra": lambda: nn.OrientedConv(3, 4, dim=3, act="tanh"),
    "LinearMPSNConv": lambda: nn.LinearMPSNConv(3, 4, max_dim=3, act="tanh"),
    "SNNConv": lambda: nn.SNNConv(3, 4, degree=3, act="tanh"),
    "SCoNeConv": lambda: nn.SCoNeConv(3, 4),
    "SCConv": lambda: nn.SCConv(3, 4, act="tanh"),
    "MPSNConv": odd_mpsn,
}
NOT_ODD = {
    "OrientedConv relu": lambda: nn.OrientedConv(3, 4, act="relu"),
    "OrientedConv bias": lambda: nn.OrientedConv(3, 4, act="tanh", bias=True),
    "OrientedConv unsigned": lambda: nn.OrientedConv(3, 4, act="tanh", signed=False),
    "LinearMPSNConv relu": lambda: nn.LinearMPSNConv(3, 4, max_dim=2, act="relu"),
    "SNNConv relu": lambda: nn.SNNConv(3, 4, degree=2, act="relu"),
    "SNNConv bias": lambda: nn.SNNConv(3, 4, degree=2, bias=True),
    "SCoNeConv relu": lambda: nn.SCoNeConv(3, 4, act="relu"),
    "SCConv relu": lambda: nn.SCConv(3, 4, act="relu"),
    "SINConv": lambda: nn.SINConv(3, 4, max_dim=2),
}


KINDS = ("simplicial", "cell", "cubical")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ODD)
def test_odd_layers_are_equivariant(name, kind):
    torch.manual_seed(0)
    if name != "SCConv" or kind == "simplicial":
        assert_orientation_equivariant(ODD[name](), in_channels=3, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NOT_ODD)
def test_the_kit_catches_those_that_are_not(name, kind):
    torch.manual_seed(0)
    if name == "SCConv relu" and kind != "simplicial":
        return
    with pytest.raises(AssertionError, match=r"Expected f\(TH, TBT\) = T f\(H, B\), but it fails"):
        assert_orientation_equivariant(NOT_ODD[name](), kind=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["OrientedConv tanh", "LinearMPSNConv", "MPSNConv"])
@settings(max_examples=20)
@given(data=st.data())
def test_on_random_complexes(name, kind, data):
    torch.manual_seed(0)
    K = data.draw(complexes(max_vertices=7, oriented=True, kind=kind))
    assert_orientation_equivariant(ODD[name](), [K], in_channels=3)


def test_equivariance_passes_through_a_stack():
    torch.manual_seed(0)
    first, second = nn.LinearMPSNConv(3, 4, 2, act="tanh"), nn.LinearMPSNConv(4, 2, 2, act="tanh")
    first, second = first.double(), second.double()
    assert_orientation_equivariant(lambda K, xs: second(K, first(K, xs)), in_channels=3, max_dim=2)
