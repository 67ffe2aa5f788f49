"""The estimators on a GPU: trained there, saved, and the same on the CPU."""

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn.estimators import EdgeFlowClassifier, SimplicialClassifier, load

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
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


def test_flows():
    K = mpsn.clique_complex(nx.cycle_graph(8))
    X = np.random.default_rng(0).normal(size=(30, 8)) + np.arange(30)[:, None] % 2 * 3
    model = EdgeFlowClassifier(K, hidden=8, layers=2, epochs=40, learning_rate=0.01, device="cuda")
    assert model.fit(X, np.arange(30) % 2).score(X, np.arange(30) % 2) > 0.8
