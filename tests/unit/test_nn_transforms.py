"""Derivatives forward and backward, maps and both at once: every layer under torch's transforms."""

import networkx as nx
import pytest
import torch
from torch.autograd import forward_ad
from torch.func import hessian, jacfwd, jacrev, jvp, vmap

import mpsn
from mpsn import nn

LAYERS = {
    "SINConv": lambda: nn.SINConv(2, 2, 2),
    "SINConv without co-faces": lambda: nn.SINConv(2, 2, 2, coface_message=False),
    "CINConv": lambda: nn.CINConv(2, 2, 2, lower=True),
    "LinearMPSNConv": lambda: nn.LinearMPSNConv(2, 2, 2, act="tanh"),
    "SCConv": lambda: nn.SCConv(2, 2),
    "OrientedConv": lambda: nn.OrientedConv(2, 2, act="tanh"),
    "SNNConv": lambda: nn.SNNConv(2, 2, 2, act="tanh"),
    "SCoNeConv": lambda: nn.SCoNeConv(2, 2, act="tanh"),
    "MPSNConv": lambda: nn.MPSNConv(
        lambda receiver, boundary, coboundary, lower, upper: torch.tanh(
            receiver + boundary + coboundary + lower + upper
        ),
        boundary=torch.nn.Linear(2, 2),
        coboundary=torch.tanh,
        lower=lambda sender, shared: sender * shared,
        upper=lambda sender, shared: sender * shared,
        signed=True,
    ),
    "MPSNConv by pairs": lambda: nn.MPSNConv(
        lambda receiver, lower, upper: receiver + lower[:, :2] + upper[:, 2:],
        lower=lambda sender, receiver: torch.tanh(sender * receiver),
        upper=torch.nn.Linear(2, 2),
        aggr=["max", "sum"],
    ),
}
pytestmark = [
    pytest.mark.parametrize("dtype", [torch.float32, torch.float64]),
    pytest.mark.parametrize("name", LAYERS),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # of vmap in torch itself
]
SIMPLICES = mpsn.clique_complex(nx.complete_graph(4), 2)
EDGES = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [4, 2]]
CELLS = mpsn.CellComplex.from_boundaries(5, [EDGES, [[0, 1, 2, 3], [2, 3, 4, 5]]])


def complex_for(name):
    """Return a cell complex for some of the layers, a simplicial one for the others."""
    return CELLS if name in ("CINConv", "MPSNConv", "SNNConv") else SIMPLICES


def of_edges(name, dtype):
    """Return a layer as a function from edges to edges, features of edges, and a direction."""
    torch.manual_seed(0)
    K = complex_for(name)
    layer = LAYERS[name]().to(dtype)
    xs = [torch.randn(n, 2, dtype=dtype) for n in K.counts]

    def function(h):
        return layer(K, h) if hasattr(layer, "dim") else layer(K, [xs[0], h, xs[2]])[1]

    return function, xs[1], torch.randn_like(xs[1])


def by_rows(function, h):
    """Return the Jacobian, one backward derivative after the other."""
    h = h.clone().requires_grad_()
    out = function(h)
    rows = [torch.autograd.grad(y, h, retain_graph=True)[0] for y in out.flatten()]
    return torch.stack(rows).view(*out.shape, *h.shape)


def agree(got, right):
    tolerance = 1e-4 if right.dtype == torch.float32 else 1e-10
    torch.testing.assert_close(got, right, rtol=tolerance, atol=tolerance)


def test_forward_derivatives(name, dtype):
    f, h, v = of_edges(name, dtype)
    J = by_rows(f, h)
    right = torch.einsum("abcd,cd->ab", J, v)
    with forward_ad.dual_level():
        agree(forward_ad.unpack_dual(f(forward_ad.make_dual(h, v))).tangent, right)
    agree(jvp(f, (h,), (v,))[1], right)
    agree(jacfwd(f)(h), J)


def test_forward_derivatives_by_weights_alone(name, dtype):
    torch.manual_seed(0)
    K, layer = complex_for(name), LAYERS[name]().to(dtype)
    weights = {key: p.detach() for key, p in layer.named_parameters()}
    xs = [torch.randn(n, 2, dtype=dtype) for n in K.counts]
    given = xs[layer.dim] if hasattr(layer, "dim") else xs
    along = {key: torch.randn_like(w) for key, w in weights.items()}

    def function(weights):
        out = torch.func.functional_call(layer, weights, (K, given))
        return out if hasattr(layer, "dim") else torch.cat(out)

    with forward_ad.dual_level():
        duals = {key: forward_ad.make_dual(w, along[key]) for key, w in weights.items()}
        got = forward_ad.unpack_dual(function(duals)).tangent
    _, back = torch.func.vjp(function, weights)
    v = torch.randn_like(got)
    right = sum((back(v)[0][key] * along[key]).sum() for key in weights)
    agree((v * got).sum() / right, torch.ones((), dtype=dtype))


def test_backward_derivatives(name, dtype):
    f, h, _ = of_edges(name, dtype)
    J = by_rows(f, h)
    agree(jacrev(f)(h), J)
    agree(torch.autograd.functional.jacobian(f, h, vectorize=True), J)


def test_many_features_at_once(name, dtype):
    f, h, v = of_edges(name, dtype)
    many = torch.stack([h, v, h - v])
    agree(vmap(f)(many), torch.stack([f(x) for x in many]))


def test_second_derivatives(name, dtype):
    f, h, _ = of_edges(name, dtype)

    def slope(x):
        return torch.autograd.grad(f(x).square().sum(), x, create_graph=True)[0]

    agree(hessian(lambda x: f(x).square().sum())(h), by_rows(slope, h))
