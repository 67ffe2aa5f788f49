"""Why SIN trails GIN on the IMDB sets: one change at a time, compared inside the training parts.

Of the training part of a fold a tenth chooses the epoch, and another tenth scores it; test folds
are not looked at, except by rows that ask for it. Beside networks, there is a lookup: it remembers
the classes of training graphs and answers for graphs that a test cannot distinguish from them.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.datasets import TUDataset
from mpsn.errors import ConfigError
from mpsn.nn.models import GIN, SIN
from mpsn.training import select
from mpsn.wl import swl
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
from mpsn_reproduction.papers.folds import Folds, stratify
from mpsn_reproduction.papers.imdb_models import Messages, Norm, network
from mpsn_reproduction.papers.imdb_table import figures, measured, table
from mpsn_reproduction.papers.tu import read, with_validation
from mpsn_reproduction.papers.tu_table import FOLDS
from mpsn_reproduction.settings import Network
from mpsn_reproduction.train import StepTraining, accuracies, train_classifiers, used

EPOCHS = 30


def _paper() -> dict[str, StepTraining]:
    return {
        "IMDB-BINARY": StepTraining(EPOCHS, batch_size=32, lr=0.0005, decay_every=20),
        "IMDB-MULTI": StepTraining(EPOCHS, batch_size=128, lr=0.003, decay_every=50),
    }


@dataclass(frozen=True)
class IMDBConfig:
    """A network, or a lookup, and how it differs from the default."""

    sin: Network[SIN] | None = None
    """Settings of SIN; the widths of input and output are the data's."""
    gin: Network[GIN] | None = None
    """Settings of GIN; the widths of input and output are the data's."""
    lookup: Literal["", "sizes", "degrees", "swl"] = ""
    """What the lookup compares: numbers of cells, degrees of vertices, or colors of SWL."""
    features: Literal["mean", "sum", "vertices", "constant"] = "mean"
    """Features of edges and triangles: the mean or the sum of the one-hot degrees of their
    vertices, or zeros; or the constant 1 on all cells."""
    messages: Messages = "sum"
    """How messages of upper neighbors are reduced in SIN: their sum, that divided by the square
    root of their number, or their mean."""
    norm: Norm = "batch"
    """Normalization over the cells of a mini-batch, or over the features of each cell."""
    train: Mapping[str, StepTraining] = field(default_factory=_paper)
    """How to train, by data set. Defaults to the settings of the paper with fewer epochs."""
    test: bool = False
    """Whether to score on the test folds."""
    folds: int = FOLDS
    """How many of the ten folds to run."""

    def __post_init__(self) -> None:
        if bool(self.sin) + bool(self.gin) + bool(self.lookup) != 1:
            raise ConfigError("Expected settings of one of sin, gin and lookup.")
        if self.messages != "sum" and not self.sin:
            raise ConfigError(f"Expected messages={self.messages!r} with sin.")
        if not 1 <= self.folds <= FOLDS or not self.train:
            raise ConfigError(f"Expected from 1 to {FOLDS} folds, and train settings.")

    def quick(self) -> Self:
        """Return a small version: one epoch of a small network on one fold of the first set."""
        name, settings = next(iter(self.train.items()))
        return replace(
            self,
            sin=self.sin and self.sin.replace(hidden=8, layers=1),
            gin=self.gin and self.gin.replace(hidden=8, layers=1),
            train={name: replace(settings, epochs=1)},
            folds=1,
        )


