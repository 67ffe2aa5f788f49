"""The estimators on a GPU: trained there, saved, and the same on the CPU."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn.estimators import (
    CellClassifier,
    CellRegressor,
    EdgeFlowClassifier,
    SimplexPredictor,
    SimplicialClassifier,
    SimplicialRegressor,
    load,
)
from mpsn.nn.models import CIN
from mpsn.training import Trainer

pytestmark = pytest.mark.gpu


GRAPHS = [nx.gnp_random_graph(10, p, seed=i) for i in range(20) for p in (0.2, 0.6)]


def test_graphs(tmp_path):
    model = SimplicialClassifier(hidden=8, epochs=12, device="cuda").fit(GRAPHS, [0, 1] * 20)
    assert next(model.model_.parameters()).is_cuda
    assert model.score(GRAPHS, [0, 1] * 20) > 0.9
    chances = model.predict_proba(GRAPHS)
    assert len(model.explain(GRAPHS[1], method="leave_out").contributions[0]) == 10
    assert model.explain(GRAPHS[1]).contributions[0].device.type == "cpu"
    model.save(tmp_path / "model.mpsn")
    loaded = load(tmp_path / "model.mpsn")
    loaded.model_.cpu()
    np.testing.assert_allclose(loaded.predict_proba(GRAPHS), chances, rtol=1e-3, atol=1e-5)


def test_networks_of_ones_own_are_captured_side_by_side():
    """Steps that cannot be captured would warn, and warnings are errors."""
    how = Trainer.settings(loss="mae", schedule="cosine", average=0.9, lr=0.01, epochs=30)
    edges = np.array([graph.number_of_edges() for graph in GRAPHS], dtype=float)
    model = SimplicialRegressor(
        network=partial(CIN, hidden=8, layers=2, norm=True),
        trainer=how,
        lift="rings",
        kernel=False,
        device="cuda",
    )
    model.fit(GRAPHS, edges, split=(range(32), range(32, 40)))
    assert len(model.model_.members) == 2
    assert model.histories_[0].train[-1] < model.histories_[0].train[0]


def test_flows():
    K = mpsn.clique_complex(nx.cycle_graph(8))
    X = np.random.default_rng(0).normal(size=(30, 8)) + np.arange(30)[:, None] % 2 * 3
    model = EdgeFlowClassifier(K, hidden=8, layers=2, epochs=40, learning_rate=0.01, device="cuda")
    assert model.fit(X, np.arange(30) % 2).score(X, np.arange(30) % 2) > 0.8


def test_cells(tmp_path):
    K = mpsn.clique_complex(nx.random_geometric_graph(60, 0.3, seed=0), max_dim=2)
    many = torch.bincount(K.faces(2).reshape(-1), minlength=K.count(1)).numpy()
    known = np.where(np.arange(len(many)) % 2, many > np.median(many), -1)
    model = CellClassifier(dim=1, hidden=8, epochs=60, device="cuda").fit(K, known)
    assert next(model.model_.parameters()).is_cuda
    assert model.score(K, many > np.median(many)) > 0.8
    chances = model.predict_proba(K)
    assert model.explain(K, 0).contributions[1].device.type == "cpu"
    model.save(tmp_path / "model.mpsn")
    loaded = load(tmp_path / "model.mpsn")
    loaded.model_.cpu()
    np.testing.assert_allclose(loaded.predict_proba(K), chances, rtol=1e-3, atol=1e-4)


def test_signed_cells_and_simplices():
    K = mpsn.clique_complex(nx.random_geometric_graph(60, 0.3, seed=0), max_dim=2)
    potential = torch.arange(60.0).sin()[:, None]
    flow = (K.boundary_matrix(1).T @ potential)[:, 0].numpy()
    K = K.bare().replace(x=[potential])
    model = CellRegressor(dim=1, oriented=True, epochs=200, device="cuda")
    assert model.fit([K, K], [flow, flow]).score(K, flow) > 0.9
    half = torch.arange(K.count(2)) % 2 == 0
    L = K.subcomplex({0: torch.arange(60), 1: torch.arange(K.count(1)), 2: half})
    predictor = SimplexPredictor(epochs=3, device="cuda").fit(L.to("cuda"))
    assert predictor.predict_proba(K.simplices(2)[~half][:5]).shape == (5, 2)
