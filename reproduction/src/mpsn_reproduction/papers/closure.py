"""Closure: which triples of vertices become triangles?

In the co-author complex (Ebli et al. 2020), triangles with more than seven citations are to be told
from the others. In temporal sets (Benson et al. 2018), open triangles, of which every two vertices
have met, may close: all three meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.errors import ConfigError
from mpsn.training import Trainer, one_thread
from mpsn_reproduction.experiment import (
    DataSets,
    Experiment,
    Job,
    Measured,
    Record,
    Resources,
    Run,
    differences,
)
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
from mpsn_reproduction.papers.coauthor_data import coauthors
from mpsn_reproduction.papers.general import GeneralNet
from mpsn_reproduction.table import Table, score
from mpsn_reproduction.train import train_networks

if TYPE_CHECKING:
    from matplotlib.figure import Figure
from mpsn_reproduction.papers.temporal_data import temporal_simplices

COAUTHOR = "coauthor"
BEST = ("AUC", "AUC, overlapping split", "average precision")
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
        found = network_scores(config.network, split, seed, asked, resources)
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
        """Return the log-odds of triples, (1, N), and 0 in the rest of the row."""
        hs = self.net(batch.K, batch.xs)
        parts = [batch.features]
        for k, index in ((1, batch.edges), (0, batch.vertices)):
            h = hs[k][index]  # (N, 3, hidden)
            parts += [h.mean(1), h.amin(1), h.amax(1)]
        out: Tensor = self.head(torch.cat(parts, dim=1))
        return nnf.pad(out.T, (0, batch.size - len(out)))


class Prepared:
    """A batch as tensors: log(1 + weight) on all cells, and log(1 + co-faces) below triangles.

    Args:
        batch: The batch.
        device: Where to compute.
        size: Number N of columns of the network's output. Defaults to the number of triples.
    """

    def __init__(self, batch: Batch, device: torch.device, size: int | None = None) -> None:
        K = self.K = batch.K.to(device)
        self.xs = [x.log1p() for x in K.x if x is not None]
        for k in (0, 1):
            above = K.incidence(k + 1).degree.to(self.xs[k]).log1p()
            self.xs[k] = torch.cat([self.xs[k], above[:, None]], dim=1)
        self.vertices, self.edges = (
            torch.from_numpy(part).to(device) for part in (batch.triples, edges_of(batch))
        )
        self.features = torch.from_numpy(features(batch)).float().to(device)
        self.size = len(batch.y) if size is None else size


class Complexes:
    """Complexes with triples as a trainer takes them, one in a step.

    Args:
        batches: The complexes.
        device: Where to compute.

    Attributes:
        y: Labels of the triples, a row for each complex, filled up with NaN.
    """

    def __init__(self, batches: Sequence[Batch], device: torch.device) -> None:
        size = max(len(batch.y) for batch in batches)
        self.batches = [Prepared(batch, device, size) for batch in batches]
        self.y = torch.full((len(batches), size), torch.nan)
        for row, batch in zip(self.y, batches, strict=True):
            row[: len(batch.y)] = torch.from_numpy(batch.y)

    def __len__(self) -> int:
        return len(self.batches)

    def batch(self, index: Tensor) -> tuple[Prepared]:
        """Return one complex."""
        return (self.batches[int(index)],)


def network_scores(
    config: Network, split: Split, seed: int, asked: list[Batch], resources: Resources
) -> list[Floats]:
    """Train a network and return log-odds.

    It is trained twice: to find the epoch of the least loss on the validation triples, and for as
    many epochs on these too.
    """
    device = resources.device
    data = Complexes([*split.train, split.valid], device)
    at = torch.arange(len(data))

    def trained(parts: dict[str, Tensor], epochs: int) -> Trainer:
        return train_networks(
            lambda: ClosureNet(config, data.batches[0]),
            data,
            data.y,
            [parts],
            [seed],
            replace(resources, tick=lambda done: None),
            loss="binary_cross_entropy",
            optimizer="adam",
            lr=config.lr,
            weight_decay=config.decay,
            schedule="plateau",
            epochs=epochs,
            patience=config.patience,
            batch_size=1,
        )

    first = trained({"train": at[:-1], "val": at[-1:]}, config.epochs)
    (network,) = trained({"train": at}, first.histories[0].best + 1).networks
    with torch.no_grad(), one_thread(device):
        return [network(Prepared(batch, device))[0].double().cpu().numpy() for batch in asked]


def measured(job: Job) -> Measured:
    """Return what a run has."""
    names = ("triples", "closed", "auc", "precision")
    return Measured((*names, "auc_overlapping") if job.data == COAUTHOR else names)


def table(records: list[Record]) -> Table:
    """Return AUC and average precision by data set and score."""
    lines: list[list[str]] = []
    found = _by_row(records)
    for name in _sets(records):
        mine = {row: of[name] for row, of in found.items() if name in of}
        digits = 4 if name == COAUTHOR else 3
        for row, record in mine.items():
            cells = [
                score([run.metrics[metric] for run in record.runs], digits)
                if metric in record.runs[0].metrics
                else ""
                for metric in ("auc", "auc_overlapping")
            ]
            if name != COAUTHOR:
                cells += [score([run.metrics["precision"] for run in record.runs], 3)]
                cells += [f"{_lift(record):.1f}"]
            lines.append([name, row, *cells, *[""] * (4 - len(cells)), str(len(record.runs))])
        runs = {row: record.runs for row, record in mine.items()}
        lines += [
            [name, "network minus logistic", apart, "", "", "", str(apart.runs)]
            for apart in differences(runs, "network", "logistic", ["auc"], digits)
        ]
    columns = ["data set", "score", *BEST, "lift", "runs"]
    title = "Closure: which triples become triangles"
    return Table(title, columns, lines, _notes(records), highest=BEST, grouped=True)


def _notes(records: list[Record]) -> list[str]:
    notes = [
        "Means ± sample standard deviations: over ten splits of the co-author complex, and over "
        "seeds of the network on temporal sets, which have one split. Lift is the ratio of average "
        "precision to the share of triples that close."
    ]
    for name in _sets(records):
        run = next(r.runs[0].metrics for r in records if r.job.data == name)
        notes.append(f"{name}: {run['closed']:,} of {run['triples']:,} test triples are positive.")
    return notes


def _sets(records: list[Record]) -> list[str]:
    return sorted(
        {record.job.data for record in records}, key=lambda name: (name != COAUTHOR, name)
    )


def _by_row(records: list[Record]) -> dict[str, dict[str, Record]]:
    """Return the records by row and set; fixed scores, then regression and network."""
    found: dict[str, dict[str, Record]] = {}
    for record in records:
        found.setdefault(record.job.row, {})[record.job.data] = record
    learned = ("logistic", "network")

    def key(row: str) -> tuple[int, str]:
        score = next(iter(found[row].values())).job.config.score
        return learned.index(score) if score in learned else -1, row

    return {row: found[row] for row in sorted(found, key=key)}


def _lift(record: Record) -> float:
    return fmean(
        run.metrics["precision"] * run.metrics["triples"] / max(1, run.metrics["closed"])
        for run in record.runs
    )


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the AUC of each score on each data set, every run a dot."""
    from matplotlib import pyplot as plt

    names, found = _sets(records), _by_row(records)
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.5 * len(names), 0.35 * len(found) + 1), sharey=True, squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        for i, mine in enumerate(found.values()):
            values = [run.metrics["auc"] for run in mine[name].runs] if name in mine else []
            ax.plot(values, [i] * len(values), "o", alpha=0.5, color=f"C{i}")
        ax.set(title=name, xlabel="AUC", yticks=range(len(found)), yticklabels=list(found))
        ax.grid(axis="x", alpha=0.3)
    axes[0, 0].invert_yaxis()
    figure.set_label("AUC of each score on each data set, a dot for every split or seed.")
    return {"closure": figure}


EXPERIMENT = Experiment(
    "closure", ClosureConfig, jobs, read, work, steps, table, figures, seeds=5, measured=measured
)
