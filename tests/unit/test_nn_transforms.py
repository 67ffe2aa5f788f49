"""Every layer under torch's transforms: derivatives, maps, programs of compilers and of export."""

import networkx as nx
import pytest
import torch
from torch.autograd import forward_ad
from torch.func import hessian, jacfwd, jacrev, jvp, vmap

import mpsn
from layers import LAYERS, OF_SIMPLICES, called

BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
pytestmark = [
    pytest.mark.parametrize("name", LAYERS),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # of vmap in torch itself
    # torch.compile makes an instance of every autograd.Function it meets, and warns about it.
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
]
SIMPLICES = mpsn.clique_complex(nx.complete_graph(4), 2)
EDGES = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [4, 2]]
CELLS = mpsn.CellComplex.from_boundaries(5, [EDGES, [[0, 1, 2, 3], [2, 3, 4, 5]]])


def of_edges(name, dtype):
    """Return a layer as a function from edges to edges, features of edges, and a direction."""
    torch.manual_seed(0)
    K = SIMPLICES if name in OF_SIMPLICES else CELLS
    layer = LAYERS[name](2, 2).to(dtype)
    xs = [torch.randn(n, 2, dtype=dtype) for n in K.counts]

    def function(h):
        out = called(layer, K, [xs[0], h, xs[2]])
        return out if isinstance(out, torch.Tensor) else out[1]

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


@BOTH
def test_forward_derivatives(name, dtype):
    f, h, v = of_edges(name, dtype)
    J = by_rows(f, h)
    right = torch.einsum("abcd,cd->ab", J, v)
    with forward_ad.dual_level():
        agree(forward_ad.unpack_dual(f(forward_ad.make_dual(h, v))).tangent, right)
    agree(jvp(f, (h,), (v,))[1], right)
    agree(jacfwd(f)(h), J)


@BOTH
def test_forward_derivatives_by_weights_alone(name, dtype):
    torch.manual_seed(0)
    K, layer = SIMPLICES if name in OF_SIMPLICES else CELLS, LAYERS[name](2, 2).to(dtype)
    weights = {key: p.detach() for key, p in layer.named_parameters()}
    xs = [torch.randn(n, 2, dtype=dtype) for n in K.counts]
    along = {key: torch.randn_like(w) for key, w in weights.items()}

    def function(weights):
        given = xs[layer.dim] if hasattr(layer, "dim") else xs
        out = torch.func.functional_call(layer, weights, (K, given))
        return out if hasattr(layer, "dim") else torch.cat(out)

    with forward_ad.dual_level():
        duals = {key: forward_ad.make_dual(w, along[key]) for key, w in weights.items()}
        got = forward_ad.unpack_dual(function(duals)).tangent
    _, back = torch.func.vjp(function, weights)
    v = torch.randn_like(got)
    right = sum((back(v)[0][key] * along[key]).sum() for key in weights)
    agree((v * got).sum() / right, torch.ones((), dtype=dtype))


@BOTH
def test_backward_derivatives(name, dtype):
    f, h, _ = of_edges(name, dtype)
    J = by_rows(f, h)
    agree(jacrev(f)(h), J)
    agree(torch.autograd.functional.jacobian(f, h, vectorize=True), J)


@BOTH
def test_many_features_at_once(name, dtype):
    f, h, v = of_edges(name, dtype)
    many = torch.stack([h, v, h - v])
    agree(vmap(f)(many), torch.stack([f(x) for x in many]))


@BOTH
def test_second_derivatives(name, dtype):
    f, h, _ = of_edges(name, dtype)

    def slope(x):
        return torch.autograd.grad(f(x).square().sum(), x, create_graph=True)[0]

    agree(hessian(lambda x: f(x).square().sum())(h), by_rows(slope, h))


def test_derivatives_by_differences(name):
    f, h, _ = of_edges(name, torch.float64)
    h.requires_grad_()
    assert torch.autograd.gradcheck(f, h)
    assert torch.autograd.gradgradcheck(f, h)


def both(name):
    """Return a layer and two complexes with other numbers of cells and other signs."""
    torch.manual_seed(0)
    for seed in (0, 2):
        graph = nx.gnp_random_graph(9 + seed, 0.6, seed=seed)
        simplices = seed == 0 or name in OF_SIMPLICES
        K = mpsn.clique_complex(graph, max_dim=2) if simplices else mpsn.ring_complex(graph, 9)
        K = K.flip({1: torch.rand(K.count(1)) < 0.5})
        yield K, [torch.randn(K.count(k), 2, requires_grad=True) for k in range(3)]


@pytest.mark.slow
def test_compiled_as_one_graph(name):
    torch._dynamo.reset()
    layer = LAYERS[name](2, 2)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for K, xs in both(name):
        pairs = [called(run, K, xs) for run in (compiled, layer)]
        torch.testing.assert_close(*pairs)
        got, right = (
            torch.autograd.grad([y.sum() for y in out], xs, allow_unused=True) for out in pairs
        )
        torch.testing.assert_close(got, right, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_exported(name):
    layer = LAYERS[name](2, 2)
    K, xs = next(both(name))
    given = xs[layer.dim] if hasattr(layer, "dim") else xs
    program = torch.export.export(layer, (K, given))
    torch.testing.assert_close(program.module()(K, given), layer(K, given))
