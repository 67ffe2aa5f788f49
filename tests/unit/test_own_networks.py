"""Estimators with a network, settings of training and a split of the user's own."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit

import mpsn
from mpsn.errors import FileError, MPSNError
from mpsn.estimators import (
    CellRegressor,
    EdgeFlowClassifier,
    SimplexPredictor,
    SimplicialClassifier,
    SimplicialRegressor,
    load,
)
from mpsn.nn.models import CIN, GIN, SIN, CellNet, EdgeFlowNet
from mpsn.training import Trainer

pytestmark = pytest.mark.filterwarnings("ignore:predictions")
GRAPHS = [nx.gnp_random_graph(8, 0.2 + 0.4 * (i % 2), seed=i) for i in range(30)]
EDGES = np.array([graph.number_of_edges() for graph in GRAPHS], float)
NAMES = ["thin", "thick"] * 15
QUICK = {"epochs": 2, "members": 1, "kernel": False, "device": "cpu", "features": "degree"}
SMALL = partial(SIN, hidden=4, layers=1)


class Own(torch.nn.Module):
    """The mean degree of the vertices, and a dense layer."""

    def __init__(self, outputs=1):
        super().__init__()
        self.dense = torch.nn.Linear(1, outputs)

    def forward(self, K):
        ones = torch.ones(K.count(1), 1)
        return self.dense(mpsn.nn.global_pool(K, 0, K.incidence(1).from_cofaces(ones)))


@pytest.mark.parametrize("network", [Own(), lambda seed: Own(), SMALL, partial(GIN, hidden=4)])
def test_networks_of_all_kinds(network):
    model = SimplicialRegressor(network=network, **{**QUICK, "members": 2}).fit(GRAPHS, EDGES)
    assert model.predict(GRAPHS).shape == (30,)
    kind = type(network) if isinstance(network, torch.nn.Module) else type(model.model_.members[0])
    assert f"2 {kind.__name__}, averaged; " in model.summary()
    assert not torch.equal(*(next(member.parameters()) for member in model.model_.members))


def test_a_module_is_copied():
    network = Own()
    before = network.dense.weight.clone()
    model = SimplicialRegressor(network=network, **QUICK).fit(GRAPHS, EDGES)
    assert torch.equal(network.dense.weight, before)
    assert not torch.equal(model.model_.members[0].dense.weight, before)
    again = clone(model).fit(GRAPHS, EDGES)
    np.testing.assert_array_equal(again.predict(GRAPHS), model.predict(GRAPHS))


def test_functions_get_the_widths():
    graphs = [mpsn.clique_complex(graph, 2) for graph in GRAPHS]
    graphs = [K.replace(x=[torch.rand(K.count(0), 2), torch.rand(K.count(1), 1)]) for K in graphs]
    model = SimplicialClassifier(network=SMALL, **{**QUICK, "features": "auto"}).fit(graphs, NAMES)
    assert model.model_.members[0].in_channels == model.features_.widths
    assert model.model_.members[0].settings["out_channels"] == 2


def test_what_is_no_network_is_refused():
    for wrong in (3, lambda seed: seed):
        with pytest.raises(MPSNError, match="Expected a network"):
            SimplicialClassifier(network=wrong, **QUICK).fit(GRAPHS, NAMES)
    with pytest.raises(MPSNError, match=r"trainer as Trainer.settings\(...\), or None"):
        SimplicialClassifier(trainer=Trainer(Own()), **QUICK).fit(GRAPHS, NAMES)


def test_settings_of_the_trainer_are_used():
    seen = []

    def note(run):
        seen.append((run.settings.loss, run.size, float(run.optimizer.param_groups[0]["lr"])))

    how = Trainer.settings(
        loss="mae", schedule="cosine", average=0.9, lr=0.1, epochs=3, batch_size=5, callbacks=[note]
    )
    model = SimplicialRegressor(network=SMALL, trainer=how, **QUICK).fit(GRAPHS, EDGES)
    assert [row[:2] for row in seen] == [("mae", 5)] * 3
    assert [row[2] for row in seen] == pytest.approx([0.1, 0.075, 0.025])
    assert len(model.histories_[0].train) == 3


def test_the_loss_is_that_of_the_targets():
    gaps = np.array([[i % 2, np.nan if i % 3 else 1 - i % 2] for i in range(30)])
    for kind, y, loss in (
        (SimplicialClassifier, NAMES, "cross_entropy"),
        (SimplicialClassifier, gaps, "binary_cross_entropy"),
        (SimplicialRegressor, EDGES, "mse"),
    ):
        seen = []
        note = Trainer.settings(epochs=1, callbacks=[lambda run, seen=seen: seen.append(run)])
        kind(trainer=note, **QUICK).fit(GRAPHS, y)
        assert seen[0].settings.loss == loss
    how = Trainer.settings(loss="binary_cross_entropy")
    with pytest.raises(MPSNError, match="a loss among mse, mae, huber, or a function"):
        SimplicialRegressor(trainer=how, **QUICK).fit(GRAPHS, EDGES)


@pytest.mark.parametrize("kernel", [None, True, False])
def test_only_the_graphs_of_a_split_are_learned_from(kernel):
    split = (range(3, 20), range(20, 25))
    model = SimplicialRegressor(**{**QUICK, "kernel": kernel}).fit(GRAPHS, EDGES, split=split)
    assert (model.n_graphs_, model.n_validation_) == (22, 5)
    spoiled = EDGES.copy()
    spoiled[[0, 1, 2, 25, 26, 27, 28, 29]] = range(100, 108)
    other = [*GRAPHS[:25], *[nx.complete_graph(12)] * 5]
    again = clone(model).fit(other, spoiled, split=split)
    np.testing.assert_array_equal(again.predict(GRAPHS[3:25]), model.predict(GRAPHS[3:25]))
    folds = ShuffleSplit(2, test_size=6, random_state=0)
    two = SimplicialRegressor(**{**QUICK, "members": 2}).fit(GRAPHS, EDGES, split=folds)
    assert two.n_validation_ == 6
    with pytest.raises(MPSNError, match="to train on, and to stop by"):
        model.fit(GRAPHS, EDGES, split={"train": [0, 1], "test": [2]})


def test_files(tmp_path):
    how = Trainer.settings(schedule=lambda epoch: 1.0, lr=0.02, epochs=2, precision="bf16")
    network = partial(CIN, hidden=4, layers=1, max_dim=1)
    model = SimplicialClassifier(network=network, trainer=how, max_dim=1, **QUICK)
    model.fit(GRAPHS, NAMES).save(tmp_path / "model.mpsn")
    again = load(tmp_path / "model.mpsn")
    assert (again.predict_proba(GRAPHS) == model.predict_proba(GRAPHS)).all()
    assert again.summary() == model.summary()
    assert again.trainer == Trainer.settings(lr=0.02, epochs=2, precision="bf16")
    assert clone(again).fit(GRAPHS, NAMES).model_.members[0].settings["hidden"] == 4
    own = SimplicialRegressor(network=Own(), **QUICK).fit(GRAPHS, EDGES)
    with pytest.raises(FileError, match="in a model to save, got a Own"):
        own.save(tmp_path / "own.mpsn")


def test_searches_over_networks_and_trainers():
    grid = {
        "network": [partial(SIN, hidden=size, layers=1) for size in (2, 4)],
        "trainer": [Trainer.settings(lr=lr, epochs=1) for lr in (0.1, 0.01)],
    }
    search = GridSearchCV(SimplicialClassifier(**QUICK), grid, cv=2).fit(GRAPHS, NAMES)
    assert len(search.cv_results_["params"]) == 4


def test_networks_of_cells_flows_and_simplices(tmp_path):
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    short = {"epochs": 2, "device": "cpu"}
    cells = CellRegressor(dim=1, network=partial(CellNet, hidden=4, layers=1, dim=1), **short)
    cells.fit(K, np.arange(78.0)).save(tmp_path / "cells.mpsn")
    np.testing.assert_array_equal(load(tmp_path / "cells.mpsn").predict(K), cells.predict(K))
    X, y = np.random.default_rng(0).normal(size=(30, 78)), np.arange(30) % 2
    network = EdgeFlowNet(hidden=4, layers=1, out_channels=2)
    flows = EdgeFlowClassifier(K, network=network, members=2, **short).fit(X, y)
    assert flows.predict_proba(X).shape == (30, 2)
    assert flows.scores_["this model"] >= 0
    pruned = K.subcomplex({0: torch.arange(34), 1: torch.arange(78), 2: torch.arange(30)})
    network = partial(CIN, hidden=4, layers=1, readout_dims=(0, 1))
    model = SimplexPredictor(network=network, **short).fit(pruned)
    assert model.predict_proba([[0, 1, 2]]).shape == (1, 2)
    with pytest.raises(MPSNError, match="a network with features and a readout"):
        SimplexPredictor(network=Own(), **short).fit(pruned)


@pytest.mark.parametrize(
    "kind", [SimplicialClassifier, CellRegressor, EdgeFlowClassifier, SimplexPredictor]
)
def test_every_setting_is_described_once(kind):
    described = kind.__doc__.partition("Args:\n")[2].partition("\n\n")[0]
    names = [line.strip().partition(":")[0] for line in described.splitlines() if line[4] != " "]
    assert sorted(names) == sorted(kind._get_param_names())
