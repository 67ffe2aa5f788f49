"""Synthetic edge flows: the left half of the paper's table on trajectories."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mpsn.datasets import FlowDataset, synthetic_flows
from mpsn.experiments.experiment import Experiment, Job, Place, Record, Run, Table
from mpsn.experiments.flow_report import Row, accuracy_table, flow_figures
from mpsn.experiments.flow_training import Training, train
from mpsn.nn.models import EdgeFlowConfig, EdgeFlowNet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = {
    "gnn-l0-inv": Row("GNN L₀-inv", "63.9±2.4 / 61.0±4.2", "67.3±6.7 / 68.1±7.6"),
    "mpsn-l0-inv": Row("MPSN L₀-inv", "88.2±5.1 / 85.3±5.8", "90.4±1.7 / 88.5±1.3"),
    "mpsn-relu": Row("MPSN ReLU", "100.0±0.0 / 50.0±0.0", "100.0±0.0 / 50.4±0.9"),
    "mpsn-id": Row("MPSN Id", "88.0±3.1 / 82.6±3.0", "88.9±2.3 / 87.5±2.3"),
    "mpsn-tanh": Row("MPSN Tanh", "97.9±0.7 / 95.2±1.8", "98.1±0.4 / 95.4±1.0"),
}


@dataclass(frozen=True)
class FlowConfig:
    """Settings of a row on the synthetic flows; those of the paper unless changed."""

    model: EdgeFlowConfig = field(default_factory=EdgeFlowConfig)
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
        model = replace(self.model, hidden=16, layers=2)
        return replace(self, model=model, training=training, points=150, train=80, test=40)


@lru_cache(maxsize=1)
def flows(seed: int, points: int, train: int, test: int) -> FlowDataset:
    """Make the data, once for all rows."""
    return synthetic_flows(seed, points=points, train=train, test=test)


def dataset(config: FlowConfig) -> FlowDataset:
    """Return the flows that a config asks for."""
    return flows(config.data_seed, config.points, config.train, config.test)


def jobs(row: str, config: FlowConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job: all seeds are trained side by side."""
    return [Job(row, config, seeds=seeds)]


def work(job: Job, place: Place) -> list[Run]:
    """Train a network for each seed."""
    config: FlowConfig = job.config
    return train(
        lambda: EdgeFlowNet(config.model), dataset(config), config.training, job.seeds, place
    )


def steps(job: Job) -> int:
    """Return the number of epochs."""
    epochs: int = job.config.training.epochs
    return epochs


def table(records: list[Record]) -> Table:
    """Return accuracies beside the paper's and a re-run's."""
    return accuracy_table("Synthetic flows", ROWS, records, quick=_is_quick(records))


def figures(records: list[Record], data: Path | None = None) -> "dict[str, Figure]":
    """Draw the complex with walks, the harmonic coordinates of all flows, and the curves."""
    made = dataset(records[0].job.config) if records else None
    return flow_figures("flow", ROWS, records, made)


def _is_quick(records: list[Record]) -> bool:
    return any(record.job.config.train < FlowConfig().train for record in records)


EXPERIMENT = Experiment("flow", FlowConfig, jobs, work, steps, table, figures, seeds=5)
