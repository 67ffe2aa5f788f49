"""Ocean drifters: the right half of the paper's table on trajectories, and beyond it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes import Complex
from mpsn.datasets import FlowDataset, find_data, ocean_drifters
from mpsn.errors import ComplexError, LayerError
from mpsn.nn import functional as fn
from mpsn.nn import global_pool
from mpsn.nn.models import EdgeFlowNet, Model
from mpsn_reproduction.experiment import (
    DataSets,
    Experiment,
    Job,
    Measured,
    Record,
    Resources,
    Run,
)
from mpsn_reproduction.papers import flow as _flow
from mpsn_reproduction.papers.flow import Row, Training, accuracy_table, flow_figures, train
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


def laplacian_coordinates(K: Complex, number: int) -> Tensor:
    """Return coordinates of the vertices, (n_0, number) float64, from the graph Laplacian.

    Eigenvectors of :math:`L_0` for its smallest positive eigenvalues, scaled to mean square 1 and
    signed so that the entry of largest magnitude is positive. Uses a dense matrix.

    Args:
        K: A connected complex.
        number: Number of coordinates.

    Example:
        >>> from mpsn_reproduction.papers.ocean import laplacian_coordinates
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> laplacian_coordinates(K, 1).round(decimals=2).T.abs()
        tensor([[1.2200, 0.0000, 1.2200]], dtype=torch.float64)
    """
    if not 1 <= number < K.num_nodes or K.betti_numbers()[0] != 1:
        raise ComplexError(
            f"Expected a connected complex of more than {number} >= 1 vertices, got {K} with "
            f"Betti numbers {K.betti_numbers()}; take a component, or fewer coordinates."
        )
    L = K.hodge_laplacian(0, dtype=torch.float64).to_dense()
    waves: Tensor = torch.linalg.eigh(L).eigenvectors[:, 1 : number + 1]
    largest = waves.gather(0, waves.abs().round(decimals=9).argmax(dim=0, keepdim=True))
    return waves * largest.sign() * math.sqrt(K.num_nodes)


class MapFlowNet(Model):
    r"""A classifier of flows that uses the positions of their ends, edges and triangles.

    The flow h on edges sends orientation invariant messages: to vertices
    :math:`(\mp B_1 h)_+`, where it starts and where it ends; on edges :math:`|h|`; to triangles,
    or other 2-cells, :math:`|B_2^\top h|`. Each is multiplied by the position of its cell, the mean
    :math:`p` of the coordinates of its vertices, and summed,

    .. math:: r_\mp = \sum_{v} (\mp B_1 h)_{v+}\, p_v, \quad r_1 = \sum_{e} |h_e|\, p_e, \quad
        r_2 = \sum_{t} |B_2^\top h|_t\, p_t,

    and a perceptron with one hidden layer reads the sums, which are unchanged under
    :math:`h \to T_1 h`, :math:`B_1 \to B_1 T_1`, :math:`B_2 \to T_1 B_2 T_2`. Reversing a flow
    swaps r₋ and r₊, so the two can be distinguished.

    The coordinates are features of the vertices, ``K.x[0]``: those of a map, or
    :func:`laplacian_coordinates`. With the identity matrix as coordinates, the first
    dense layer is a learned embedding of the vertices.

    Args:
        coordinates: Number d of coordinates of a vertex. Defaults to 8.
        dims: Dimensions to use: ends of the flow (0), its edges (1), 2-cells it curls around (2).
            Defaults to its ends.
        hidden: Width of the perceptron. Defaults to 64.
        out_channels: Number of classes. Defaults to 2.

    Shapes:
        As for :class:`mpsn.nn.models.EdgeFlowNet`, with h of width 1; ``K.x[0]`` is (n_0, d).

    Example:
        >>> from mpsn_reproduction.papers.ocean import MapFlowNet, laplacian_coordinates
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = K.replace(x=[laplacian_coordinates(K, 8).float()])
        >>> MapFlowNet()(K, torch.randn(78, 5, 1)).shape
        torch.Size([5, 2])
    """

    dim, in_channels = 1, 1

    def __init__(
        self,
        coordinates: int = 8,
        dims: tuple[int, ...] = (0,),
        hidden: int = 64,
        out_channels: int = 2,
    ) -> None:
        super().__init__(locals())
        if not dims or not set(dims) <= {0, 1, 2}:
            raise LayerError(f"Expected dims among 0, 1 and 2, got {dims}.")
        self.coordinates, self.dims = coordinates, dims
        sums = len(dims) + (0 in dims)
        self.head = torch.nn.Sequential(
            torch.nn.Linear(sums * coordinates, hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, out_channels),
        )

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return one row per complex, or per flow of a batch."""
        d, position = self.coordinates, K.x[0] if K.x else None
        if position is None or position.shape[1] != d:
            raise LayerError(
                f"Expected coordinates of the vertices in K.x[0], of shape ({K.num_nodes}, {d}), "
                f"got {None if position is None else tuple(position.shape)}; set them with replace."
            )
        out: Tensor = self.head(torch.cat(list(self._sums(K, h, position.to(h.dtype))), dim=-1))
        return out

    def _sums(self, K: Complex, h: Tensor, position: Tensor) -> Iterator[Tensor]:
        places = [position]  # up to dimension 2, the mean over faces is that over vertices
        for k in range(1, max(self.dims) + 1):
            places.append(K.incidence(k).from_faces(places[-1], reduce="mean"))  # (n_k, d)
        for k in self.dims:
            if k == 0:
                change = fn.aggregate(K, 0, "coboundary", h, signed=True)  # B_1 h, (n_0, ..., 1)
                signals = [(-change).relu(), change.relu()]
            elif k == 1:
                signals = [h.abs()]
            else:
                signals = [fn.aggregate(K, 2, "boundary", h, signed=True).abs()]  # |B_2ᵀ h|
            where = places[k][:, None] if h.dim() == 3 else places[k]
            for signal in signals:
                yield global_pool(K, k, signal * where)  # (..., d)


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
    """Return one job; a regression needs only one seed."""
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
    """Return the number of epochs of all runs; a regression is one step."""
    return 1 if _is_regression(job.config) else _flow.steps(job)


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
    found = _flow.measured(job)
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
