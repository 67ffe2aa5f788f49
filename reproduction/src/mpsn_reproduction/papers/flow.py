"""Synthetic edge flows: the left half of the paper's table on trajectories.

How networks learn flows, their table and their figures are those of the ocean drifters, too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.datasets import FlowDataset, synthetic_flows
from mpsn.errors import MPSNError
from mpsn.nn.models import EdgeFlowNet
from mpsn.training import METRICS, StepDecay, TrainerSettings
from mpsn_reproduction.experiment import (
    DataSets,
    Experiment,
    Job,
    Measured,
    Record,
    Resources,
    Run,
    by_row,
    differences,
)
from mpsn_reproduction.settings import Network
from mpsn_reproduction.table import Cell, Table, quoted, score
from mpsn_reproduction.train import train_networks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = ("train", "test")
COMPARED = ("mpsn-tanh", "gnn-l0-inv")  # the second is taken from the first
AT_ONCE = 1 << 16  # numbers of flows on a CPU: memory of larger tensors is asked for each time
COLORS = ("#1f77b4", "#d95f02")  # of class 0 and class 1

Part = tuple[SimplicialComplex, Tensor]


class Row(NamedTuple):
    """The label of a row, and train / test accuracies in percent to compare with.

    ``paper`` is from the paper's table on trajectories; ``rerun`` from a re-run of its models with
    five seeds on one H200, without this package, on newly generated walks.
    """

    label: str
    paper: str = ""
    rerun: str = ""


ROWS = {
    "gnn-l0-inv": Row("GNN L₀-inv", "63.9 ± 2.4 / 61.0 ± 4.2", "67.3 ± 6.7 / 68.1 ± 7.6"),
    "mpsn-l0-inv": Row("MPSN L₀-inv", "88.2 ± 5.1 / 85.3 ± 5.8", "90.4 ± 1.7 / 88.5 ± 1.3"),
    "mpsn-relu": Row("MPSN ReLU", "100.0 ± 0.0 / 50.0 ± 0.0", "100.0 ± 0.0 / 50.4 ± 0.9"),
    "mpsn-id": Row("MPSN Id", "88.0 ± 3.1 / 82.6 ± 3.0", "88.9 ± 2.3 / 87.5 ± 2.3"),
    "mpsn-tanh": Row("MPSN Tanh", "97.9 ± 0.7 / 95.2 ± 1.8", "98.1 ± 0.4 / 95.4 ± 1.0"),
}

MPSN_TANH = Network(EdgeFlowNet)


@dataclass(frozen=True)
class Training:
    """How to train. Defaults to the paper's settings."""

    epochs: int = 100
    """Number of passes over the training flows."""
    batch: int = 64
    """Number of flows per step."""
    lr: float = 0.001
    """Initial learning rate of Adam."""
    halve_every: int = 20
    """Number of epochs after which the learning rate is halved, again and again."""
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    """Precision of the network; tf32 on a GPU."""

    def __post_init__(self) -> None:
        TrainerSettings(**self.settings())

    def settings(self) -> dict[str, Any]:
        """Return the settings of a trainer."""
        return {
            "optimizer": "adam",
            "lr": self.lr,
            "schedule": StepDecay(self.halve_every),
            "epochs": self.epochs,
            "batch_size": self.batch,
            "precision": self.precision,
            "metrics": ["accuracy"],
        }


@dataclass(frozen=True)
class FlowConfig:
    """Settings of a row on the synthetic flows. Defaults to those of the paper."""

    model: Network[EdgeFlowNet] = MPSN_TANH
    """The network."""
    training: Training = field(default_factory=Training)
    """How it is trained."""
    data_seed: int = 0
    """Seed of the complex, the walks and the orientations of the test flows."""
    points: int = 1000
    """Number of points before the holes are cut out."""
    train: int = 1000
    """Number of training flows."""
    test: int = 200
    """Number of test flows."""

    def quick(self) -> Self:
        """Return a small version: fewer points, flows and epochs, and a smaller network."""
        training = replace(self.training, epochs=40, batch=10, lr=0.005)
        model = self.model.replace(hidden=16, layers=2)
        return replace(self, model=model, training=training, points=150, train=80, test=40)


def source(job: Job) -> tuple[int, int, int, int]:
    """Return what the flows depend on: seed, points, and numbers of training and test flows."""
    config: FlowConfig = job.config
    return config.data_seed, config.points, config.train, config.test


def read(source: tuple[int, int, int, int], folder: Path | None) -> FlowDataset:
    """Make the flows."""
    seed, points, train, test = source
    return synthetic_flows(seed, points=points, train=train, test=test)


