"""Theorem 13: an MPSN layer is (simplex) permutation equivariant."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn import nn
from mpsn.errors import LayerError
from mpsn.testing import (
    assert_permutation_equivariant,
    assert_permutation_invariant,
    complexes,
)
from mpsn_reproduction.papers.sr import MLPSum

KINDS = ("simplicial", "cell", "cubical")
LAYERS = {
    "SINConv": lambda: nn.SINConv(3, 4, max_dim=3),
    "SINConv without co-faces": lambda: nn.SINConv(
        3, 4, max_dim=3, coface_message=False, act="relu", norm=True, train_eps=True
    ),
    "CINConv with lower messages": lambda: nn.CINConv(3, 4, max_dim=3, lower=True, train_eps=True),
    "CINConv without shared cells": lambda: nn.CINConv(
        3, 4, max_dim=3, lower=True, coface_message=False
    ),
    "OrientedConv": lambda: nn.OrientedConv(3, 4, act="tanh"),
    "OrientedConv unsigned": lambda: nn.OrientedConv(3, 4, act="relu", signed=False),
    "OrientedConv on triangles": lambda: nn.OrientedConv(3, 4, dim=2),
    "LinearMPSNConv": lambda: nn.LinearMPSNConv(3, 4, max_dim=3, act="relu"),
    "SNNConv": lambda: nn.SNNConv(3, 4, degree=3, bias=True),
    "SCConv": lambda: nn.SCConv(3, 4),
    "SCoNeConv": lambda: nn.SCoNeConv(3, 4),
    "MPSNConv": lambda: nn.MPSNConv(
        lambda receiver, boundary, coboundary, lower, upper: torch.cat(
            [receiver, boundary, coboundary, lower, upper], dim=-1
        ),
        boundary=torch.nn.Linear(3, 3),
        coboundary=lambda receiver, sender: torch.sin(receiver * sender),
        lower=lambda sender, shared: torch.tanh(sender + shared),
        upper=lambda receiver, sender, shared: torch.cos(receiver + sender * shared),
        aggr=["sum", "max", "std"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_layer_is_equivariant(name, kind):
    torch.manual_seed(0)
    if name == "SCConv" and kind != "simplicial":
        with pytest.raises(LayerError, match=r"a simplicial complex, .* got C.*Complex; use CINCo"):
            assert_permutation_equivariant(LAYERS[name](), in_channels=3, kind=kind)
        return
    assert_permutation_equivariant(LAYERS[name](), in_channels=3, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["SINConv", "CINConv with lower messages", "LinearMPSNConv", "MPSNConv"]
)
@settings(max_examples=20)
@given(data=st.data())
def test_on_random_complexes(name, kind, data):
    torch.manual_seed(0)
    K = data.draw(complexes(max_vertices=7, oriented=True, kind=kind))
    assert_permutation_equivariant(LAYERS[name](), [K], in_channels=3)


MODELS = {
    "SIN": lambda: nn.models.SIN(in_channels=3, max_dim=3, layers=2),
    "CIN": lambda: nn.models.CIN(in_channels=3, max_dim=3, layers=2, lower=True),
    "MLPSum": lambda: MLPSum(in_channels=3, max_dim=3, hidden=8),
    "GIN": lambda: nn.models.GIN(in_channels=3, layers=2),
    "Hierarchical": lambda: nn.models.Hierarchical(in_channels=3, max_dim=3, layers=2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_models_are_invariant(name, kind):
    torch.manual_seed(0)
    model = MODELS[name]()
    assert_permutation_invariant(
        lambda K, xs: model.double().eval()(K.replace(x=xs)), in_channels=3, max_dim=3, kind=kind
    )


def test_a_sum_over_the_first_cells_is_not_invariant():
    with pytest.raises(AssertionError, match=r"Expected f\(PH, PBPᵀ\) = f\(H, B\), but it fails"):
        assert_permutation_invariant(lambda K, h: h[:2].sum(0), in_channels=3, dim=1)
