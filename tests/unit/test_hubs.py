"""Single precision at hubs: errors are those of a plain sum, and infinities stay where they are."""

import pytest
import torch

from mpsn import SimplicialComplex, nn
from mpsn.nn import functional as fn

LEAVES = 100_000
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
pytestmark = pytest.mark.parametrize("device", DEVICES)


def star(device, leaves=LEAVES):
    """A center, vertex 0, and its leaves."""
    leaf = torch.arange(1, leaves + 1)
    faces = torch.stack([leaf, torch.zeros_like(leaf)], 1)
    return SimplicialComplex(leaves + 1, [faces]).to(device)


def book(device, pages=2000):
    """Triangles that all share one edge, number 0."""
    return SimplicialComplex.from_simplices([[0, 1, page + 2] for page in range(pages)]).to(device)


def uneven(n, device, seed=0):
    """Small numbers, and a number 10^7 times as large in row 0."""
    h = 1e-3 * torch.rand(n, 1, generator=torch.Generator().manual_seed(seed))
    h[:1] = 1e4
    return h.to(device)


def relative(got, right):
    """Return the largest error, in units of the right number or of the typical one."""
    got, right = got.detach().double(), right.detach()
    unit = right.abs().clamp(min=right.abs().median())
    return float(((got - right) / unit).abs().max())


CASES = {
    "upper neighbors of a hub": (star, 0, "upper"),
    "lower neighbors of its edges": (star, 1, "lower"),
    "upper neighbors of a shared edge": (book, 1, "upper"),
    "lower neighbors of its triangles": (book, 2, "lower"),
}


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_sums_over_neighbors(case, signed, device):
    make, k, kind = CASES[case]
    K = make(device)
    h = uneven(K.count(k), device).requires_grad_()
    out = fn.aggregate(K, k, kind, h, signed=signed)
    double = h.detach().double().requires_grad_()
    right = fn.aggregate(K, k, kind, double, signed=signed)
    assert relative(out[:1], right[:1]) < 1e-5  # the hub's own number is far larger
    assert relative(out, right) < 1e-5
    weights = uneven(len(out), device, seed=1)
    grads = [
        torch.autograd.grad((y * weights.to(y.dtype)).sum(), x)[0]
        for y, x in ((out, h), (right, double))
    ]
    assert relative(*grads) < 1e-5


def test_the_figures_of_a_star(device):
    K = star(device)
    h = uneven(K.num_nodes, device)
    plain = h[1:].double().sum()
    assert abs(float(fn.aggregate(K, 0, "upper", h)[0]) / float(plain) - 1) < 1e-5
    assert fn.aggregate(K, 0, "upper", h)[1:].unique().tolist() == [1e4]


@pytest.mark.parametrize("case", CASES)
def test_messages_of_neighbors(case, device):
    make, k, kind = CASES[case]
    K = make(device)
    B = K.incidence(k + 1 if kind == "upper" else k)
    h = uneven(K.count(k), device)
    m = B.gather(h) if kind == "upper" else B.spread(h)
    exchange = B.upper_messages if kind == "upper" else B.lower_messages
    assert relative(exchange(m), exchange(m.double())) < 1e-5


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("case", CASES)
def test_what_is_not_finite_does_not_reach_its_own_sum(case, value, device):
    make, k, kind = CASES[case]
    K = make(device, 40)
    h = torch.ones(K.count(k), 1, device=device)
    expected = fn.aggregate(K, k, kind, h)
    h[0] = value
    out = fn.aggregate(K, k, kind, h)
    assert out[0] == expected[0]
    pairs = K.adjacency(k, kind)
    heard = pairs.receiver[pairs.sender == 0].unique()
    assert len(heard)
    assert not out[heard].isfinite().any()
    untouched = torch.ones(len(out), dtype=torch.bool, device=device)
    untouched[heard] = False
    assert torch.equal(out[untouched], expected[untouched])


LAYERS = {
    "SINConv": lambda: nn.SINConv(2, 4, 2),
    "SINConv without co-faces": lambda: nn.SINConv(2, 4, 2, coface_message=False),
    "OrientedConv": lambda: nn.OrientedConv(2, 4),
    "MPSNConv": lambda: nn.MPSNConv(
        lambda receiver, lower, upper: receiver + lower + upper,
        lower=lambda sender, shared: sender + shared,
        upper=lambda sender, shared: sender + shared,
    ),
}


@pytest.mark.parametrize("make", [star, book])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_agree_with_double_precision(name, make, device):
    torch.manual_seed(0)
    K, layer = make(device, 3000), LAYERS[name]().to(device)
    xs = [torch.cat([uneven(n, device), uneven(n, device, 1)], 1)[:n] for n in (*K.counts, 0)[:3]]
    given = xs[1] if hasattr(layer, "dim") else xs
    out = layer(K, given)
    twice = given.double() if hasattr(layer, "dim") else [x.double() for x in xs]
    right = layer.double()(K, twice)
    pairs = [(out, right)] if hasattr(layer, "dim") else zip(out, right, strict=True)
    for mine, theirs in pairs:
        for row, exact in zip(mine.T, theirs.T, strict=True):
            assert not row.numel() or relative(row, exact) < 2e-5
