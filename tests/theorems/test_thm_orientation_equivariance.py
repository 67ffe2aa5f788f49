"""Theorem 14, with Proposition 39, Lemma 40 and the remarks after it: odd layers are equivariant.

Relative orientations and odd functions make a layer orientation equivariant. A perceptron without
biases is odd if its activation is. A layer that ignores orientations must be odd in the features of
the receiver and even in those of its neighbors.
"""

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


def perceptrons(act, bias):
    """Build a general layer whose messages and update are perceptrons of two layers."""

    def perceptron(width):
        first, last = torch.nn.Linear(width, 5, bias), torch.nn.Linear(5, 3, bias)
        return torch.nn.Sequential(first, act, last).double()

    update, message = perceptron(9), perceptron(6)
    return nn.MPSNConv(
        lambda receiver, boundary, upper: update(torch.cat([receiver, boundary, upper], dim=1)),
        boundary=perceptron(3),
        upper=lambda sender, shared: message(torch.cat([sender, shared], dim=1)),
        signed=True,
    )


def ignores_orientation(message):
    """Build a general layer that is odd in the receiver; no relative orientations are used."""
    return nn.MPSNConv(
        lambda receiver, boundary, coboundary, lower, upper: (
            torch.sin(receiver) * (boundary + coboundary + lower + upper)
        ),
        boundary=message,
        coboundary=message,
        lower=lambda sender, shared: message(sender) * message(shared),
        upper=lambda receiver, sender: torch.cos(receiver) * message(sender),
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
    "MPSNConv of perceptrons": lambda: perceptrons(torch.nn.Tanh(), bias=False),
    "MPSNConv without orientations": lambda: ignores_orientation(torch.cos),
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
    "MPSNConv of perceptrons with biases": lambda: perceptrons(torch.nn.Tanh(), bias=True),
    "MPSNConv of perceptrons with relu": lambda: perceptrons(torch.nn.ReLU(), bias=False),
    "MPSNConv without orientations, odd": lambda: ignores_orientation(torch.sin),
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
        assert_orientation_equivariant(NOT_ODD[name](), in_channels=3, kind=kind)


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
