"""Precision in configs of experiments: bf16 is within rounding, and digests stay as they were."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from mpsn.datasets import synthetic_flows
from mpsn.errors import MPSNError
from mpsn.nn.models import CIN, GIN, SIN, EdgeFlowNet, Hierarchical
from mpsn.training import _run
from mpsn_reproduction import report, reproduce
from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.page import sections
from mpsn_reproduction.papers import flow
from mpsn_reproduction.settings import override, plain, rows
from mpsn_reproduction.train import (
    CosineTraining,
    StepTraining,
    accuracies,
    train_classifiers,
    train_networks,
)
from ranks import complexes

FEW = {"epochs": 2, "batch_size": 8, "lr": 0.003}
SEEDS = [3, 4]
PLACE = Resources(torch.device("cpu"), None, lambda n: None)
EVERY = torch.arange(28)
SPLIT = {"train": EVERY[:20], "val": EVERY[20:24], "test": EVERY[24:]}


def folds(precision, model):
    """Train classifiers as ``mpsn reproduce tu`` does; return losses and accuracies."""
    data, y = complexes(), torch.arange(28) % 2
    settings = StepTraining(**FEW, precision=precision)
    trainer = train_classifiers(model, data, y, [SPLIT] * 2, SEEDS, settings, PLACE)
    found = [accuracies(history) for history in trainer.histories]
    return np.array([[one["loss"], one["val"]] for one in found])


def molecules(precision, model):
    """Train networks as ``mpsn reproduce zinc`` does; return losses."""
    data, y = complexes(), torch.randn(28, 2, generator=torch.Generator().manual_seed(1))
    how = CosineTraining(**FEW, average=0.5, precision=precision).settings()
    trainer = train_networks(model, data, y, [SPLIT] * 2, SEEDS, PLACE, loss="mae", **how)
    return np.array([[one.train, one.valid] for one in trainer.histories])


def flows(precision, model):
    """Train networks as ``mpsn reproduce flow`` does; return losses and accuracies."""
    data = synthetic_flows(points=100, train=20, test=10)
    settings = flow.Training(epochs=2, batch=8, precision=precision)
    found = flow.train(model, data, settings, SEEDS, PLACE)
    return np.array([[run.curve["loss"], run.curve["test"]] for run in found])


SIZES = {"in_channels": 3, "hidden": 8, "out_channels": 2, "layers": 2}
NETWORKS = {
    "sin": (folds, lambda: SIN(**SIZES, norm=True, act="relu", jump=True)),
    "gin": (folds, lambda: GIN(**SIZES)),
    "plain": (folds, lambda: SIN(**SIZES, norm=False, act="relu")),
    "pooled": (folds, lambda: Hierarchical(**SIZES)),
    "edge flows": (flows, lambda: EdgeFlowNet(hidden=8, layers=2, act="tanh")),
    "invariant": (flows, lambda: EdgeFlowNet(hidden=8, act="relu", l0_inv=True)),
    "cin": (molecules, lambda: CIN(**SIZES, norm=True, act="relu")),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_bf16_is_within_rounding_of_float32(name):
    train, model = NETWORKS[name]
    whole, half = (train(kind, model) for kind in ("float32", "bf16"))
    assert not np.array_equal(half, whole)
    np.testing.assert_allclose(half[:, 0, 0], whole[:, 0, 0], rtol=0.02)  # losses at first
    np.testing.assert_allclose(half[:, 0], whole[:, 0], rtol=0.1)  # and as the steps add up


@pytest.mark.parametrize("name", CATALOG)
def test_every_experiment_with_a_precision_takes_the_option(name):
    configs = rows(name, find(name).config)
    found = {row: override(config, "precision", "bf16") for row, config in configs.items()}
    changed = [row for row in configs if found[row] != configs[row]]
    assert bool(changed) == CATALOG[name].has_precision
    assert all("bf16" in str(plain(found[row])) for row in changed)
    assert all(override(found[row], "precision", "float32") == configs[row] for row in configs)


def test_runs_in_another_precision_are_recorded_apart(tmp_path):
    options = {"models": ["mpsn-tanh"], "seeds": 1, "quick": True, "out": tmp_path}
    first, second, again = (
        reproduce("flow", precision=precision, **options).records
        for precision in (None, "bf16", "float32")
    )
    assert first[0].job == again[0].job != second[0].job
    assert second[0].job.config.training.precision == "bf16"
    assert len(list(tmp_path.glob("flow-quick/*/*.json"))) == 1
    assert len(list(tmp_path.glob("flow-bf16-quick/*/*.json"))) == 1
    plain, half = sections(tmp_path)
    assert (plain.precision, half.precision) == ("float32", "bf16")
    page = report(tmp_path)
    assert "Synthetic flows (bf16, quick)" in page
    assert "mpsn reproduce flow --model mpsn-tanh --seeds 1 --quick --precision bf16" in page


@pytest.mark.parametrize(
    ("name", "precision", "said"),
    [
        ("sr", "bf16", "Expected no precision for sr"),
        ("flow", "half", "Expected precision float32"),
    ],
)
def test_precisions_that_do_not_apply_are_refused(tmp_path, name, precision, said):
    with pytest.raises(MPSNError, match=said):
        reproduce(name, precision=precision, out=tmp_path)


@pytest.mark.parametrize("name", NETWORKS)
def test_products_are_rounded_as_long_as_training_lasts(name, monkeypatch):
    """Backward passes, too; on a GPU, which is not needed to see it."""
    entered, (train, model) = [], NETWORKS[name]

    def product(precision, device):
        entered.append(precision)
        return nullcontext()

    monkeypatch.setattr(_run, "products", product)
    train("tf32", model)
    assert set(entered) == {"tf32"}


def test_tf32_is_float32_on_a_cpu():
    train, model = NETWORKS["plain"]
    np.testing.assert_array_equal(train("tf32", model), train("float32", model))


@pytest.mark.parametrize("kind", [StepTraining, CosineTraining, flow.Training])
def test_unknown_precisions_are_refused(kind):
    with pytest.raises(MPSNError, match="Expected precision float32, tf32 or bf16, got 'half'"):
        kind(precision="half")
