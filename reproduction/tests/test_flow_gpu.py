"""Training on a GPU: as on the CPU, and the same twice."""

import pytest
import torch

from mpsn.datasets import synthetic_flows
from mpsn.nn.models import EdgeFlowNet
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.papers.flow import Training, train
from mpsn_reproduction.settings import Network

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    ("act", "precision"), [("tanh", "float32"), ("relu", "float32"), ("tanh", "bf16")]
)
def test_training(act, precision):
    data = synthetic_flows(points=150, train=50, test=20)

    def runs(device, precision):
        place = Resources(torch.device(device), None, lambda n: None)
        network = Network(EdgeFlowNet, hidden=16, act=act)
        settings = Training(epochs=3, batch=16, lr=0.01, halve_every=2, precision=precision)
        return train(network, data, settings, [0, 1], place)

    expected, found = runs("cpu", "float32"), runs("cuda", precision)
    assert found == runs("cuda", precision)
    for a, b in zip(expected, found, strict=True):
        if precision == "float32":
            assert b.curve["loss"] == pytest.approx(a.curve["loss"], rel=0.01)
            assert b.metrics["train"] == pytest.approx(a.metrics["train"], abs=10)
        else:
            assert b.curve["loss"][0] == pytest.approx(a.curve["loss"][0], rel=0.02)
            assert b.curve["loss"][0] != pytest.approx(a.curve["loss"][0], rel=1e-4)
