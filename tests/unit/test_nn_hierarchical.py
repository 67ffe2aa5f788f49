"""The network that pools between its layers, and its training."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.errors import LayerError
from mpsn.nn.models import SIN, Hierarchical
from mpsn.training import Trainer

SMALL = {"hidden": 8, "out_channels": 2, "layers": 3, "max_dim": 2, "jump": True}


def graphs():
    return [nx.gnp_random_graph(n, 0.5, seed=n) for n in range(1, 12)]


def lifted():
    K = mpsn.collate([mpsn.clique_complex(graph, 2) for graph in graphs()])
    torch.manual_seed(0)
    return K.replace(x=[torch.randn(n, 1) for n in K.counts])


class One(torch.nn.Module):
    def forward(self, x):
        return torch.ones_like(x[:, :1])


def test_without_pooling_it_is_sin():
    """If all cells are kept and all scores are 1, only SIN is left."""
    K = lifted()
    torch.manual_seed(0)
    model = Hierarchical(**SMALL, ratio=1.0)
    for pool in model.pools:
        pool.score, pool.act = One(), torch.nn.Identity()
    for jump in (True, False):
        torch.manual_seed(0)
        sin = SIN(**SMALL | {"jump": jump})
        same = Hierarchical(**model.settings | {"jump": jump})
        same.net.load_state_dict(sin.state_dict())
        same.pools = model.pools
        torch.testing.assert_close(same(K), sin(K))


@pytest.mark.parametrize("pool_dim", [0, 1, 2])
def test_a_batch_is_each_complex_alone(pool_dim):
    K = lifted()
    torch.manual_seed(0)
    model = Hierarchical(**SMALL, pool_dim=pool_dim, norm=True).eval()
    alone = torch.cat([model(one) for one in K.to_list()])
    torch.testing.assert_close(model(K), alone)
    model.train()(K).square().sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    assert all(grads[f"pools.{i}.score.weight"].abs().sum() > 0 for i in (0, 1))


def test_other_complexes_and_errors():
    ring = mpsn.ring_complex(nx.cycle_graph(5), 6)
    cube = mpsn.cubical_complex(torch.zeros(3, 3))
    for K in (ring, cube):
        xs = [torch.ones(n, 1) for n in K.counts]
        assert Hierarchical(**SMALL)(K, xs).shape == (1, 2)
    with pytest.raises(LayerError, match="pool_dim up to max_dim=2, got 3"):
        Hierarchical(pool_dim=3)
    with pytest.raises(LayerError, match="ratio above 0 and at most 1"):
        Hierarchical(**SMALL, ratio=0.0)
    with pytest.raises(LayerError, match="features of the"):
        Hierarchical(**SMALL)(ring, [])


def test_it_learns_to_classify():
    """Two classes that differ in their triangles; the same call gives the same network."""
    many = [nx.cycle_graph(n) for n in range(5, 25)] + [nx.complete_graph(n) for n in range(5, 25)]
    K = mpsn.clique_complexes(many, 2).union
    data = mpsn.complexes.ComplexDataset(K.replace(x=[torch.ones(n, 1) for n in K.counts[:3]]))
    y = torch.arange(40) // 20
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    split = {"train": order[:24], "val": order[24:32], "test": order[32:]}

    def fit():
        trainer = Trainer(
            lambda seed: Hierarchical(**SMALL),
            lr=0.02,
            epochs=6,
            batch_size=5,
            metrics=["accuracy"],
        )
        return trainer.fit(data, y, split)

    history = fit().histories[0]
    assert history.train[-1] < history.train[0]
    assert history.curves["test_accuracy"][-1] == 1
    assert fit().histories[0] == history


def test_numbers_can_be_regressed():
    K = mpsn.clique_complexes([nx.complete_graph(n) for n in (2, 3, 4, 5)] * 5, 2).union
    data = mpsn.complexes.ComplexDataset(K.replace(x=[torch.ones(n, 1) for n in K.counts[:3]]))
    y = torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416] * 5)
    every = torch.arange(20)
    trainer = Trainer(
        lambda seed: Hierarchical(**SMALL | {"out_channels": 1, "act": "tanh"}),
        loss="mse",
        lr=0.02,
        epochs=40,
        batch_size=4,
    )
    trainer.fit(data, y, (every[:12], every[12:16]))
    assert trainer.score(data, y, every[16:]) > 0.8
