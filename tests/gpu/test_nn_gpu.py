"""Layers on a GPU: the same numbers as on the CPU, compiled and deterministic too."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn import nn

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
]

LAYERS = {
    "SINConv": lambda: nn.SINConv(4, 8, 3),
    "SINConv without co-faces": lambda: nn.SINConv(4, 8, 3, coface_message=False, norm=True),
    "LinearMPSNConv": lambda: nn.LinearMPSNConv(4, 8, 3, act="tanh"),
    "SCConv": lambda: nn.SCConv(4, 8),
    "OrientedConv": lambda: nn.OrientedConv(4, 8, act="tanh"),
    "SNNConv": lambda: nn.SNNConv(4, 8, 2),
    "SCoNeConv": lambda: nn.SCoNeConv(4, 8),
}


def case(layer):
    torch.manual_seed(0)
    K = mpsn.clique_complex(nx.gnp_random_graph(60, 0.3, seed=0), max_dim=3)
    K = K.flip({k: torch.rand(K.count(k)) < 0.5 for k in range(1, K.dim + 1)})
    xs = [torch.randn(n, 4, dtype=torch.float64) for n in K.counts]
    if hasattr(layer, "dim"):
        return K, xs[layer.dim]
    return K, xs[: layer.max_dim + 1]


def run(layer, K, xs):
    """Return outputs and gradients of the parameters."""
    out = layer(K, xs)
    out = [out] if isinstance(out, torch.Tensor) else out
    loss = sum(y.square().sum() for y in out)
    grads = torch.autograd.grad(loss, list(layer.parameters()), allow_unused=True)
    return [t for t in (*out, *grads) if t is not None]


def to_gpu(xs):
    return xs.cuda() if isinstance(xs, torch.Tensor) else [x.cuda() for x in xs]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_gpu_agrees_with_cpu(name, compiled):
    torch._dynamo.reset()
    layer = LAYERS[name]().double()
    K, xs = case(layer)
    expected = run(layer, K, xs)
    layer = layer.cuda()
    got = run(torch.compile(layer, fullgraph=True) if compiled else layer, K.to("cuda"), to_gpu(xs))
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", LAYERS)
def test_deterministic_on_gpu(name, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    layer = LAYERS[name]().double()
    K, xs = case(layer)
    K, xs, layer = K.to("cuda"), to_gpu(xs), layer.cuda()
    torch.use_deterministic_algorithms(True)
    try:
        first, second = run(layer, K, xs), run(layer, K, xs)
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_edge_flows_on_gpu():
    torch.manual_seed(0)
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    net = nn.models.EdgeFlowNet(nn.models.EdgeFlowConfig(hidden=8)).double()
    h = torch.randn(78, 5, 1, dtype=torch.float64)
    expected = net(K, h)
    torch.testing.assert_close(net.cuda()(K.to("cuda"), h.cuda()).cpu(), expected)
