"""Training of an experiment's networks: what diverges, and what is interrupted."""

import signal
import threading

import pytest
import torch

from mpsn.errors import MPSNError
from mpsn.nn.models import SIN
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.train import CosineTraining, StepTraining, accuracies, train_classifiers
from protocol_data import graphs

EVERY = torch.arange(40)
SPLIT = {"train": EVERY[:24], "val": EVERY[24:32], "test": EVERY[32:]}


def fit(settings, tick=lambda epochs: None, seeds=(0,)):
    data, place = graphs(), Resources(torch.device("cpu"), None, tick)

    def network():
        return SIN(3, 4, 2, layers=1)

    splits = [SPLIT] * len(seeds)
    return train_classifiers(network, data.complexes, data.y, splits, seeds, settings, place)


def test_a_network_that_diverges_leaves_the_others_alone():
    trainer = fit(StepTraining(epochs=3, batch_size=8, lr=1e30), seeds=(0, 1))
    for history in trainer.histories:
        curves = accuracies(history)
        assert curves["loss"][-1] > 1e3
        assert [len(curve) for curve in curves.values()] == [3] * 4


def test_an_interrupted_job_ends():
    """No record is made of networks that were not trained to the end."""

    def interrupt(epochs):
        signal.raise_signal(signal.SIGINT)
        threading.Event().wait(0.5)

    with pytest.raises(KeyboardInterrupt):
        fit(StepTraining(epochs=500), interrupt)


@pytest.mark.parametrize("kind", [StepTraining, CosineTraining])
@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch_size": 0}, {"lr": 0.0}])
def test_settings_are_checked(kind, wrong):
    with pytest.raises(MPSNError, match=f"Expected {next(iter(wrong))} as"):
        kind(**wrong)
