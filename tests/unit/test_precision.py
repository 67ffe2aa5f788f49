"""Half precision by autocast: outputs and gradients of every layer, model and readout."""

from contextlib import nullcontext
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch

import layers
import mpsn
from mpsn import nn
from mpsn._rows.rows import Rows
from mpsn._rows.sums import Matrix
from mpsn.errors import MPSNError
from mpsn.estimators import CellClassifier, SimplicialClassifier, load
from mpsn.nn import models
from mpsn.training import _run
from mpsn.training._device import computing, products
from mpsn_reproduction.papers.sr import MLPSum

ULP = 2**-8  # half the distance of numbers around 1 in bfloat16
LAYERS = {
    **{name: partial(make, 4, 4) for name, make in layers.LAYERS.items()},
    "SNNConv": lambda: nn.SNNConv(4, 8, 2),  # whose sums would saturate tanh
    "SINConv with norms": lambda: nn.SINConv(4, 8, 2, coface_message=False, norm=True),
    "CIN": lambda: models.CIN(in_channels=4, layers=2, lower=True),
    "SIN": lambda: models.SIN(in_channels=4, layers=2, jump=True),
    "GIN": lambda: models.GIN(in_channels=4),
    "MLPSum": lambda: MLPSum(in_channels=4),
    "CellNet": lambda: models.CellNet(in_channels=(4, 4, 4), dim=1),
    "oriented CellNet": lambda: models.CellNet(
        in_channels=(4, 4, 4), dim=1, oriented=True, odd=True
    ),
    "Hierarchical": lambda: models.Hierarchical(in_channels=4, ratio=1.0, jump=True),
    "Marked": lambda: models.Marked(models.CIN(in_channels=5)),
    "EdgeFlowNet": lambda: models.EdgeFlowNet(hidden=8),
    "Populate": lambda: nn.Populate(4, max_dim=2),
    **{
        f"readout by {reduce}": lambda reduce=reduce: nn.ComplexReadout(
            4, 8, 3, dims=(0, 1, 2), reduce=reduce, act="tanh"
        )
        for reduce in ("sum", "mean", "max", "softmax")
    },
}
RINGS = {"CINConv", "CIN", "OrientedConv", "SNNConv", "CellNet"}


def inputs(layer, rings):
    torch.manual_seed(0)
    graph = nx.random_geometric_graph(40, 0.3, seed=0)
    K = mpsn.ring_complex(graph, 5) if rings else mpsn.clique_complex(graph, max_dim=2)
    if isinstance(layer, nn.ComplexReadout):
        K = mpsn.collate([K, K.skeleton(1)])
    K = K.bare()
    xs = [torch.randn(n, 4, requires_grad=True) for n in K.counts]
    if isinstance(layer, models.EdgeFlowNet):
        return K, torch.randn(K.count(1), 3, 1, requires_grad=True)
    if isinstance(layer, nn.Populate):
        return K, xs[0]
    if hasattr(layer, "dim"):
        return K, xs[layer.dim]
    return K, xs[: 1 if isinstance(layer, models.GIN) else 3]


def run(layer, K, xs):
    """Return the outputs, and the gradients of the features and the parameters."""
    out = layer(K, xs)
    out = [out] if isinstance(out, torch.Tensor) else list(out)
    given = [xs] if isinstance(xs, torch.Tensor) else xs
    loss = sum(y.float().square().mean() for y in out)
    grads = torch.autograd.grad(loss, [*given, *layer.parameters()], allow_unused=True)
    return out, [g for g in grads if g is not None]


