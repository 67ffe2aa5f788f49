"""Layers and models give on the GPU what they give on the CPU. Skipped, visibly, without one."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn import clique_complex, nn
from mpsn.nn.models import GIN, SIN, EdgeFlowConfig, EdgeFlowNet, GINConfig, SINConfig

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

K = clique_complex(nx.gnp_random_graph(40, 0.3, seed=0), 2)
XS = [torch.randn(n, 4, dtype=torch.float64, generator=torch.manual_seed(0)) for n in K.counts]
MANY = {
    "SINConv": lambda: nn.SINConv(4, 4, max_dim=2),
    "SINConv with co-faces": lambda: nn.SINConv(4, 4, max_dim=2, coface_message=True),
    "LinearMPSNConv": lambda: nn.LinearMPSNConv(4, 4, max_dim=2, act="tanh"),
    "SCConv": lambda: nn.SCConv(4, 4),
}
EDGES = {
    "OrientedConv": lambda: nn.OrientedConv(4, 4, act="tanh"),
    "SNNConv": lambda: nn.SNNConv(4, 4, degree=3),
    "SCoNeConv": lambda: nn.SCoNeConv(4, 4),
}


def outputs(layer, device, name):
    layer, there = layer.to(device), K.to(device)
    xs = [x.to(device, copy=True).requires_grad_() for x in XS]
    out = layer(there, xs) if name in MANY else [layer(there, xs[1])]
    sum((h**2).sum() for h in out).backward()
    return [h.detach().cpu() for h in out], [x.grad.cpu() for x in xs if x.grad is not None]


@pytest.mark.parametrize("name", [*MANY, *EDGES])
def test_layers(name):
    layer = {**MANY, **EDGES}[name]().double()
    torch.testing.assert_close(outputs(layer, "cuda", name), outputs(layer, "cpu", name))


@pytest.mark.parametrize("name", ["SINConv with co-faces", "OrientedConv"])
def test_compiled_layers(name):
    layer = {**MANY, **EDGES}[name]().double()
    expected = outputs(layer, "cpu", name)
    compiled = torch.compile(layer.cuda(), fullgraph=True)
    torch.testing.assert_close(outputs(compiled, "cuda", name), expected)


def test_deterministic_algorithms():
    torch.use_deterministic_algorithms(True)
    try:
        for name, make in {**MANY, **EDGES}.items():
            layer = make().double()
            first, second = (outputs(layer, "cuda", name) for _ in range(2))
            for a, b in zip(first[0] + first[1], second[0] + second[1], strict=True):
                assert torch.equal(a, b), name
    finally:
        torch.use_deterministic_algorithms(False)


def test_models():
    lifted = mpsn.lift_features(K.replace(x=[XS[0]]), "mean")
    for model in (SIN(SINConfig(in_channels=4)), GIN(GINConfig(in_channels=4))):
        model = model.double().eval()
        expected = model(lifted)
        torch.testing.assert_close(model.cuda()(lifted.to("cuda")).cpu(), expected)
    flows = torch.randn(K.count(1), 6, 1, dtype=torch.float64)
    net = EdgeFlowNet(EdgeFlowConfig(act="tanh")).double()
    expected = net(K, flows)
    torch.testing.assert_close(net.cuda()(K.to("cuda"), flows.cuda()).cpu(), expected)
