"""Half precision on a GPU: our own kernels, sums in single precision, parts of a large complex."""

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn import nn
from mpsn._rows.rows import Rows
from mpsn._rows.sums import Matrix
from mpsn.estimators import CellClassifier, SimplicialClassifier
from mpsn.nn._checks import activation
from mpsn.nn.functional.coface import messages
from mpsn.training import captured
from mpsn.training._device import computing, products

pytestmark = pytest.mark.gpu


ULP = 2**-8
KINDS = {
    "cliques": lambda: mpsn.clique_complex(nx.gnp_random_graph(60, 0.3, seed=0), max_dim=3),
    "hub": lambda: mpsn.clique_complex(nx.star_graph(3000)),
    "rings": lambda: mpsn.ring_complex(nx.gnp_random_graph(40, 0.2, seed=0), 6, max_dim=3),
    "cubes": lambda: mpsn.cubical_complex(torch.rand(4, 5, 6)).bare(),
}


def close(got, right, few):
    assert (got.double() - right.double()).norm() <= few * ULP * right.double().norm() + 1e-12


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("columns", [1, 64, 2500])
def test_sums_round_once(dtype, columns):
    torch.manual_seed(0)
    ptr = torch.tensor([0, 3, 3, 3003, 3010])  # an empty row, and a long one
    index, weight = torch.randint(50, (3010,)), torch.randn(3010)
    h = torch.rand(50, columns).to(dtype)
    A = Matrix(Rows(index.cuda(), 50, ptr=ptr.cuda()), weight.cuda())
    right = Matrix(Rows(index, 50, ptr=ptr), weight.double()) @ h.double()
    got = A @ h.cuda()
    assert got.dtype == dtype
    torch.testing.assert_close(got.cpu().double(), right, rtol=ULP, atol=1e-3)
    assert torch.equal(got, A @ h.cuda())


def test_sums_inside_a_graph():
    """Where it cannot be asked how long rows are, long ones are summed in single precision too."""
    sizes = torch.tensor([5000, 0, 3, 300])
    ptr = torch.nn.functional.pad(sizes.cumsum(0), (1, 0)).cuda()
    index = torch.randint(50, (5303,), generator=torch.Generator().manual_seed(0)).cuda()
    h = torch.rand(50, 64, device="cuda").bfloat16()

    def product():
        return Matrix(Rows(index, 50, ptr=ptr)).times(h)

    again = captured(product)
    found = [again().clone() for _ in range(3)]
    assert again.enabled
    expected = Matrix(Rows(index, 50, ptr=ptr)).times(h.double())
    for one in found:
        torch.testing.assert_close(one.double(), expected, rtol=ULP, atol=0)


@pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")  # first product, on torch's thread
def test_tf32_rounds_gradients_too():
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(64, 64).cuda(), torch.randn(500, 64, device="cuda")
    target = torch.randn(500, 64, device="cuda")

    def gradient(precision):
        layer.zero_grad()
        y = layer(x)  # not rounded
        with products(precision, x.device):
            torch.autograd.backward(y, target)
        return layer.weight.grad.clone()

    exact, rounded = gradient("float32"), gradient("tf32")
    assert not torch.allclose(rounded, exact, rtol=1e-5, atol=1e-5)
    close(rounded, exact, few=1)


def plain_messages(p, q, B, act):
    return B.upper_messages(act(B.gather(p) + B.spread(q)))


@pytest.mark.parametrize("act", ["elu", "relu", "tanh", "id"])
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("width", [5, 64, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_messages_in_half_precision(kind, width, batch, act):
    torch.manual_seed(0)
    K = KINDS[kind]().to("cuda")
    for k in range(K.dim):
        B, a = K.incidence(k + 1), activation(act)
        given = [torch.randn(n, *batch, width).bfloat16() for n in (K.count(k), K.count(k + 1))]
        half = [t.cuda().requires_grad_() for t in given]
        full = [t.double().cuda().requires_grad_() for t in given]
        got, right = messages(*half, B, a), plain_messages(*full, B, a)
        fused = B.width is not None
        assert ("coface_messages" in got.grad_fn.name()) == fused
        weight = torch.randn_like(right).bfloat16()
        slopes = torch.autograd.grad(got, half, weight)
        expected = torch.autograd.grad(right, full, weight.double())
        for x, y in zip([got, *slopes], [right, *expected], strict=True):
            assert x.dtype == torch.bfloat16
            close(x, y, 1 if fused else 4)
        if fused:  # nothing is added in an order that varies
            assert torch.equal(got, messages(*half, B, a))


@pytest.mark.parametrize("kind", ["cliques", "rings", "cubes"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_layer_in_half_precision(kind, compiled):
    torch._dynamo.reset()
    torch.manual_seed(0)
    K = KINDS[kind]().to("cuda")
    layer = nn.CINConv(16, 32, 3, lower=True, norm=True).cuda()
    xs = [torch.randn(n, 16, device="cuda") for n in K.counts]
    found = []
    for precision in ("float32", "tf32", "bf16"):
        run = torch.compile(layer) if compiled and precision == "bf16" else layer
        with computing(precision, torch.device("cuda")):
            out = run(K, xs)
        loss = sum(y.float().square().mean() for y in out)
        grads = torch.autograd.grad(loss, list(layer.parameters()), allow_unused=True)
        found.append((out, [g.flatten() for g in grads if g is not None]))
    for out, grads in found[1:]:
        for x, y in zip(out, found[0][0], strict=True):
            close(x, y, 8)
        close(torch.cat(grads), torch.cat(found[0][1]), 32)
    assert found[2][0][0].dtype == torch.bfloat16


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_estimators(precision):
    graphs = [nx.gnp_random_graph(12, p, seed=i) for i in range(20) for p in (0.2, 0.5)]
    y = ["thin", "thick"] * 20
    model = SimplicialClassifier(
        epochs=20, kernel=False, precision=precision, device="cuda", lift="rings"
    )
    assert model.fit(graphs, y).score(graphs, y) > 0.9


def test_a_large_complex_in_parts():
    """Neighborhoods come from worker processes, through pinned memory."""
    K = mpsn.clique_complex(nx.random_geometric_graph(400, 0.1, seed=0), max_dim=2).bare()
    many = torch.bincount(K.faces(2).reshape(-1), minlength=K.count(1)).numpy()
    y = (many > np.median(many)).astype(int)
    known = np.where(np.arange(len(y)) % 2, y, -1)
    model = CellClassifier(dim=1, epochs=20, max_cells=100, batch_size=128, device="cuda")
    model.fit(K, known)
    assert model.score(K, y) > 0.85
    parts = model.predict_proba(K)
    whole = model.set_params(max_cells=1 << 20).predict_proba(K)
    np.testing.assert_allclose(parts, whole, atol=1e-3)
