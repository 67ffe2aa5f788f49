"""Ocean drifters: the right half of the paper's table on trajectories, and beyond it."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from mpsn.datasets import FlowDataset, find_data, ocean_drifters
from mpsn.nn.models import EdgeFlowNet
from mpsn_reproduction.engines.flow_training import Training, train
from mpsn_reproduction.experiment import (
    DataSets,
    Experiment,
    Job,
    Measured,
    Record,
    Resources,
    Run,
)
from mpsn_reproduction.papers import flow_report as _flow_report
from mpsn_reproduction.papers.coordinates import laplacian_coordinates
from mpsn_reproduction.papers.flow_report import Row, accuracy_table, flow_figures
from mpsn_reproduction.papers.map_flow import MapFlowNet
from mpsn_reproduction.settings import Network
from mpsn_reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "ocean/dataBuoys.jld2"
ROWS = {
    "gnn-l0-inv": Row("GNN L₀-inv", "70.1 ± 2.3 / 63.5 ± 6.0", "72.1 ± 3.6 / 62.5 ± 7.2"),
    "mpsn-l0-inv": Row("MPSN L₀-inv", "84.6 ± 4.0 / 71.5 ± 4.1", "83.2 ± 3.1 / 70.5 ± 5.6"),
    "mpsn-relu": Row("MPSN ReLU", "100.0 ± 0.0 / 46.5 ± 5.7", "100.0 ± 0.0 / 49.5 ± 2.9"),
    "mpsn-id": Row("MPSN Id", "94.6 ± 0.9 / 73.0 ± 2.7", "95.9 ± 2.0 / 69.0 ± 4.4"),
    "mpsn-tanh": Row("MPSN Tanh", "99.7 ± 0.5 / 72.5 ± 0.0", "99.9 ± 0.2 / 72.5 ± 3.5"),
    "logistic-size": Row("Logistic, |x|", rerun=" / 87.5"),
    "logistic-ends": Row("Logistic, B₁x", rerun=" / 82.5"),
    "logistic-flow": Row("Logistic, x (not invariant)", rerun=" / 92.5"),
    "map-flow": Row("Map-flow network"),
    "map-flow-splits": Row("Map-flow network, random splits"),
}

MPSN_TANH, MAP_FLOW = Network(EdgeFlowNet), Network(MapFlowNet)
NOTE = (
    "Runs differ in the seed of the network, on the one split of the paper, in which one test path "
    "is also a training path, and 15 of the 40 pairs of first and last vertex occur in training. "
    "Random splits have a split of their own in each run."
)


@dataclass(frozen=True)
class LogisticConfig:
    """Settings of a logistic regression."""

    reads: Literal["size", "ends", "flow"]
    """Absolute x on edges, B₁x on vertices, or x in the reference orientation (not invariant)."""
    C: float = 1.0
    """Inverse strength of the penalty."""


@dataclass(frozen=True)
class RandomSplits:
    """A network on random splits of the flows, instead of several seeds on the paper's split."""

    network: Network[MapFlowNet] = MAP_FLOW
    """The network."""
    splits: int = 20
    """Number of splits into 160 training and 40 test flows."""


def _training() -> Training:
    return Training(epochs=250, halve_every=50)


@dataclass(frozen=True)
class OceanConfig:
    """Settings of a row on the ocean drifters. Defaults to those of the paper."""

    model: Network[EdgeFlowNet] | Network[MapFlowNet] | LogisticConfig | RandomSplits = MPSN_TANH
    """The classifier."""
    training: Training = field(default_factory=_training)
    """How a network is trained."""
    data_seed: int = 0
    """Seed of the orientations of the test flows."""

    def quick(self) -> Self:
        """Return a small version: a few epochs of a narrow network."""
        model = self.model
        if isinstance(model, RandomSplits):
            model = replace(model, splits=2)
        elif isinstance(model, Network) and model.model is EdgeFlowNet:
            model = model.replace(hidden=8)
        training = replace(self.training, epochs=20, lr=0.01, halve_every=5)
        return replace(self, model=model, training=training)


def jobs(row: str, config: OceanConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job: all seeds are trained side by side; a regression needs only one."""
    if isinstance(config.model, RandomSplits):
        seeds = tuple(range(config.model.splits))
    return [Job(row, config, seeds=seeds[:1] if _is_regression(config) else seeds)]


def source(job: Job) -> int:
    """Return the seed of the orientations."""
    return int(job.config.data_seed)


def work(job: Job, resources: Resources) -> list[Run]:
    """Train a classifier for each seed, or for each split."""
    config: OceanConfig = job.config
    model, data = config.model, resources.data
    if isinstance(model, RandomSplits):
        one = replace(config, model=model.network)
        return [
            run
            for seed in job.seeds
            for run in work(
                Job(job.row, one, seeds=(seed,)), replace(resources, data=split(data, seed))
            )
        ]
    if isinstance(model, LogisticConfig):
        metrics = logistic_regression(model, data)
        resources.tick(1)
        return [Run(seed, 0, metrics) for seed in job.seeds]
    if model.model is MapFlowNet:
        coordinates = laplacian_coordinates(data.complex, model.coordinates).float()
        data = replace(data, complex=data.complex.replace(x=[coordinates]))
    return train(model, data, config.training, job.seeds, resources)


def split(data: FlowDataset, seed: int) -> FlowDataset:
    """Return the same flows in another split of the same sizes, and other orientations."""
    rng = np.random.default_rng(seed)
    mask = rng.permutation(data.train.numpy())
    return FlowDataset.from_paths(
        data.complex, data.positions.numpy(), data.paths, data.y.numpy(), mask, rng
    )


def logistic_regression(config: LogisticConfig, data: FlowDataset) -> dict[str, int | float]:
    """Return train and test accuracy in percent of a regression on fixed features."""
    from sklearn.linear_model import LogisticRegression

    x, y = data.x, data.y
    reads = {"size": x.abs(), "ends": data.complex.boundary_matrix(1) @ x, "flow": x}
    features = reads[config.reads].T.numpy()
    model = LogisticRegression(C=config.C, max_iter=1000)
    model.fit(features[data.train], y[data.train])
    parts = {"train": data.train, "test": ~data.train}
    return {name: 100 * model.score(features[which], y[which]) for name, which in parts.items()}


def steps(job: Job) -> int:
    """Return the number of epochs; a regression is one step."""
    passes = len(job.seeds) if isinstance(job.config.model, RandomSplits) else 1
    return 1 if _is_regression(job.config) else passes * int(job.config.training.epochs)


def table(records: list[Record]) -> Table:
    """Return accuracies beside those of the paper and of a re-run."""
    quick = any(
        record.job.config.training.epochs < _training().epochs
        for record in records
        if not _is_regression(record.job.config)
    )
    made = accuracy_table("Ocean drifters", ROWS, records, quick=quick)
    return replace(made, notes=[*made.notes, NOTE])


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the map with paths and their harmonic coordinates, if it is at hand, and the curves."""
    local = data.of(records[0].job) if records and data and find_data(FILE, data.folder) else None
    return flow_figures("ocean", ROWS, records, local)


def measured(job: Job) -> Measured:
    """Return what a run has; a regression has no curves."""
    found = _flow_report.measured(job)
    return Measured(found.metrics) if _is_regression(job.config) else found


def _is_regression(config: OceanConfig) -> bool:
    return isinstance(config.model, LogisticConfig)


EXPERIMENT = Experiment(
    "ocean",
    OceanConfig,
    jobs,
    ocean_drifters,
    work,
    steps,
    table,
    figures,
    seeds=5,
    source=source,
    measured=measured,
)
