"""Closure: which triples of vertices become triangles?

In the co-author complex (Ebli et al. 2020), triangles with more than seven citations are to be told
from the others. In temporal sets (Benson et al. 2018), open triangles, of which every two vertices
have met, may close: all three meet.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from mpsn.errors import ConfigError
from mpsn.training import seeded
from mpsn.training._device import one_thread
from mpsn.training._loop import EarlyStopping, fit
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
from mpsn_reproduction.papers.closure_data import (
    Batch,
    Floats,
    Score,
    Split,
    coauthor_split,
    edges_of,
    features,
    scores,
    temporal_split,
)
from mpsn_reproduction.papers.closure_table import COAUTHOR, figures, measured, table
from mpsn_reproduction.papers.coauthor_data import coauthors
from mpsn_reproduction.papers.general import GeneralNet
from mpsn_reproduction.papers.temporal_data import temporal_simplices

SPLITS = 10  # of the co-author complex


@dataclass(frozen=True)
class Network:
    """A network of general message passing layers, and how it is trained."""

    hidden: int = 32
    """Width of the layers."""
    layers: int = 1
    """Number of layers."""
    lr: float = 0.003
    """Learning rate of Adam."""
    decay: float = 0.0
    """Weight decay of Adam."""
    epochs: int = 150
    """Largest number of epochs."""
    patience: int = 30
    """Number of epochs without a smaller validation loss after which training stops."""


@dataclass(frozen=True)
class ClosureConfig:
    """A way to score triples: a fixed score, a logistic regression, or a network."""

    score: Score | Literal["logistic", "network"] = "network"
    """The score."""
    network: Network = field(default_factory=Network)
    """Settings of the network."""
    sets: tuple[str, ...] = (COAUTHOR, "email-Enron", "contact-high-school")
    """Names of the data sets."""

    def __post_init__(self) -> None:
        if min(self.network.hidden, self.network.layers, self.network.epochs) < 1:
            raise ConfigError(f"Expected sizes of at least 1, got {self.network}.")

    def quick(self) -> Self:
        """Return the small version: no large set, a few epochs."""
        network = replace(self.network, hidden=16, epochs=40)
        return replace(self, network=network, sets=(COAUTHOR, "email-Enron"))


def jobs(row: str, config: ClosureConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return a job per set: ten splits of the co-author complex, else one run per seed."""
    fixed = config.score != "network"
    return [
        Job(row, config, name, (0,), tuple(range(SPLITS)))
        if name == COAUTHOR
        else Job(row, config, name, seeds[:1] if fixed else seeds)
        for name in config.sets
    ]


def steps(job: Job) -> int:
    """Return the number of epochs of all runs."""
    return len(job.seeds) * len(job.folds) * int(job.config.network.epochs)


def read(name: str, folder: Path | None) -> Any:
    """Read a data set."""
    return coauthors(folder) if name == COAUTHOR else temporal_simplices(name, folder)


def work(job: Job, resources: Resources) -> list[Run]:
    """Score the test triples of every split."""
    runs = []
    for seed in job.seeds:
        for fold in job.folds:
            if job.data == COAUTHOR:
                split = coauthor_split(resources.data, fold)
            else:
                split = temporal_split(resources.data)
            runs.append(Run(seed, fold, evaluate(job.config, split, seed + fold, resources)))
            resources.tick(job.config.network.epochs)
    return runs


