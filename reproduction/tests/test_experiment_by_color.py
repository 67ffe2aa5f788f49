"""SIN once per SWL color gives what SIN gives."""

import networkx as nx
import pytest
import torch
import torch.nn.functional as nnf
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn import MPSNError
from mpsn.datasets import strongly_regular
from mpsn.nn.models import CIN, SIN
from mpsn.testing import complexes
from mpsn_reproduction.engines.by_color import ColorClasses
from mpsn_reproduction.engines.color_layer import ROWS, color_layer, elu

OPTIONS = [
    {},
    {"train_eps": True},
    {"norm": True},
    {"jump": True, "readout": "mean", "act": "tanh"},
    {"coface_message": False, "eps": 0.3, "readout_dims": (2, 0), "jump": True},
]


def both_ways(K, dtype=torch.float64, **options):
    torch.manual_seed(0)
    model = SIN(max_dim=4, layers=4, hidden=8, **options).to(dtype).eval()
    for conv in model.convs:
        if conv.eps is not None:
            torch.nn.init.uniform_(conv.eps)  # one for every dimension and part
    values = [1.0, 2.0, -0.5, 3.0, 4.0]
    xs = [torch.full((n, 1), v, dtype=dtype) for n, v in zip(K.counts, values, strict=False)]
    return ColorClasses(K, 4).embed(model, values), model(K, xs).detach()


@settings(max_examples=20)
@given(st.lists(complexes(max_vertices=7), min_size=1, max_size=3), st.sampled_from(OPTIONS))
def test_equal_on_random_unions(several, options):
    several = [K for K in several if K.num_nodes]  # SWL refuses complexes without vertices
    if several:
        K = mpsn.collate(several)
        torch.testing.assert_close(*both_ways(K, **options), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_on_strongly_regular_graphs(dtype):
    K = mpsn.clique_complexes(strongly_regular(25, 12, 5, 6), None).union
    ours, forward = both_ways(K, dtype)
    torch.testing.assert_close(
        ours, forward, rtol=1e-4 if dtype == torch.float32 else 1e-12, atol=0
    )
    assert torch.pdist(ours.double()).max() > 0.1  # it is not all one


def test_layers_that_are_compiled():
    assert color_layer(SIN().double().convs[0]) is not None
    assert color_layer(SIN().convs[0]) is None
    for options in ({"act": "tanh"}, {"norm": True}, {"coface_message": False}, {"hidden": 32}):
        assert color_layer(SIN(**options).double().convs[0]) is None
    classes = ColorClasses(mpsn.clique_complexes(strongly_regular(25, 12, 5, 6), None).union, 4)
    assert max(len(part.own) for part in classes.rounds[-1]) > ROWS  # several blocks above


def test_depth_must_fit():
    classes = ColorClasses(mpsn.clique_complex(nx.path_graph(3)), 2)
    with pytest.raises(MPSNError, match=r"Expected a SIN of 2 layers .*, got SIN\(.*layers=5"):
        classes.embed(SIN(), [1.0, 2.0, 3.0])
    for model in (CIN(layers=2, lower=True), SIN(layers=2, in_channels=(1, 1, 1))):
        with pytest.raises(MPSNError, match="reads one feature of each simplex, without lower"):
            classes.embed(model, [1.0, 2.0, 3.0])


def test_elu_in_double_precision():
    inf = torch.tensor([torch.inf, -torch.inf, 0.0, -1e308, 5e-324, -5e-324], dtype=torch.float64)
    small = -torch.logspace(-320, 3, 5000, dtype=torch.float64)
    x = torch.cat([inf, small, torch.linspace(-60, 5, 5000, dtype=torch.float64)])
    expected = nnf.elu(x)
    elu(x.numpy())
    torch.testing.assert_close(x, expected, rtol=5e-16, atol=0)
    nan = torch.tensor([torch.nan], dtype=torch.float64)
    elu(nan.numpy())
    assert nan.isnan()
