"""Synthetic edge flows: the left half of the paper's table on trajectories."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mpsn.datasets import FlowDataset, synthetic_flows
from mpsn.nn.models import EdgeFlowNet
from mpsn_reproduction.engines.flow_training import Training, train
from mpsn_reproduction.experiment import DataSets, Experiment, Job, Record, Resources, Run
from mpsn_reproduction.papers.flow_report import Row, accuracy_table, flow_figures, measured
from mpsn_reproduction.settings import Network
from mpsn_reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = {
    "gnn-l0-inv": Row("GNN L₀-inv", "63.9 ± 2.4 / 61.0 ± 4.2", "67.3 ± 6.7 / 68.1 ± 7.6"),
    "mpsn-l0-inv": Row("MPSN L₀-inv", "88.2 ± 5.1 / 85.3 ± 5.8", "90.4 ± 1.7 / 88.5 ± 1.3"),
    "mpsn-relu": Row("MPSN ReLU", "100.0 ± 0.0 / 50.0 ± 0.0", "100.0 ± 0.0 / 50.4 ± 0.9"),
    "mpsn-id": Row("MPSN Id", "88.0 ± 3.1 / 82.6 ± 3.0", "88.9 ± 2.3 / 87.5 ± 2.3"),
    "mpsn-tanh": Row("MPSN Tanh", "97.9 ± 0.7 / 95.2 ± 1.8", "98.1 ± 0.4 / 95.4 ± 1.0"),
}

MPSN_TANH = Network(EdgeFlowNet)


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
    """Return the number of epochs."""
    return int(job.config.training.epochs)


def table(records: list[Record]) -> Table:
    """Return accuracies beside those of the paper and of a re-run."""
    quick = any(record.job.config.train < FlowConfig().train for record in records)
    return accuracy_table("Synthetic flows", ROWS, records, quick=quick)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the complex with walks and the harmonic coordinates of all flows, and the curves."""
    made = data.of(records[0].job) if records and data else None
    return flow_figures("flow", ROWS, records, made)


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