def evaluate(
    config: ClosureConfig, split: Split, seed: int, resources: Resources
) -> dict[str, int | float]:
    """Return the metrics of a score: AUC, average precision, and the share of triangles."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    asked = [split.test] if split.overlapping is None else [split.test, split.overlapping]
    if config.score == "network":
        found = network_scores(config.network, split, seed, asked, resources.device)
    elif config.score == "logistic":
        found = logistic_scores(split, asked)
    else:
        found = [scores(batch)[config.score] for batch in asked]
    y = split.test.y
    metrics: dict[str, int | float] = {
        "triples": len(y),
        "closed": int(y.sum()),
        "auc": float(roc_auc_score(y, found[0])),
        "precision": float(average_precision_score(y, found[0])),
    }
    if split.overlapping is not None:
        metrics["auc_overlapping"] = float(roc_auc_score(split.overlapping.y, found[1]))
    return metrics


def logistic_scores(split: Split, asked: list[Batch]) -> list[Floats]:
    """Return the log-odds of a logistic regression on fixed features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    known = [*split.train, split.valid]
    model.fit(np.concatenate([features(b) for b in known]), np.concatenate([b.y for b in known]))
    return [model.decision_function(features(batch)) for batch in asked]


class ClosureNet(torch.nn.Module):
    """Message passing on the complex, then a perceptron on a triple.

    The perceptron reads the mean, the least and the largest of each hidden feature over the three
    edges, and over the three vertices, so that their order does not matter, and what the logistic
    regression reads.
    """

    def __init__(self, config: Network, like: "Prepared") -> None:
        super().__init__()
        widths = [x.shape[1] for x in like.xs]
        self.net = GeneralNet(widths, config.hidden, config.layers)
        self.head = torch.nn.Sequential(
            torch.nn.Linear(6 * config.hidden + like.features.shape[1], config.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(config.hidden, 1),
        )

    def forward(self, batch: "Prepared") -> Tensor:
        """Return the log-odds of triples, (N,)."""
        hs = self.net(batch.K, batch.xs)
        parts = [batch.features]
        for k, index in ((1, batch.edges), (0, batch.vertices)):
            h = hs[k][index]  # (N, 3, hidden)
            parts += [h.mean(1), h.amin(1), h.amax(1)]
        out: Tensor = self.head(torch.cat(parts, dim=1))
        return out[:, 0]


class Prepared:
    """A batch as tensors: log(1 + weight) on all cells, and log(1 + co-faces) below triangles."""

    def __init__(self, batch: Batch, device: torch.device) -> None:
        K = self.K = batch.K.to(device)
        self.xs = [x.log1p() for x in K.x if x is not None]
        for k in (0, 1):
            above = K.incidence(k + 1).degree.to(self.xs[k]).log1p()
            self.xs[k] = torch.cat([self.xs[k], above[:, None]], dim=1)
        self.vertices, self.edges = (
            torch.from_numpy(part).to(device) for part in (batch.triples, edges_of(batch))
        )
        self.features, self.y = (
            torch.from_numpy(part).float().to(device) for part in (features(batch), batch.y)
        )


def network_scores(
    config: Network, split: Split, seed: int, asked: list[Batch], device: torch.device
) -> list[Floats]:
    """Train a network and return log-odds.

    It is trained twice: to find the epoch of the least loss on the validation triples, and for as
    many epochs on these too.
    """
    train = [Prepared(batch, device) for batch in split.train]
    valid = Prepared(split.valid, device)
    loss = torch.nn.functional.binary_cross_entropy_with_logits

    def trained(batches: list[Prepared], epochs: int, patience: int) -> tuple[ClosureNet, int]:
        net = ClosureNet(config, valid).to(device)
        optimizer = torch.optim.Adam(net.parameters(), config.lr, weight_decay=config.decay)
        stopping = EarlyStopping(net, optimizer, patience)

        def step(batch: Prepared) -> None:
            optimizer.zero_grad()
            loss(net(batch), batch.y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        @torch.no_grad()
        def validate() -> float:
            return float(loss(net(valid), valid.y))

        fit(net, epochs, lambda epoch: batches, step, validate, stop=stopping)
        return net, stopping.best + 1

    with seeded(seed, device), one_thread(device):
        _, epochs = trained(train, config.epochs, config.patience)
        net, _ = trained([*train, valid], epochs, epochs)
        with torch.no_grad():
            return [net(Prepared(b, device)).double().cpu().numpy() for b in asked]


EXPERIMENT = Experiment(
    "closure", ClosureConfig, jobs, read, work, steps, table, figures, seeds=5, measured=measured
)