def jobs(row: str, config: FlowConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job: all seeds are trained side by side."""
    return [Job(row, config, seeds=seeds)]


def work(job: Job, resources: Resources) -> list[Run]:
    """Train a network for each seed."""
    config: FlowConfig = job.config
    return train(config.model, resources.data, config.training, job.seeds, resources)


def steps(job: Job) -> int:
    """Return the number of epochs of all runs."""
    return len(job.seeds) * int(job.config.training.epochs)


class Flows:
    """Flows as a trainer takes them: from positions to parts, each a complex and features of edges.

    Training flows are a batch on one complex. Each test flow has edges of its own orientation, so
    that they are on a union of complexes.

    Args:
        data: The flows.
        device: Where to compute.
    """

    def __init__(self, data: FlowDataset, device: torch.device) -> None:
        test = ~data.train
        turned = [data.complex.flip({1: signs < 0}) for signs in data.signs[:, test].T]
        self.complex = data.complex.to(device)
        self.turned = ComplexDataset(turned).to(device)
        self.x = (data.x * data.signs)[..., None].to(device)  # (n_1, N, 1)
        self.number = torch.where(test, test.cumsum(0) - 1, -1)  # of a test flow among these
        self.at_once = len(self) if self.x.is_cuda else max(1, AT_ONCE // len(self.x))

    def __len__(self) -> int:
        return len(self.number)

    def batch(self, index: Tensor) -> list[Part]:
        """Return flows, either all for training or all for testing, in parts for ``InParts``."""
        return [self._part(part) for part in torch.split(index, self.at_once)]

    def _part(self, index: Tensor) -> Part:
        """Return some flows: (n_1, B, 1) on one complex, or (B n_1, 1) on a union."""
        x, number = self.x[:, index], self.number[index]
        if (number < 0).all():
            return self.complex, x
        return self.turned.batch(number), x.transpose(0, 1).flatten(0, 1)


class InParts(torch.nn.Module):
    """A network of flows that is given them in parts.

    Args:
        network: Called as ``network(K, h)``.
    """

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *parts: Part) -> Tensor:
        """Return one row per flow."""
        return torch.cat([self.network(K, h) for K, h in parts])


def train(
    make: Callable[[], torch.nn.Module],
    data: FlowDataset,
    training: Training,
    seeds: Sequence[int],
    resources: Resources,
) -> list[Run]:
    """Train one network per seed on one orientation, and test it on those of the data.

    Accuracies are in percent: in ``metrics``, of the trained network; on the curve, ``train`` is
    measured during the epoch.
    """
    parts = {"train": data.train.nonzero()[:, 0], "test": (~data.train).nonzero()[:, 0]}
    if not all(map(len, parts.values())):
        raise MPSNError(f"Expected flows to train on and flows to test on, got {data}.")
    flows = Flows(data, resources.device)
    trainer = train_networks(
        lambda: InParts(make()),
        flows,
        data.y,
        [parts] * len(seeds),
        seeds,
        resources,
        loss="cross_entropy",
        **training.settings(),
    )
    trained = trainer.outputs(flows, parts["train"]).cpu()
    runs = []
    for seed, logits, history in zip(seeds, trained, trainer.histories, strict=True):
        curve = {"loss": list(history.train)}
        curve |= {part: [100 * v for v in history.curves[f"{part}_accuracy"]] for part in parts}
        train = 100 * METRICS["accuracy"](logits, data.y[parts["train"]])
        runs.append(Run(seed, 0, {"train": train, "test": curve["test"][-1]}, curve))
    return runs


def table(records: list[Record]) -> Table:
    """Return accuracies beside those of the paper and of a re-run."""
    quick = any(record.job.config.train < FlowConfig().train for record in records)
    return accuracy_table("Synthetic flows", ROWS, records, quick=quick)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the complex with walks and the harmonic coordinates of all flows, and the curves."""
    made = data.of(records[0].job) if records and data else None
    return flow_figures("flow", ROWS, records, made)


def measured(job: Job) -> Measured:
    """Return what a run has: accuracies, and those of a network over the epochs with its loss."""
    return Measured(
        ("train", "test"), dict.fromkeys(("loss", "train", "test"), job.config.training.epochs)
    )


def accuracy_table(
    title: str, rows: Mapping[str, Row], records: list[Record], *, quick: bool
) -> Table:
    """Return one line per row that has records, ours beside the paper's and a re-run's."""
    lines: list[list[str]] = []
    found = by_row(records, rows)
    for name, runs in found.items():
        row = rows.get(name, Row(name))
        ours = [score([run.metrics[part] for run in runs]) for part in PARTS]
        theirs = [_quoted(given, i) for given in (row.paper, row.rerun) for i in range(2)]
        lines.append([row.label, *ours, *theirs, str(len(runs))])
    notes = [
        "Accuracy in percent at the end of training, mean ± sample standard deviation over runs. "
        "Training flows share one orientation of the edges, each test flow has its own."
    ]
    if apart := differences(found, *COMPARED, PARTS):
        name = " minus ".join(rows[row].label for row in COMPARED)
        lines.append([name, *apart, "", "", "", "", str(apart[0].runs)])
    if quick:
        notes.append("A small version (--quick): do not compare it with the paper's figures.")
    columns = [f"{of}{part}" for of in ("", "paper: ", "re-run: ") for part in PARTS]
    return Table(title, ["model", *columns, "runs"], lines, notes, highest=columns[1::2])


def _quoted(given: str, i: int) -> Cell:
    return quoted((given or "/").split("/")[i].strip())


def flow_figures(
    name: str, rows: Mapping[str, Row], records: list[Record], data: FlowDataset | None
) -> "dict[str, Figure]":
    """Draw the complex and the harmonic coordinates, if there is data, and training curves."""
    from matplotlib import pyplot as plt

    figures = {}
    if data is not None:
        figure, ax = plt.subplots(figsize=(5, 5))
        draw_walks(data, ax)
        figure.set_label("The complex, and a path of each class.")
        figures[f"{name}_complex"] = figure
        figure, ax = plt.subplots(figsize=(5, 4))
        draw_harmonic(data, ax)
        angle = harmonic_angle(data)
        figure.set_label(
            "Every path, projected onto the harmonic flows: the mean directions of the classes are "
            f"at an angle of {angle:.0f} degrees."
        )
        figures[f"{name}_harmonic"] = figure
    curves = {
        rows.get(row, Row(row)).label: [run.curve for run in runs if run.curve]
        for row, runs in by_row(records, rows).items()
    }
    curves = {label: found for label, found in curves.items() if found}
    if curves:
        figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
        for ax, part in zip(axes, ("loss", "train", "test"), strict=True):
            draw_curves(curves, part, ax)
        figure.legend(
            *axes[2].get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False
        )
        figure.set_label("Training loss, training accuracy and test accuracy by epoch.")
        figures[f"{name}_curves"] = figure
    return figures


def draw_walks(data: FlowDataset, ax: "Axes") -> "Axes":
    """Draw the complex and the first test walk of each class."""
    points = data.positions.numpy()
    ax.triplot(*points.T, data.complex.simplices(2).numpy(), color="0.75", linewidth=0.5)
    for label, color in enumerate(COLORS):
        first = int(((data.y == label) & ~data.train).nonzero()[0])
        walk = points[data.paths[first]]
        ax.plot(*walk.T, color=color, linewidth=2, label=f"class {label}")
        ax.plot(*walk[0], "o", color=color)
        ax.plot(*walk[-1], "s", color=color)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title("A walk of each class, from the circle to the square")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False)
    return ax


