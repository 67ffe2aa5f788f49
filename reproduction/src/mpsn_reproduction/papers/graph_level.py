"""Predictions for whole complexes with a fixed split: what the experiments on molecules share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import torch

from mpsn.errors import ConfigError
from mpsn.nn.models import CIN, GIN
from mpsn.training import seeded, select
from mpsn_reproduction.engines.graph_training import Curves, Metric, Training, measure, train
from mpsn_reproduction.experiment import Job, Measured, Resources, Run
from mpsn_reproduction.papers.graph_data import GraphData, fingerprints
from mpsn_reproduction.settings import Network


@dataclass(frozen=True)
class Forest:
    """A random forest on Morgan fingerprints, as a baseline for molecules."""

    trees: int = 200
    """Number of trees."""
    radius: int = 2
    """Radius of the fingerprints."""
    bits: int = 2048
    """Length of the fingerprints."""


@dataclass(frozen=True)
class GraphLevelConfig:
    """A model, one of ``cin``, ``gin`` and ``forest``, and how to train a network."""

    cin: Network[CIN] | None = None
    """Settings of CIN; the widths of input and output are the data's."""
    gin: Network[GIN] | None = None
    """Settings of GIN with features of edges; the widths of input and output are the data's."""
    forest: Forest | None = None
    """Settings of a random forest."""
    train: Training | None = None
    """How to train a network."""
    max_parameters: int = 500_000
    """Largest number of parameters allowed."""
    limit: int | None = None
    """Largest number of complexes in each part of the split. Defaults to no limit."""

    def __post_init__(self) -> None:
        networks = [part for part in (self.cin, self.gin) if part is not None]
        if len(networks) + bool(self.forest) != 1 or bool(networks) != bool(self.train):
            raise ConfigError(
                "Expected settings of one of cin, gin and forest, and of train with the first two."
            )

    def quick(self) -> Self:
        """Return a small version: three epochs of a small network on few complexes."""
        return replace(
            self,
            cin=self.cin and self.cin.replace(hidden=16, layers=2),
            gin=self.gin and self.gin.replace(hidden=16, layers=2),
            forest=self.forest and replace(self.forest, trees=20),
            train=self.train and replace(self.train, epochs=3),
            limit=1000,
        )

    def network(self, widths: tuple[int, ...], targets: int) -> CIN | GIN:
        """Make the network for features of given widths, one for each dimension."""
        out: CIN | GIN
        if self.cin is not None:
            widths = widths[: self.cin.max_dim + 1]
            out = self.cin(in_channels=widths, out_channels=targets)
        else:
            assert self.gin is not None
            vertex, edge, *_ = widths
            out = self.gin(in_channels=vertex, edge_channels=edge, out_channels=targets)
        if parameters(out) > self.max_parameters:
            raise ConfigError(
                f"Expected at most {self.max_parameters:,} parameters, got {parameters(out):,}; "
                f"lower hidden or layers."
            )
        return out


def parameters(model: torch.nn.Module) -> int:
    """Return the number of parameters."""
    return sum(p.numel() for p in model.parameters())


def jobs(row: str, config: GraphLevelConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job for all seeds."""
    return [Job(row, config, seeds=seeds)]


def steps(job: Job) -> int:
    """Return the number of epochs over all networks, or of forests."""
    return len(job.seeds) * (job.config.train.epochs if job.config.train else 1)


def work(metric: Metric, names: Sequence[str], job: Job, resources: Resources) -> list[Run]:
    """Train, or fit, once for each seed.

    The metrics of a run: ``val`` and ``test`` at the epoch that is best in validation, the number
    ``chosen``, and ``last``, the test metric after the last epoch; ``test_NAME`` of each target, if
    there are several; and the number of ``parameters``. Metrics of several targets are means.
    """
    config: GraphLevelConfig = job.config
    data: GraphData = resources.data.limited(config.limit)
    if config.forest is not None:
        return forests(config.forest, data, metric, job, resources)
    assert config.train is not None
    encoded = data.encoded
    widths = tuple(x.shape[1] for x in encoded.batch([]).x if x is not None)
    build = partial(config.network, widths, data.y.shape[1])
    with seeded(0, torch.device("cpu")):
        many = parameters(build())
    found = train(
        encoded,
        data.y,
        data.parts,
        build,
        config.train,
        metric,
        seeds=job.seeds,
        device=resources.device,
        tick=resources.tick,
    )
    return [
        _run(seed, curves, metric, names, many)
        for seed, curves in zip(job.seeds, found, strict=True)
    ]


def _run(seed: int, curves: Curves, metric: Metric, names: Sequence[str], many: int) -> Run:
    val, test = curves.val.mean(1).tolist(), curves.test.mean(1).tolist()  # epochs
    selected = select(val, test, highest=metric == "auc")
    metrics: dict[str, int | float] = {
        "val": selected.validation,
        "test": selected.test,
        "last": test[-1],
        "chosen": selected.epoch,
        "parameters": many,
    }
    each = zip(names, curves.test[selected.epoch].tolist(), strict=True) if len(names) > 1 else ()
    metrics |= {f"test_{name}": value for name, value in each}
    return Run(seed, 0, metrics, {"loss": curves.loss.tolist(), "val": val, "test": test})


def forests(
    config: Forest, data: GraphData, metric: Metric, job: Job, resources: Resources
) -> list[Run]:
    """Fit random forests on fingerprints."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    x, parts = fingerprints(data.molecules, config.radius, config.bits), data.parts
    kind: Any = RandomForestClassifier if metric == "auc" else RandomForestRegressor
    runs = []
    for seed in job.seeds:
        forest = kind(config.trees, n_jobs=-1, random_state=seed)
        forest.fit(x[parts.train], data.y[parts.train, 0])
        held = [forest.predict_proba(x[part])[:, 1] if metric == "auc" else forest.predict(x[part])
                for part in parts[1:]]  # fmt: skip
        val, test = (
            float(measure(torch.tensor(found)[None, :, None], data.y[part].double(), metric))
            for found, part in zip(held, parts[1:], strict=True)
        )
        runs.append(Run(seed, 0, {"val": val, "test": test, "last": test, "chosen": 0}))
        resources.tick(1)
    return runs


def measured(names: Sequence[str], job: Job) -> Measured:
    """Return what a run has, for targets of these names."""
    train: Training | None = job.config.train
    curves = dict.fromkeys(("loss", "val", "test"), train.epochs) if train else {}
    each = [f"test_{name}" for name in names] if len(names) > 1 else []
    return Measured(("val", "test", "chosen", *each), curves)