def jobs(row: str, config: IMDBConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per data set, with all seeds and folds side by side.

    Networks of several layers on triangles have one for each seed, as they need the most memory.
    """
    large = config.sin is not None and config.sin.max_dim > 1 and config.sin.layers > 1
    passes = [(seed,) for seed in seeds] if large else [seeds]
    folds = tuple(range(config.folds))
    return [Job(row, config, name, own, folds) for name in config.train for own in passes]


def steps(job: Job) -> int:
    """Return the number of epochs over all networks, or of lookups."""
    runs = len(job.seeds) * len(job.folds)
    return runs if job.config.lookup else runs * job.config.train[job.data].epochs


def work(job: Job, resources: Resources) -> list[Run]:
    """Train and score on every fold.

    The metrics of a run: ``score``, the accuracy where the one in validation is best for the first
    time; ``last``, its mean over the last fifth of the epochs; ``fit``, the accuracy in the last
    epoch of training; ``parameters``. Of a lookup: ``score``, the number of ``classes`` of graphs,
    and ``ceiling``, the best accuracy on the whole set of anything that cannot distinguish more.
    """
    config: IMDBConfig = job.config
    data, folds = resources.data
    keys = [(seed, fold) for seed in job.seeds for fold in job.folds]
    splits = [split(data.y, folds, fold, seed, config.test) for seed, fold in keys]
    if config.lookup:
        metrics = _look_up(colors(data, config.lookup), data.y, splits, resources)
    else:
        seeds = [seed * FOLDS + fold for seed, fold in keys]
        metrics = _train(job, data, splits, seeds, resources)
    return [Run(seed, fold, own) for (seed, fold), own in zip(keys, metrics, strict=True)]


def split(y: Tensor, folds: Folds, fold: int, seed: int, test: bool) -> dict[str, Tensor]:
    """Divide the training part of a fold: train, choose, score; or score on the test fold."""
    if test:
        return with_validation(folds.splits[fold], y, seed)
    train = folds.splits[fold]["train"]
    tenth = stratify(y[train], 10, seed)
    return {"train": train[tenth > 1], "val": train[tenth == 1], "test": train[tenth == 0]}


def _train(
    job: Job,
    data: TUDataset,
    splits: list[dict[str, Tensor]],
    seeds: list[int],
    resources: Resources,
) -> list[dict[str, int | float]]:
    config: IMDBConfig = job.config
    chosen = config.sin or config.gin
    assert chosen is not None
    complexes = used(with_features(data.complexes, config.features), chosen)
    x = complexes.union.x[0]
    assert x is not None
    ends = chosen.replace(in_channels=x.shape[1], out_channels=data.num_classes)
    trained = train_classifiers(
        partial(network, ends, config.messages, config.norm),
        complexes,
        data.y,
        splits,
        seeds,
        config.train[job.data],
        resources,
    )
    metrics: list[dict[str, int | float]] = []
    for model, history in zip(trained.networks, trained.histories, strict=True):
        curve = accuracies(history)
        tail = curve["test"][-max(1, len(curve["test"]) // 5) :]
        metrics.append(
            {
                "score": select(curve["val"], curve["test"]).test,
                "last": sum(tail) / len(tail),
                "fit": curve["train"][-1],
                "parameters": sum(p.numel() for p in model.parameters()),
            }
        )
    return metrics


def with_features(dataset: ComplexDataset, kind: str) -> ComplexDataset:
    """Return complexes with other features than the means over vertices that they have."""
    union = dataset.union
    x = [one for one in union.x if one is not None]
    if kind == "sum":
        x = [(k + 1) * one for k, one in enumerate(x)]
    elif kind == "vertices":
        x = [one * (k == 0) for k, one in enumerate(x)]
    elif kind == "constant":
        x = [torch.ones_like(one[:, :1]) for one in x]
    return ComplexDataset(union.replace(x=x))


def colors(data: TUDataset, kind: str) -> list[Hashable]:
    """Return a key for each graph, equal where the lookup cannot distinguish two graphs."""
    union = data.complexes.union
    if kind == "swl":
        return list(swl(data.complexes).classes().tolist())
    if kind == "sizes":
        sizes = torch.stack([union.ptr(k).diff() for k in range(3)], dim=1)
        return [tuple(row) for row in sizes.tolist()]
    degree = torch.bincount(union.faces(1).reshape(-1), minlength=union.count(0))
    degrees = torch.split(degree, union.ptr(0).diff().tolist())
    return [tuple(sorted(own.tolist())) for own in degrees]


def _look_up(
    keys: Sequence[Hashable], y: Tensor, splits: list[dict[str, Tensor]], resources: Resources
) -> list[dict[str, int | float]]:
    every = majorities(keys, y, range(len(y)))
    ceiling = sum(every[key] == int(c) for key, c in zip(keys, y, strict=True)) / len(y)
    metrics: list[dict[str, int | float]] = []
    for parts in splits:
        seen = torch.cat([parts["train"], parts["val"]])
        answers = majorities(keys, y, seen.tolist())
        default = int(y[seen].bincount().argmax())
        right = [answers.get(keys[i], default) == int(y[i]) for i in parts["test"].tolist()]
        score = sum(right) / len(right)
        metrics.append({"score": score, "classes": len(every), "ceiling": ceiling})
        resources.tick(1)
    return metrics


def majorities(keys: Sequence[Hashable], y: Tensor, graphs: Sequence[int]) -> dict[Hashable, int]:
    """Return the most frequent class, the smallest of several, among graphs of each key."""
    counts: dict[Hashable, Counter[int]] = defaultdict(Counter)
    for i in graphs:
        counts[keys[i]][int(y[i])] += 1
    return {key: min(own, key=lambda c: (-own[c], c)) for key, own in counts.items()}


EXPERIMENT = Experiment(
    "imdb", IMDBConfig, jobs, read, work, steps, table, figures, seeds=3, measured=measured
)