def draw_harmonic(data: FlowDataset, ax: "Axes") -> "Axes":
    """Draw each flow at its coordinates in the harmonic space, the kernel of L₁."""
    places = harmonic_coordinates(data)
    for label, color in enumerate(COLORS):
        for train, marker in ((True, "."), (False, "x")):
            which = ((data.y == label) & (data.train == train)).numpy()
            name = f"class {label}, {'train' if train else 'test'}"
            ax.plot(*places[which].T[:2], marker, color=color, label=name, alpha=0.6)
    ax.set(xlabel="first harmonic coordinate", ylabel="second", title="Flows in the kernel of L₁")
    ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    return ax


def harmonic_coordinates(data: FlowDataset) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """Return the inner products of each flow with an orthonormal basis of ker L₁, (N, b_1)."""
    return np.asarray((data.complex.harmonic_basis(1).T @ data.x.double()).T)


def harmonic_angle(data: FlowDataset) -> float:
    """Return the angle between the mean harmonic coordinates of the classes, in degrees."""
    places = harmonic_coordinates(data)
    one, two = (places[(data.y == label).numpy()].mean(axis=0) for label in (0, 1))
    cosine = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    return float(np.degrees(np.arccos(cosine)))


def draw_curves(
    curves: Mapping[str, list[dict[str, list[float]]]], part: str, ax: "Axes"
) -> "Axes":
    """Draw the mean over runs and their range, by epoch."""
    for i, (label, runs) in enumerate(curves.items()):
        values = np.array([run[part] for run in runs])
        epochs = np.arange(1, values.shape[1] + 1)
        ax.plot(epochs, values.mean(axis=0), color=f"C{i}", label=label)
        ax.fill_between(epochs, values.min(axis=0), values.max(axis=0), color=f"C{i}", alpha=0.2)
    if part == "loss":
        ax.set(yscale="log", ylabel="training loss", xlabel="epoch")
    else:
        ax.set(ylabel=f"{part} accuracy, %", xlabel="epoch")
    return ax


EXPERIMENT = Experiment(
    "flow",
    FlowConfig,
    jobs,
    read,
    work,
    steps,
    table,
    figures,
    seeds=5,
    source=source,
    measured=measured,
)
