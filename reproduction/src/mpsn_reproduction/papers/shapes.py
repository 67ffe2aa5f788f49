"""Shapes: point clouds on four surfaces, classified through Rips complexes (beyond the paper).

The features are lengths, so that all models are invariant to rotations: of edges, and the mean
length around each vertex and in each triangle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.datasets import SHAPES, shapes
from mpsn.errors import ConfigError
from mpsn.lifting import rips_complex
from mpsn.nn.models import GIN, SIN, Hierarchical
from mpsn.training import hold_out, select
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
from mpsn_reproduction.settings import Network
from mpsn_reproduction.table import Table, difference, score
from mpsn_reproduction.train import StepTraining, accuracies, train_classifiers, used

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS = {"gin": "GIN, on the graph", "sin": "SIN", "sin-pooling": "SIN with pooling"}
LIMITS = {"per_class": (5, 10_000), "points": (7, 1000), "noise": (0, 1), "radius": (0.1, 3)}


@dataclass(frozen=True)
class ShapesConfig:
    """A model, one of ``sin`` and ``gin``, how to train it, and the clouds."""

    train: StepTraining
    """How to train."""
    sin: Network[SIN] | Network[Hierarchical] | None = None
    """Settings of SIN, or, with a ``ratio``, of Hierarchical."""
    gin: Network[GIN] | None = None
    """Settings of GIN."""
    per_class: int = 100
    """Number of clouds of each class; a fifth each is for validation and for testing."""
    points: int = 150
    """Number of points in a cloud."""
    noise: float = 0.05
    """Standard deviation of the noise; the median distance to the sixth neighbor is 1."""
    radius: float = 1.3
    """Points closer than this are adjacent."""

    def __post_init__(self) -> None:
        if (self.sin is None) == (self.gin is None):
            raise ConfigError("Expected settings of one of sin and gin.")
        for name, (least, most) in LIMITS.items():
            if not least <= getattr(self, name) <= most:
                raise ConfigError(
                    f"Expected {name} from {least} to {most}, got {getattr(self, name)}."
                )

    def quick(self) -> Self:
        """Return a small version: few clouds and epochs."""
        return replace(self, per_class=10, points=60, train=replace(self.train, epochs=5))

    @property
    def network(self) -> Network[Any]:
        """The model, not built yet."""
        network = self.gin or self.sin
        assert network is not None
        return network.replace(out_channels=len(SHAPES))


def jobs(row: str, config: ShapesConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job for all seeds."""
    return [Job(row, config, "", seeds)]


def steps(job: Job) -> int:
    """Return the number of epochs."""
    return len(job.seeds) * int(job.config.train.epochs)


def source(job: Job) -> tuple[int, int, float, float]:
    """Return what the clouds and complexes depend on."""
    config: ShapesConfig = job.config
    return config.per_class, config.points, config.noise, config.radius


def read(what: tuple[int, int, float, float], folder: Path | None) -> ComplexDataset:
    """Sample clouds and make complexes of them."""
    per_class, points, noise, radius = what
    clouds, y = shapes(per_class, points, noise)
    every = [with_lengths(rips_complex(cloud, radius)) for cloud in clouds]
    return ComplexDataset([K.replace(y=label) for K, label in zip(every, y, strict=True)])


def with_lengths(K: SimplicialComplex) -> SimplicialComplex:
    """Return a Rips complex with lengths as features, (n_k, 1) in every dimension."""
    edges = K.x[1]
    assert edges is not None
    length = edges.float()
    around = K.incidence(1).from_cofaces(length, reduce="mean")
    return K.replace(x=[around, length, K.incidence(2).from_faces(length, reduce="mean")])


def splits(y: Tensor, seeds: Sequence[int]) -> list[dict[str, Tensor]]:
    """Return for each seed a random fifth of every class for testing, and one for validation."""
    out = []
    for seed in seeds:
        rest, test = hold_out(y, 0.2, seed)
        stay, val = hold_out(y[rest], 0.25, seed)
        out.append({"train": rest[stay], "val": rest[val], "test": test})
    return out


def work(job: Job, resources: Resources) -> list[Run]:
    """Train on one split for each seed; report the test accuracy at the best validation epoch."""
    config: ShapesConfig = job.config
    data: ComplexDataset = resources.data
    assert data.y is not None
    trained = train_classifiers(
        config.network,
        used(data, config.network),
        data.y,
        splits(data.y, job.seeds),
        job.seeds,
        config.train,
        resources,
        capture=config.network.model is not Hierarchical,
    )
    runs = []
    for seed, history in zip(job.seeds, trained.histories, strict=True):
        curve = accuracies(history)
        epoch, validation, test = select(curve["val"], curve["test"])
        metrics = {"accuracy": test, "val": validation, "epoch": epoch}
        runs.append(Run(seed, 0, metrics, curve))
    return runs


def measured(job: Job) -> Measured:
    """Return what every run has."""
    names = ("loss", "train", "val", "test")
    return Measured(("accuracy", "val"), dict.fromkeys(names, job.config.train.epochs))


def table(records: list[Record]) -> Table:
    """Return test accuracies, mean and standard deviation over the seeds."""
    rows: list[list[str]] = []
    percent = {
        row: {run.seed: 100 * run.metrics["accuracy"] for run in runs}
        for row, runs in by_row(records, MODELS).items()
    }
    for row, values in percent.items():
        seconds = sum(record.seconds for record in records if record.job.row == row)
        text = f"{seconds / len(values):.1f}"
        rows.append([MODELS.get(row, row), score(list(values.values())), text, str(len(values))])
    notes = [
        f"Classes: {', '.join(SHAPES)}. Accuracy in percent on a fifth of the clouds, mean ± "
        "sample standard deviation over the seeds, each with another split, at the epoch with the "
        "best accuracy on another fifth."
    ]
    if apart := difference(percent.get("sin", {}), percent.get("gin", {})):
        rows.append(["SIN minus GIN", apart, "", str(apart.runs)])
    columns = ["model", "accuracy", "seconds per seed", "runs"]
    return Table("Shapes", columns, rows, notes, highest=["accuracy"])


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw a complex of each class, and the accuracies over the epochs."""
    from matplotlib import pyplot as plt

    config: ShapesConfig = records[0].job.config
    clouds, _ = shapes(1, config.points, config.noise)
    figure = plt.figure(figsize=(15, 3.2), layout="constrained")
    for i, cloud in enumerate(clouds):
        ax = figure.add_subplot(1, 5, i + 1, projection="3d")
        triangles = rips_complex(cloud, config.radius).simplices(2).numpy()
        x, y, z = cloud[:, :3].T.numpy()
        ax.plot_trisurf(x, y, z, triangles=triangles, color="#7fb3d5", edgecolor="k", linewidth=0.2)
        ax.set_title(SHAPES[i], y=0.98)
        ax.set_box_aspect(np.ptp([x, y, z], axis=1), zoom=1.3)
        ax.view_init(50, -70)
        ax.set_axis_off()
    ax = figure.add_subplot(1, 5, 5)
    for row, runs in by_row(records, MODELS).items():
        curve = 100 * np.mean([run.curve["test"] for run in runs], axis=0)
        ax.plot(np.arange(1, len(curve) + 1), curve, label=MODELS.get(row, row))
    ax.set(xlabel="epoch", ylabel="test accuracy, mean over seeds")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.set_label("A Rips complex of each class, and test accuracy by epoch, mean over seeds.")
    return {"shapes": figure}


EXPERIMENT = Experiment(
    "shapes",
    ShapesConfig,
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
