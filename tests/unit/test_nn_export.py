"""Whole networks as programs: torch.export and torch.compile take a complex as an argument."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.nn.models import CIN, GIN, SIN, EdgeFlowNet

pytestmark = pytest.mark.slow


def lifted(graphs, seed=0):
    union = mpsn.clique_complexes(graphs).union
    g = torch.Generator().manual_seed(seed)
    return union.replace(x=[torch.randn(n, 3, generator=g) for n in union.counts])


# torch.compile makes an instance of every autograd.Function it meets, and warns itself about it.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("coface", [False, True])
@pytest.mark.parametrize("rings", [False, True])
def test_networks_are_exported_and_compiled_with_their_complex(rings, coface):
    torch.manual_seed(0)
    model = SIN(in_channels=3, layers=2, coface_message=coface).eval()
    K = lifted([nx.complete_graph(4), nx.cycle_graph(5)])
    if rings:
        model = CIN(in_channels=3, layers=2, coface_message=coface, lower=True).eval()
        union = mpsn.ring_complexes([nx.petersen_graph(), nx.cycle_graph(5)], max_ring=6).union
        K = union.replace(x=[torch.randn(n, 3) for n in union.counts])
    program = torch.export.export(model, (K,))
    torch.testing.assert_close(program.module()(K), model(K))
    other = K.replace(x=[-x for x in K.x])
    torch.testing.assert_close(program.module()(other), model(other))
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    for C in (K, K.to_list()[0]):  # of which the second has other numbers of cells
        torch.testing.assert_close(compiled(C), model(C))


def test_other_models_are_exported_too():
    torch.manual_seed(0)
    K = lifted([nx.karate_club_graph()])
    gin = GIN(in_channels=3).eval()
    torch.testing.assert_close(torch.export.export(gin, (K,)).module()(K), gin(K))
    net, h = EdgeFlowNet(hidden=8), torch.randn(K.count(1), 5, 1)
    torch.testing.assert_close(torch.export.export(net, (K, h)).module()(K, h), net(K, h))


def test_a_transform_sees_the_features_inside_a_complex():
    torch.manual_seed(0)
    model = SIN(in_channels=3, layers=2).eval()
    K = lifted([nx.complete_graph(4)])
    slope = torch.func.grad(lambda x: model(K.replace(x=[x, *K.x[1:]])).sum())(K.x[0])
    x = K.x[0].clone().requires_grad_()
    (right,) = torch.autograd.grad(model(K.replace(x=[x, *K.x[1:]])).sum(), x)
    torch.testing.assert_close(slope, right)
