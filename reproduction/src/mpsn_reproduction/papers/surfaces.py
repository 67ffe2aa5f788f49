"""Surfaces: what networks learn of the topology of triangulations, and what survives refinement.

Type, orientability, genus and first Betti number of all closed surfaces with 4 to 10 vertices, from
their triangulations; then the same networks, not trained again, on barycentric subdivisions.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.datasets import SURFACE_TYPES, surfaces
from mpsn.errors import ConfigError
from mpsn.nn.models import GIN, SIN
from mpsn.training import one_thread, seeded
from mpsn_reproduction.experiment import (
    DataSets,
    Experiment,
    Job,
    Measured,
    Record,
    Resources,
    Run,
    by_row,
)
from mpsn_reproduction.papers.surfaces_nets import Blind, Diffusion, Oriented, with_harmonic
from mpsn_reproduction.table import Cell, Table
from mpsn_reproduction.train import train_networks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Surfaces = ComplexDataset[SimplicialComplex]
Predict = Callable[[Surfaces], Tensor]  # from surfaces to the classes of all tasks
TASKS = {"type": len(SURFACE_TYPES), "orientable": 2, "genus": 8, "b1": 7}  # and their classes
TITLES = ["type", "orientable", "genus", "b₁"]
PARTS = {  # of the test surfaces
    "test": "all",
    "n8": "≤ 8 vertices",
    "n9": "9 vertices",
    "n10": "10 vertices",
    "once": "subdivided once",
    "twice": "subdivided twice",
}
RULES = ("majority", "euler", "betti")
ROWS = (*RULES, "gin", "sin", "harmonic", "oriented", "diffusion-fixed", "diffusion")
COLUMNS = [0, 1, 2, 4]  # of the labels
ENTRIES = 1 << 25  # of matrices in a batch of evaluation
WIDE = 128  # of a matrix that is not dense
TWICE = 50  # surfaces of a type that are subdivided twice


@dataclass(frozen=True)
class SurfacesConfig:
    """Settings of a row: a rule or a network, and its training."""

    model: Literal["majority", "euler", "betti", "gin", "sin", "oriented", "harmonic", "diffusion"]
    """The most frequent class among all, among those of the same Euler number, or of the same Betti
    numbers; or a network."""
    hidden: int = 64
    """Width of the layers of GIN and SIN, and of the perceptrons of the others."""
    layers: int = 4
    """Number of message passing layers."""
    readout: Literal["sum", "mean"] = "sum"
    """How GIN and SIN pool the cells."""
    norm: bool = False
    """Whether the layers of GIN and SIN use batch normalization."""
    signals: int = 24
    """Number of random signals of oriented networks."""
    rounds: int = 32
    """Rounds of diffusion in training."""
    tolerance: float = 0.0
    """Diffusion goes on, in evaluation, until changes are this small; 0 for a fixed number."""
    epochs: int = 20
    """Largest number of passes over the training surfaces."""
    batch: int = 1024
    """Number of surfaces per step."""
    lr: float = 0.003
    """Initial learning rate of Adam, halved when the validation loss does not fall."""
    vertices: int = 10
    """Largest number of vertices."""
    subdivisions: int = 2
    """How often test surfaces are subdivided."""

    def __post_init__(self) -> None:
        for name in ("hidden", "layers", "signals", "rounds", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"Expected {name} >= 1, got {getattr(self, name)}.")

    @property
    def trained(self) -> bool:
        """Whether this is a network."""
        return self.model not in ("majority", "euler", "betti")

    def quick(self) -> Self:
        """Return the small version: up to 9 vertices, few epochs, one subdivision."""
        return replace(self, vertices=9, epochs=6, batch=64, hidden=16, subdivisions=1)


def jobs(row: str, config: SurfacesConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per seed."""
    return [Job(row, config, seeds=(seed,)) for seed in seeds]


def read(name: str, folder: Path | None) -> Surfaces:
    """Read the surfaces."""
    return surfaces(folder)


def steps(job: Job) -> int:
    """Return the number of epochs; a rule is one step."""
    return int(job.config.epochs) if job.config.trained else 1


def work(job: Job, resources: Resources) -> list[Run]:
    """Fit a rule or a network with one seed, and measure it on test surfaces and subdivisions."""
    config: SurfacesConfig = job.config
    data: Surfaces = resources.data
    data = data[(data.counts[:, 0] <= config.vertices).nonzero()[:, 0]]
    (seed,) = job.seeds
    device = resources.device
    parts = dict(zip(("train", "valid", "test"), split(labels(data)[:, 0], seed), strict=True))
    if config.trained:
        predict, curve = train(config, data, parts, seed, resources)
    else:
        predict, curve = rule(config.model, data[parts["train"]]), {}
        resources.tick(1)
    metrics: dict[str, int | float] = {}
    with seeded(seed, device), one_thread(device):  # networks read random signals
        valid, test = (data[parts[name]] for name in ("valid", "test"))
        for name, which in (("valid", valid), ("test", test)):
            guess = predict(which)
            metrics |= scores(name, labels(which), guess)
            size = which.counts[:, 0].clamp(min=8)
            for n in torch.unique(size).tolist() if name == "test" else ():
                metrics |= scores(f"n{n}", labels(which)[size == n], guess[size == n])
        for name in ("once", "twice")[: config.subdivisions]:
            if name == "twice":
                test = test[few(labels(test)[:, 0], TWICE)]
            refined = test
            for _ in range(1 if name == "once" else 2):
                refined = ComplexDataset(refined.union.barycentric_subdivision())
            metrics |= scores(name, labels(refined), predict(refined))
    return [Run(seed, 0, metrics, curve)]


