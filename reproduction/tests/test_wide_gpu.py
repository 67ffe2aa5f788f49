"""Training in one pass on a GPU: captured = eager = one by one on a CPU."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.nn.models import CIN, GIN, SIN
from mpsn_reproduction.engines.graph_training import Parts, Training, train
from mpsn_reproduction.engines.tu_training import Settings, Split, train_folds

# Of what torch.compile itself looks at.
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:The .grad attribute")]

SIZES = (3, 16, 2, 2)
BUILD = {
    "SIN": lambda i: SIN(*SIZES, coface_message=False, act="relu", norm=True).double(),
    "SIN, no norm": lambda i: SIN(*SIZES, coface_message=False).double(),
    "SIN, relu, no norm": lambda i: SIN(*SIZES, coface_message=False, act="relu").double(),
    "GIN": lambda i: GIN(*SIZES, act="relu", norm=True).double(),
}


@pytest.mark.parametrize("name", BUILD)
def test_captured_is_eager_is_cpu(name):
    """Float64, so that what differs is rounding; enough epochs for every shape to be replayed."""
    generator = torch.Generator().manual_seed(0)
    graphs = [nx.gnp_random_graph(5 + i % 17, 0.4, seed=i) for i in range(60)]
    union = mpsn.clique_complexes(graphs, max_dim=2).union
    x = torch.randn(union.count(0), 3, generator=generator).double()
    dataset = mpsn.ComplexDataset(mpsn.lift_features(union.replace(x=[x]), "mean", 2))
    parts = torch.arange(60).tensor_split(6)
    splits = [
        Split(torch.cat([*parts[:i], *parts[i + 2 :]]), parts[i], parts[i + 1]) for i in range(5)
    ]
    curves = []
    for device, capture in (("cpu", False), ("cuda", False), ("cuda", True)):
        trained = train_folds(
            dataset,
            torch.arange(60) % 2,
            splits,
            BUILD[name],
            Settings(epochs=8, batch_size=7, lr=0.001),
            seeds=range(5),
            device=device,
            capture=capture,
        )
        curves.append(torch.tensor([one.curve["loss"] for one in trained]))
    torch.testing.assert_close(curves[1], curves[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(curves[2], curves[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["CIN", "GINE"])
def test_rings_captured_are_eager_are_cpu(name):
    """The same for rings, averaged weights, and statistics computed anew."""
    generator = torch.Generator().manual_seed(0)
    graphs = [nx.gnp_random_graph(5 + i % 9, 0.3, seed=i) for i in range(60)]
    union = mpsn.ring_complexes(graphs, 6).union
    x = [torch.randn(n, 3 - k, generator=generator).double() for k, n in enumerate(union.counts)]
    dataset = mpsn.ComplexDataset(union.replace(x=x))
    y = torch.tensor([[float(graph.number_of_edges())] for graph in graphs]).double()
    sizes = {"hidden": 16, "out_channels": 1, "layers": 2, "act": "relu", "norm": True}

    def build():
        if name == "CIN":
            return CIN((3, 2, 1), **sizes).double()
        return GIN(3, edge_channels=2, **sizes).double()

    curves = []
    for device, capture in (("cpu", False), ("cuda", False), ("cuda", True)):
        trained = train(
            dataset,
            y,
            Parts(*torch.arange(60).split([40, 10, 10])),
            build,
            Training(epochs=6, batch_size=7, average=0.5),
            "mae",
            seeds=range(3),
            device=device,
            capture=capture,
        )
        curves.append(torch.stack([torch.stack([c.loss, c.val[:, 0]]) for c in trained]))
    # Biases before norms have no gradient but rounding, which Adam blows up.
    torch.testing.assert_close(curves[1], curves[0], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(curves[2], curves[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_precision_of_captured_steps(precision):
    """Captured is eager, and within rounding of float32 on a CPU."""
    generator = torch.Generator().manual_seed(0)
    union = mpsn.clique_complexes([nx.gnp_random_graph(12, 0.4, seed=i) for i in range(40)]).union
    x = [torch.randn(n, 3, generator=generator) for n in union.counts[:3]]
    dataset = mpsn.ComplexDataset(union.skeleton(2).replace(x=x))
    parts = torch.arange(40).tensor_split(4)
    splits = [Split(torch.cat(parts[:2]), *parts[2:])] * 3
    build = BUILD["SIN"]
    losses = []
    for kind, device, capture in (
        ("float32", "cpu", False),
        (precision, "cuda", False),
        (precision, "cuda", True),
    ):
        settings = Settings(epochs=4, batch_size=8, lr=0.001, precision=kind)
        options = {"seeds": range(3), "device": device, "capture": capture}
        found = train_folds(
            dataset, torch.arange(40) % 2, splits, lambda i: build(i).float(), settings, **options
        )
        losses.append(torch.tensor([one.curve["loss"] for one in found]))
    torch.testing.assert_close(losses[1], losses[0], rtol=0.1, atol=0)
    torch.testing.assert_close(losses[2], losses[1], rtol=0.05, atol=0)
    assert not torch.allclose(losses[1], losses[0], rtol=1e-5, atol=0)
