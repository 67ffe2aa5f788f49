"""Predictions for whole complexes with a fixed split: what the experiments on molecules share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from mpsn.errors import ConfigError
from mpsn.nn.models import CIN, GIN
from mpsn.training import METRICS, History, select
from mpsn_reproduction.experiment import Experiment, Job, Measured, Resources, Run
from mpsn_reproduction.papers.graph_data import GraphData, fingerprints
from mpsn_reproduction.papers.graph_table import figures, table
from mpsn_reproduction.settings import Network
from mpsn_reproduction.train import CosineTraining, train_networks

LOSSES = {"mae": "mae", "rmse": "mse", "auc": "binary_cross_entropy"}  # of each metric
WORDS = {"mae": "mean absolute error", "rmse": "root mean squared error", "auc": "ROC-AUC"}


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
    train: CosineTraining | None = None
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


def work(metric: str, names: Sequence[str], job: Job, resources: Resources) -> list[Run]:
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
    encoded, how, size = data.encoded, config.train.settings(), len(data.parts["train"])
    how["batch_size"] = -(-size // -(-size // how["batch_size"]))  # all about as large
    widths = tuple(x.shape[1] for x in encoded.batch([]).x if x is not None)
    trained = data.y[data.parts["train"]]
    level, scale = trained.mean(0), trained.std(0, correction=0).clamp(min=1e-12)
    if metric == "auc":
        level, scale = torch.zeros_like(level), torch.ones_like(scale)
    measures = {
        name: partial(measure, metric, column, unit)
        for column, (name, unit) in enumerate(zip(names, scale.tolist(), strict=True))
    }
    trainer = train_networks(
        partial(config.network, widths, data.y.shape[1]),
        encoded,
        (data.y - level) / scale,
        [data.parts] * len(job.seeds),
        job.seeds,
        resources,
        loss=LOSSES[metric],
        metrics=measures,
        **how,
    )
    return [
        _run(seed, history, metric, names, parameters(network))
        for seed, history, network in zip(
            job.seeds, trainer.histories, trainer.networks, strict=True
        )
    ]


def measure(metric: str, column: int, unit: float, outputs: Tensor, y: Tensor) -> float:
    """Return a metric of one target, in its own unit."""
    return unit * METRICS[metric](outputs[:, column], y[:, column])


def _run(seed: int, history: History, metric: str, names: Sequence[str], size: int) -> Run:
    each = {
        part: np.array([history.curves[f"{part}_{name}"] for name in names])
        for part in ("val", "test")
    }
    val, test = (each[part].mean(axis=0).tolist() for part in ("val", "test"))
    selected = select(val, test, highest=metric == "auc")
    metrics: dict[str, int | float] = {
        "val": selected.validation,
        "test": selected.test,
        "last": test[-1],
        "chosen": selected.epoch,
        "parameters": size,
    }
    for name, curve in zip(names, each["test"].tolist(), strict=True) if len(names) > 1 else ():
        metrics[f"test_{name}"] = curve[selected.epoch]
    return Run(seed, 0, metrics, {"loss": list(history.train), "val": val, "test": test})


def forests(
    config: Forest, data: GraphData, metric: str, job: Job, resources: Resources
) -> list[Run]:
    """Fit random forests on fingerprints."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    x, parts = fingerprints(data.molecules, config.radius, config.bits), data.parts
    kind: Any = RandomForestClassifier if metric == "auc" else RandomForestRegressor
    runs = []
    for seed in job.seeds:
        forest = kind(config.trees, n_jobs=-1, random_state=seed)
        forest.fit(x[parts["train"]], data.y[parts["train"], 0])
        answers = forest.predict_proba(x)[:, 1] if metric == "auc" else forest.predict(x)
        val, test = (
            METRICS[metric](torch.tensor(answers)[parts[part]], data.y[parts[part], 0].double())
            for part in ("val", "test")
        )
        runs.append(Run(seed, 0, {"val": val, "test": test, "last": test, "chosen": 0}))
        resources.tick(1)
    return runs


def measured(names: Sequence[str], job: Job) -> Measured:
    """Return what a run has, for targets of these names."""
    train: CosineTraining | None = job.config.train
    curves = dict.fromkeys(("loss", "val", "test"), train.epochs) if train else {}
    each = [f"test_{name}" for name in names] if len(names) > 1 else []
    return Measured(("val", "test", "chosen", *each), curves)


def experiment(
    name: str,
    read: Callable[[Any, Path | None], GraphData],
    metric: str,
    title: str,
    notes: Sequence[str],
    *,
    names: Sequence[str] = ("y",),
    published: Mapping[str, str] = MappingProxyType({}),
    config: type[GraphLevelConfig] = GraphLevelConfig,
    jobs: Callable[[str, Any, tuple[int, ...]], list[Job]] = jobs,
    **options: Any,
) -> Experiment:
    """Return an experiment that predicts something of whole complexes.

    Args:
        name: Its name.
        read: Reads the data.
        metric: What is measured: ``"mae"``, ``"rmse"`` or ``"auc"``.
        title: What is predicted.
        notes: Notes below the table.
        names: Names of the targets.
        published: Results of others by row.
        config: Its settings.
        jobs: The jobs of a row.
        **options: Other attributes of the experiment.
    """
    words, several = WORDS[metric], names if len(names) > 1 else ()
    return Experiment(
        name,
        config,
        jobs,
        read,
        partial(work, metric, names),
        steps,
        partial(table, f"{title}: {words}", metric == "auc", published, notes, several),
        partial(figures, name, words),
        seeds=5,
        measured=partial(measured, names),
        **options,
    )