def labels(data: Surfaces) -> Tensor:
    """Return the classes of all tasks, (surfaces, 4) int64."""
    assert data.y is not None
    return data.y[:, COLUMNS].cpu()


def split(kind: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the surfaces for training, validation and test: 3/5, 1/5 and 1/5 of each type."""
    random = np.random.default_rng(seed)
    parts: tuple[list[Tensor], ...] = ([], [], [])
    for which in torch.unique(kind).tolist():
        at = (kind == which).nonzero()[:, 0]
        at = at[torch.from_numpy(random.permutation(len(at)))]
        fifth = len(at) // 5
        for part, rows in zip(
            parts, (at[2 * fifth :], at[:fifth], at[fifth : 2 * fifth]), strict=True
        ):
            part.append(rows)
    train, valid, test = (torch.cat(part).sort().values for part in parts)
    return train, valid, test


def few(kind: Tensor, most: int) -> Tensor:
    """Return the first surfaces of each type, at most so many."""
    return torch.cat([(kind == which).nonzero()[:most, 0] for which in torch.unique(kind)])


def rule(model: str, data: Surfaces) -> Predict:
    """Return the rule that predicts the most frequent classes of surfaces with the same key."""
    known = labels(data)
    everywhere = known.mode(0).values
    of_key: dict[tuple[int, ...], Tensor] = {}
    mine = keys(model, data)
    for key in torch.unique(mine, dim=0):
        of_key[tuple(key.tolist())] = known[(mine == key).all(1)].mode(0).values

    def predict(data: Surfaces) -> Tensor:
        found = [of_key.get(tuple(key), everywhere) for key in keys(model, data).tolist()]
        return torch.stack(found)

    return predict


def keys(model: str, data: Surfaces) -> Tensor:
    """Return what a rule knows of each surface, (surfaces, width) int64."""
    if model == "betti":
        return torch.tensor([K.betti_numbers() for K in data])
    euler = data.counts @ torch.tensor([1, -1, 1])
    return (euler if model == "euler" else torch.zeros_like(euler))[:, None]


def network(config: SurfacesConfig) -> torch.nn.Module:
    """Return the network of a row, untrained."""
    hidden, signals, out = config.hidden, config.signals, sum(TASKS.values())
    if config.model == "oriented":
        return Oriented(signals, config.layers, hidden, out)
    if config.model == "diffusion":
        return Diffusion(signals, config.rounds, config.tolerance, hidden, out)
    common: dict[str, Any] = {"hidden": hidden, "out_channels": hidden, "layers": config.layers}
    common |= {"act": "relu", "norm": config.norm, "jump": True, "readout": config.readout}
    if config.model == "gin":
        return Blind(GIN(**common), hidden, out)
    width = 2 if config.model == "harmonic" else 1
    return Blind(SIN(in_channels=width, **common), hidden, out)


def train(
    config: SurfacesConfig,
    data: Surfaces,
    parts: dict[str, Tensor],
    seed: int,
    resources: Resources,
) -> tuple[Predict, dict[str, list[float]]]:
    """Train a network; return it with the weights of the epoch of least validation loss.

    Logits are shifted by the logarithms of the frequencies of the classes, so that all classes
    count the same (Menon et al. 2021).
    """
    device, widths = resources.device, list(TASKS.values())
    dense = config.model == "harmonic"
    prepare = with_harmonic if dense else lambda union: union
    known = data[torch.cat([parts["train"], parts["valid"]])]
    y, number = labels(known), len(parts["train"])
    prior = [
        (column.bincount(minlength=n).clamp(min=1) / number).log().to(device)
        for column, n in zip(y[:number].T, widths, strict=True)
    ]

    def loss(outputs: Tensor, y: Tensor) -> Tensor:
        triples = zip(torch.split(outputs, widths, 1), prior, y.T, strict=True)
        losses = [nnf.cross_entropy(x + p, of, reduction="none") for x, p, of in triples]
        return torch.stack(losses).sum(0)  # (B,)

    at = torch.arange(len(known))
    trainer = train_networks(
        lambda: network(config),
        ComplexDataset(prepare(known.union.to(device))),
        y,
        [{"train": at[:number], "val": at[number:]}],
        [seed],
        resources,
        loss=loss,
        optimizer="adam",
        lr=config.lr,
        schedule="plateau",
        warmup=1,
        clip=1.0,
        epochs=config.epochs,
        patience=max(10, config.epochs // 4),
        batch_size=config.batch,
        capture=config.model in ("gin", "sin", "harmonic"),
    )
    curve = list(trainer.histories[0].valid)
    resources.tick(config.epochs - len(curve))

    def predict(which: Surfaces) -> Tensor:
        outputs = [trainer.predict(prepare(K.to(device))) for K in pieces(which, dense)]
        logits = torch.split(torch.cat(outputs), widths, 1)
        return torch.stack([x.argmax(1) for x in logits], 1).cpu()

    return predict, {"valid_loss": curve}


def pieces(data: Surfaces, dense: bool) -> Iterator[SimplicialComplex]:
    """Yield unions of consecutive surfaces, small enough for dense matrices or for signals."""
    most = int(data.counts.max())
    at_once = max(1, ENTRIES // (most * most if dense else WIDE * most))
    for start in range(0, len(data), at_once):
        yield data.batch(slice(start, start + at_once))


def scores(part: str, y: Tensor, guess: Tensor) -> dict[str, int | float]:
    """Return the scores of all tasks, from classes and predictions (surfaces, tasks), by name.

    Balanced accuracy is the mean recall of the classes present; Matthews' correlation coefficient
    is 0 if there is only one class, or only one is predicted.
    """
    from sklearn.metrics import matthews_corrcoef, recall_score

    out: dict[str, int | float] = {}
    for task, truth, said in zip(TASKS, y.T.numpy(), guess.T.numpy(), strict=True):
        recall = recall_score(truth, said, labels=np.unique(truth), average="macro")
        out[f"{part}_{task}_balanced"] = float(recall)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of one class only
            out[f"{part}_{task}_mcc"] = float(matthews_corrcoef(truth, said))
    return out


def table(records: list[Record]) -> Table:
    """Return balanced accuracies and correlation coefficients, by part, model and task."""
    rows = by_row(records, ROWS)
    lines = [
        [label, row, *(_cell(runs, part, task) for task in TASKS), str(len(runs))]
        for part, label in PARTS.items()
        for row, runs in rows.items()
        if _has(runs, part)
    ]
    notes = [
        "Balanced accuracy / Matthews' correlation coefficient, mean over seeds, each with a split "
        "of its own; ± is the sample standard deviation. Twice subdivided are at most 50 test "
        "surfaces of each type. "
        "majority, euler and betti are rules: the most frequent class of training surfaces, of "
        "those with the same Euler number, and of those with the same Betti numbers. Bold are the "
        "best balanced accuracies."
    ]
    columns = ["test surfaces", "model", *TITLES, "runs"]
    title = "Surfaces with up to 10 vertices"
    return Table(title, columns, lines, notes, highest=TITLES, grouped=True)


def measured(job: Job) -> Measured:
    """Return what a run has."""
    parts = ("test", "once", "twice")[: 1 + job.config.subdivisions]
    return Measured(
        tuple(f"{p}_{t}_{m}" for p in parts for t in TASKS for m in ("balanced", "mcc"))
    )


def _has(runs: list[Run], part: str) -> bool:
    return any(f"{part}_type_balanced" in run.metrics for run in runs)


def _values(runs: list[Run], name: str) -> list[float]:
    return [run.metrics[name] for run in runs if name in run.metrics]


def _cell(runs: list[Run], part: str, task: str) -> Cell:
    shown = []
    for measure in ("balanced", "mcc"):
        values = _values(runs, f"{part}_{task}_{measure}")
        if not values:  # an incomplete record
            return Cell("-")
        spread = stdev(values) if len(values) > 1 else 0.0
        shown.append(f"{fmean(values):.3f}" + f" ± {spread:.3f}" * (spread >= 0.0005))
    value = float(shown[0].split(" ± ")[0])
    return Cell(" / ".join(shown)).having(value=value, runs=len(runs))


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the scores by number of vertices, and after subdivisions."""
    from matplotlib import pyplot as plt

    rows = by_row(records, ROWS)
    parts = [part for part in list(PARTS)[1:] if any(_has(runs, part) for runs in rows.values())]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    shown = (("type_balanced", "type: balanced accuracy"), ("orientable_mcc", "orientable: MCC"))
    for ax, (name, title) in zip(axes, shown, strict=True):
        for i, (row, runs) in enumerate(rows.items()):
            points = [(j, _values(runs, f"{part}_{name}")) for j, part in enumerate(parts)]
            x = [j + (i - len(rows) / 2) * 0.07 for j, values in points if values]
            y = [fmean(values) for _, values in points if values]
            rule = row in RULES
            ax.plot(x, y, "x" if rule else "o", color=f"C{i}", label=row, ms=6)
            ax.plot(x, y, ":" if rule else "-", color=f"C{i}", lw=0.8, alpha=0.6)
        ax.set_title(title)
        ax.set_xticks(range(len(parts)), [PARTS[part] for part in parts], rotation=20)
        ax.grid(axis="y", alpha=0.3)
        ax.set_ylim(-0.3, 1.05)
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.set_label("Scores by the number of vertices, and after subdivisions, mean over seeds.")
    return {"surfaces": figure}


EXPERIMENT = Experiment(
    "surfaces",
    SurfacesConfig,
    jobs,
    read,
    work,
    steps,
    table,
    figures,
    seeds=3,
    measured=measured,
)
