"""Training on TU graphs: what messages cost beside the dense layers."""

import os

import pytest
import torch
from tu_data import setup, splits

from mpsn.datasets import TU
from mpsn.nn import CINConv
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.train import train_classifiers

PLACE = Resources(torch.device("cpu"), None, lambda epochs: None)


def without_messages(self, K, xs, dims=(0, 1, 2)):
    """Do what CINConv does, every simplex for itself."""
    return [self.update(k, xs[k], xs[k]) for k in dims]


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs local data: set MPSN_DATA")
@pytest.mark.parametrize("name", ["PROTEINS", "IMDB-BINARY"])
def test_an_epoch_costs_at_most_1_6_times_its_dense_layers(faster, monkeypatch, name):
    """Two epochs of one fold, all in: gathering, messages, pooling, Adam, evaluation."""
    data = TU(name)
    settings, build = setup(data, "SIN", epochs=2)

    def train():
        train_classifiers(build, data.complexes, data.y, splits(data.y)[:1], [0], settings, PLACE)

    def train_without_messages():
        with monkeypatch.context() as patch:
            patch.setattr(CINConv, "forward", without_messages)
            train()

    faster(train, {"without messages": train_without_messages}, 1 / 1.6, rounds=3)
