"""What the tests of protocols share: training that is watched, and test parts that are spoiled."""

import hashlib
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from mpsn import ComplexDataset
from mpsn.training import History
from mpsn_reproduction.experiment import Resources


@dataclass
class Watched:
    """What happened: by optimizer and step the rates and weights, and all random orders drawn."""

    rates: dict[int, list[float]] = field(default_factory=dict)
    weights: dict[int, list[bytes]] = field(default_factory=dict)
    orders: list[tuple] = field(default_factory=list)
    optimizers: list[torch.optim.Optimizer] = field(default_factory=list)  # so that ids last

    @property
    def first(self):
        """The initial weights of each network."""
        return [steps[0] for steps in self.weights.values()]

    def step(self, optimizer, _, __):
        if id(optimizer) not in self.rates:
            self.optimizers.append(optimizer)
        (group,) = optimizer.param_groups
        self.rates.setdefault(id(optimizer), []).append(float(group["lr"]))
        values = torch.cat([p.detach().double().flatten() for p in group["params"]])
        digest = hashlib.sha1(values.numpy().tobytes()).digest()
        self.weights.setdefault(id(optimizer), []).append(digest)


@contextmanager
def watch():
    """Watch all training inside the block, whoever does it."""
    seen = Watched()
    permutation, generator = torch.randperm, np.random.default_rng

    def randperm(n, **options):
        order = permutation(n, **options)
        note(order)
        return order

    def default_rng(seed=None):
        note(generator(seed).permutation(20))
        return generator(seed)

    def note(order):
        if sys._getframe(2).f_globals["__name__"].startswith("mpsn"):
            seen.orders.append(tuple(order.tolist()))

    handle = register_optimizer_step_pre_hook(seen.step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "randperm", randperm)
        patch.setattr(np.random, "default_rng", default_rng)
        try:
            yield seen
        finally:
            handle.remove()


def perform(experiment, job, data):
    """Return the runs of a job, and how they came about.

    There is one for each seed and fold, with all that the table needs; all steps are reported, and
    torch's generator is as it was.
    """
    ticks, state = [], torch.get_rng_state()
    with watch() as seen:
        runs = experiment.work(job, Resources(torch.device("cpu"), data, ticks.append))
    assert sum(ticks) == experiment.steps(job)
    assert torch.equal(torch.get_rng_state(), state)
    assert [(r.seed, r.fold) for r in runs] == list(product(job.seeds, job.folds))
    metrics, curves = experiment.measured(job)
    for run in runs:
        assert all(np.isfinite(run.metrics[name]) for name in metrics)
        assert {name: len(run.curve[name]) for name in curves} == dict(curves)
    return runs, seen


def trained(curves, networks=()):
    """Return what a trainer has after training: accuracies by part, for each network."""
    histories = [
        History(
            tuple(curve.get("loss", curve["test"])),
            (),
            0,
            {f"{part}_accuracy": tuple(values) for part, values in curve.items() if part != "loss"},
        )
        for curve in curves
    ]
    return SimpleNamespace(histories=histories, networks=networks)


def noisy(x, which, seed=0):
    """Return features with noise, far from all others, in some rows; of categories, new ones."""
    generator = torch.Generator().manual_seed(seed)
    x = x.clone()
    rows = (int(which.sum()), *x.shape[1:])
    if x.is_floating_point():
        x[which] = 50 * torch.randn(rows, generator=generator).to(x.dtype)
    else:
        x[which] = torch.randint(100, 200, rows, generator=generator)
    return x


def other_labels(y, which):
    """Return labels that are others in some rows: the next class, or numbers far away.

    It is an odd number of rows, so that of two classes another number of answers is right.
    """
    rows = which.nonzero()[:, 0]
    rows = rows[1 - len(rows) % 2 :]
    y = y.clone()
    y[rows] = 100 - 3 * y[rows] if y.is_floating_point() else (y[rows] + 1) % (y.max() + 1)
    return y


def spoiled(dataset, which, y=None):
    """Return complexes of which those in a mask have noise for features, and other labels."""
    union = dataset.union
    x = [
        None if x is None else noisy(x, which[union.batch(k)], seed=k)
        for k, x in enumerate(union.x)
    ]
    return ComplexDataset(union.replace(x=x, y=y))


def mask(n, index):
    """Return a mask of some positions."""
    return torch.zeros(n, dtype=torch.bool).scatter(0, index, True)