@pytest.mark.parametrize(
    ("name", "rings"),
    [*((name, False) for name in LAYERS), *((name, True) for name in sorted(RINGS))],
)
def test_outputs_and_gradients_are_those_of_single_precision_up_to_rounding(name, rings):
    torch.manual_seed(1)
    layer = LAYERS[name]().eval()
    K, xs = inputs(layer, rings)
    right, slopes = run(layer, K, xs)
    with torch.autocast("cpu", torch.bfloat16):
        got, found = run(layer, K, xs)
    assert all(y.dtype in (torch.bfloat16, torch.float32) for y in got)
    assert all(g.dtype == torch.float32 for g in found)  # of features and of weights
    for few, a, b in [(4, got, right), (16, found, slopes)]:  # roundings, one after another
        x, y = (torch.cat([t.float().flatten() for t in some]) for some in (a, b))
        assert (x - y).norm() < few * ULP * y.norm()


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ["from_faces", "from_cofaces", "upper", "lower", "gather"])
def test_sums_round_once(monkeypatch, name, traced):
    """Thousands of bfloat16 numbers, of which sums in their own type would lose most."""
    K = mpsn.clique_complex(nx.star_graph(3000))
    B = K.incidence(1)
    n = B.count if name in ("from_faces", "upper", "gather") else len(B)
    h = torch.rand(n, 3, generator=torch.manual_seed(0)).bfloat16().requires_grad_()
    sums = lambda h: getattr(B, name)(h)  # noqa: E731
    right = sums(h.double())
    (slope,) = torch.autograd.grad(right.sum(), h)
    if traced:  # what a compiler would see
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    got = sums(h)
    (found,) = torch.autograd.grad(got.sum(), h)
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got.double(), right, rtol=4 * ULP, atol=0)
    torch.testing.assert_close(found, slope, rtol=4 * ULP, atol=0)


def test_long_rows_in_half_precision():
    A = Matrix(Rows(torch.arange(3000), 3000, 3000), -torch.ones(3000))
    h = torch.rand(3000, 2).bfloat16()
    torch.testing.assert_close((A @ h).double(), -h.double().sum(0)[None], rtol=ULP, atol=0)


def test_what_autocast_does_is_undone():
    x = torch.randn(3, 3)
    for precision, dtype in (("bf16", torch.bfloat16), ("tf32", None), ("float32", None)):
        with computing(precision, torch.device("cpu")):
            assert (x @ x).dtype == (dtype or torch.float32)
    assert (x @ x).dtype == torch.float32


def test_estimators_in_half_precision(tmp_path):
    graphs = [nx.gnp_random_graph(12, p, seed=i) for i in range(12) for p in (0.1, 0.6)]
    y = ["thin", "thick"] * 12
    options = {"epochs": 5, "members": 1, "kernel": False, "device": "cpu"}
    model = SimplicialClassifier(precision="bf16", **options).fit(graphs, y)
    assert model.score(graphs, y) > 0.9
    assert all(p.dtype == torch.float32 for p in model.model_.parameters())
    model.save(tmp_path / "model")
    same = load(tmp_path / "model")
    assert same.precision == "bf16"
    half = same.predict_proba(graphs)
    assert half.dtype == np.float32
    np.testing.assert_allclose(half, model.predict_proba(graphs), atol=1e-6)
    full = same.set_params(precision="float32").predict_proba(graphs)
    assert 0 < np.abs(half - full).max() < 0.05
    cells = CellClassifier(precision="bf16", epochs=1, max_cells=1, device="cpu")
    cells.fit(graphs[1], np.arange(12) % 2)
    with pytest.raises(MPSNError, match="Expected precision float32, tf32 or bf16, got 'fp8'"):
        model.set_params(precision="fp8").fit(graphs, y)


def test_estimators_round_products_as_long_as_they_train(monkeypatch):
    entered = []
    monkeypatch.setattr(_run, "products", lambda *of: entered.append(of[0]) or nullcontext())
    graphs = [nx.path_graph(4), nx.complete_graph(4)] * 4
    options = {"epochs": 1, "members": 1, "kernel": False, "precision": "tf32"}
    SimplicialClassifier(hidden=4, **options).fit(graphs, [0, 1] * 4)
    assert entered == ["tf32"]


def test_products_of_threads_that_overlap():
    """The first block to begin ends first; afterwards all is as it was."""
    cuda, before = torch.device("cuda"), torch.get_float32_matmul_precision()
    first, second = products("tf32", cuda), products("tf32", cuda)
    for block in (first, second):
        block.__enter__()
        assert torch.get_float32_matmul_precision() == "high"
    first.__exit__(None, None, None)
    assert torch.get_float32_matmul_precision() == "high"
    second.__exit__(None, None, None)
    assert torch.get_float32_matmul_precision() == before
    for precision, device in (("bf16", cuda), ("tf32", torch.device("cpu"))):
        with products(precision, device):
            assert torch.get_float32_matmul_precision() == before
