"""Layers on a GPU: the same numbers as on the CPU, compiled and deterministic too."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn import nn

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
]

LAYERS = {
    "SINConv": lambda: nn.SINConv(4, 8, 3),
    "CINConv": lambda: nn.CINConv(4, 8, 3, lower=True),
    "SINConv without co-faces": lambda: nn.SINConv(4, 8, 3, coface_message=False, norm=True),
    "LinearMPSNConv": lambda: nn.LinearMPSNConv(4, 8, 3, act="tanh"),
    "SCConv": lambda: nn.SCConv(4, 8),
    "OrientedConv": lambda: nn.OrientedConv(4, 8, act="tanh"),
    "SNNConv": lambda: nn.SNNConv(4, 8, 2),
    "SCoNeConv": lambda: nn.SCoNeConv(4, 8),
}


KINDS = {
    "cliques": lambda: mpsn.clique_complex(nx.gnp_random_graph(60, 0.3, seed=0), max_dim=3),
    "rings": lambda: mpsn.ring_complex(nx.gnp_random_graph(40, 0.2, seed=0), 6, max_dim=3),
    "cubes": lambda: mpsn.cubical_complex(torch.rand(4, 5, 6)).bare(),
}


def case(layer, kind="cliques"):
    torch.manual_seed(0)
    K = KINDS[kind]()
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_gpu_agrees_with_cpu(name, compiled, kind):
    torch._dynamo.reset()
    layer = LAYERS[name]().double()
    if name == "SCConv" and kind != "cliques":
        return  # defined for triangles
    K, xs = case(layer, kind)
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
    net = nn.models.EdgeFlowNet(hidden=8).double()
    h = torch.randn(78, 5, 1, dtype=torch.float64)
    expected = net(K, h)
    torch.testing.assert_close(net.cuda()(K.to("cuda"), h.cuda()).cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [1, 1000, 2500])
def test_sparse_rows(dtype, columns):
    """The Triton kernel against a dense matrix; the same bits every time."""
    from mpsn._rows.sums import Matrix

    torch.manual_seed(0)
    A = torch.randn(50, 70, dtype=torch.float64) * (torch.rand(50, 70) < 0.1)
    rows, at = A.nonzero(as_tuple=True)
    sparse = Matrix.of(rows.cuda(), at.cuda(), A[rows, at].cuda(), (50, 70))
    h = torch.randn(70, columns, dtype=dtype)
    out = sparse @ h.cuda()
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(out.cpu(), A.to(dtype) @ h, rtol=tolerance, atol=tolerance)
    assert torch.equal(out, sparse @ h.cuda())


def derivatives(function, inputs):
    """Return the value, first derivatives and some of the second."""
    inputs = [t.cuda().requires_grad_() for t in inputs]
    out = function(*inputs)
    first = torch.autograd.grad(out.square().sum(), inputs, retain_graph=True)
    slopes = torch.autograd.grad(out.square().sum(), inputs, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in slopes), inputs)
    return [out, *first, *second]


def plain_messages(p, q, B, act):
    return B.upper_messages(act(B.gather(p) + B.spread(q)))


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("act", ["elu", "relu", "tanh", "id"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rings", [False, True])
def test_messages_in_one_kernel(rings, act, k, batch, dtype):
    """The Triton kernels against a chain of torch's operations."""
    from mpsn.nn._checks import activation
    from mpsn.nn.functional import coface_messages, split_linear

    torch.manual_seed(0)
    graph = nx.gnp_random_graph(30, 0.4, seed=0)
    K = mpsn.ring_complex(graph, 7, 3) if rings else mpsn.clique_complex(graph, max_dim=3)
    K = K.to("cuda")
    shapes = (K.count(k), *batch, 5), (K.count(k + 1), *batch, 3), (70, 8), (70,)
    inputs, act = [torch.randn(s, dtype=torch.float64).to(dtype) for s in shapes], activation(act)
    B = K.incidence(k + 1)
    got = derivatives(lambda h, c, w, b: coface_messages(h, c, B, w, b, act), inputs)
    right = derivatives(
        lambda h, c, w, b: plain_messages(*split_linear([h, c], w, b), B, act),
        [t.double() for t in inputs],
    )
    assert "coface_messages" in got[0].grad_fn.name()
    for a, b in zip(got, right, strict=True):
        scale = b.abs().max()
        tolerance = 1e-5 if dtype == torch.float32 else 1e-12
        torch.testing.assert_close(a.double() / scale, b / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("act", ["elu", "relu", "tanh", "id"])
def test_small_numbers_keep_their_digits(act):
    from mpsn.nn._checks import activation
    from mpsn.nn.functional import coface_messages

    K, a = mpsn.clique_complex(nx.path_graph(2), 1).to("cuda"), activation(act)
    x = torch.tensor([[-1e-5], [-1e-4]], device="cuda")
    eye, nothing = x.new_tensor([[1.0, 0.0]]), x.new_zeros(1)
    out = coface_messages(x, x.new_zeros(1, 1), K.incidence(1), eye, nothing, a)
    torch.testing.assert_close(out.double(), a(x.double()).flip(0), rtol=1e-6, atol=0)
