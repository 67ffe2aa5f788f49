"""Linear regions of GNN, SCNN and MPSN layers: exact counts, and the paper's two figures.

All three are the layer of equation "m" with one weight matrix W_n per dimension of the sender,

    H_n' = relu(M_n H_n W_n + B_nᵀ H_{n-1} W_{n-1} + B_{n+1} H_{n+1} W_{n+1}),   M_n = L_n + I,

where SCNN keeps the first term alone and GNN only its vertices. L_n + I is invertible, as the
theorems on GNN and SCNN ask. An actual ``LinearMPSNConv`` with shared weights computes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.nn import LinearMPSNConv
from mpsn.regions import bounds, count, layer_matrix, slice2d
from mpsn_reproduction.experiment import DataSets, Experiment, Job, Measured, Record, Resources, Run
from mpsn_reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Model = Literal["gnn", "scnn", "mpsn"]
EDGE = SimplicialComplex.from_simplices([[0, 1]])
HOLLOW = SimplicialComplex.from_simplices([[0, 1], [0, 2], [1, 2]])
TRIANGLE = SimplicialComplex.from_simplices([[0, 1, 2]])


class Input(NamedTuple):
    """A complex with features, and the widths of layers on it."""

    complex: SimplicialComplex
    d: int
    widths: tuple[int, ...]


INPUTS = {
    "edge, d = 1": Input(EDGE, 1, (1, 2, 3, 4)),
    "edge, d = 2": Input(EDGE, 2, (1, 2, 3, 4)),
    "path of 2 edges, d = 1": Input(
        SimplicialComplex.from_simplices([[0, 1], [1, 2]]), 1, (1, 2, 3)
    ),
    "hollow triangle, d = 1": Input(HOLLOW, 1, (1, 2, 3)),
    "triangle, d = 1": Input(TRIANGLE, 1, (1, 2, 3)),
}
COLUMNS: dict[Model, str] = {
    "gnn": "GNN (theorem)",
    "scnn": "SCNN (theorem)",
    "mpsn": "MPSN (upper bound)",
}

WINDOW = (-3, 3, -3, 3)  # of the pictures
SMALLEST = 36e-4  # area in a picture that can be seen, a ten-thousandth of it
COUNTED = "Regions in view are those of at least a ten-thousandth of the picture."


@dataclass(frozen=True)
class RegionsConfig:
    """A layer with random weights, and what it is applied to."""

    model: Model
    """The layer."""
    inputs: tuple[str, ...] = tuple(INPUTS)
    """Complexes with features, by name."""

    def quick(self) -> Self:
        """Return a small version: on a single edge."""
        return replace(self, inputs=self.inputs[:2])


def jobs(row: str, config: RegionsConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per complex, for all seeds together."""
    return [Job(row, config, name, seeds) for name in config.inputs]


def steps(job: Job) -> int:
    """Return the number of layers."""
    return len(job.seeds) * len(INPUTS[job.data].widths)


def read(name: str, folder: Path | None) -> Input:
    """Return a complex with its widths."""
    return INPUTS[name]


def work(job: Job, resources: Resources) -> list[Run]:
    """Count the regions for every width; ``m3`` is the number for width 3."""
    complex, d, widths = resources.data
    runs = []
    for seed in job.seeds:
        metrics: dict[str, int | float] = {}
        for m in widths:
            metrics[f"m{m}"] = count(matrix(job.config.model, complex, d, m, seed))
            resources.tick(1)
        runs.append(Run(seed, 0, metrics))
    return runs


def layer(model: Model, K: SimplicialComplex, d: int, m: int, seed: int) -> LinearMPSNConv:
    """Return the layer of equation "m" with random weights."""
    out = LinearMPSNConv(d, m, max_dim=K.dim, act="relu")
    generator = torch.Generator().manual_seed(seed)
    W = [torch.randn(m, d, generator=generator) for _ in range(K.dim + 1)]
    apart = 1.0 if model == "mpsn" else 0.0
    with torch.no_grad():
        for n in range(K.dim + 1):
            _set(out.own[n], W[n])
        for n in range(K.dim):
            _set(out.up[n], W[n])
            _set(out.down[n], W[n + 1])
            _set(out.from_faces[n], apart * W[n])
            _set(out.from_cofaces[n], apart * W[n + 1])
    return out


def _set(linear: torch.nn.Module, weight: Tensor) -> None:
    linear.get_parameter("weight").copy_(weight)


def matrix(model: Model, K: SimplicialComplex, d: int, m: int, seed: int) -> NDArray[np.float64]:
    """Return the matrix W of the layer; that of a GNN has vertex outputs only."""
    dims = [d] * (K.dim + 1)
    return layer_matrix(layer(model, K, d, m, seed), K, dims, [0] if model == "gnn" else None)


def populated_matrix(model: Model, m: int, seed: int) -> NDArray[np.float64]:
    """Return the matrix for vertex outputs, with edge features a random linear map of vertices'."""
    generator = torch.Generator().manual_seed(1000 + seed)
    C = torch.randn(3, 3, generator=generator, dtype=torch.float64)

    def populate(x: Tensor) -> Sequence[Tensor]:
        return [x, C @ x]

    return layer_matrix(layer(model, HOLLOW, 1, m, seed), HOLLOW, [1], [0], populate)


def bound(model: Model, counts: Sequence[int], d: int, m: int) -> int:
    """Return the number the theorems give: reached by GNN and SCNN, an upper bound for MPSN."""
    if model == "gnn":
        return bounds.gnn(counts[0], d, m)
    if model == "scnn":
        return bounds.scnn(counts, d, m)
    return min(bounds.mpsn_upper(counts, d, m), bounds.mpsn_trivial(counts, d, m))


def table(records: list[Record]) -> Table:
    """Return the counts of all seeds, which are one number if they agree, beside the theorems'."""
    by_job = {(record.job.data, record.job.row): record for record in records}
    lines = []
    for name, (complex, d, widths) in INPUTS.items():
        models = [model for model in COLUMNS if (name, model) in by_job]
        for m in widths if models else ():
            cells = dict.fromkeys(COLUMNS, "")
            for model in models:
                counts = sorted({int(r.metrics[f"m{m}"]) for r in by_job[name, model].runs})
                theorem = bound(model, complex.counts, d, m)
                cells[model] = f"{' '.join(map(str, counts))} ({theorem})"
            lines.append([name.partition(",")[0], str(d), str(m), *cells.values()])
    notes = [
        "Numbers of linear regions of a layer with d features in and m out, exact for random "
        "weights; several numbers if seeds differ. In parentheses is what the theorems give: the "
        "number itself for GNN and SCNN, the smaller of two upper bounds for MPSN."
    ]
    return Table("Linear regions", ["complex", "d", "m", *COLUMNS.values()], lines, notes)


def measured(job: Job) -> Measured:
    """Return what a run has: a number for every width."""
    return Measured(tuple(f"m{m}" for m in INPUTS[job.data].widths))


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the paper's two figures, of seed 0, if the layers on a triangle are recorded."""
    from matplotlib import pyplot as plt

    from mpsn.plotting import draw_regions

    if {r.job.row for r in records if r.job.data == "triangle, d = 1"} != COLUMNS.keys():
        return {}
    shown: dict[str, tuple[str, dict[str, NDArray[np.float64]]]] = {
        "regions": (
            f"A slice of the input space of each layer on a triangle, d = 1 and m = 3. {COUNTED}",
            {model.upper(): matrix(model, TRIANGLE, 1, 3, 0) for model in COLUMNS},
        ),
        "regions_populated": (
            "A slice of the vertex features of a hollow triangle whose edges have a random linear "
            f"map of them, d = 1 and m = 3, for the outputs on vertices. {COUNTED}",
            {
                "GNN / SCNN": populated_matrix("scnn", 3, 0),
                "MPSN": populated_matrix("mpsn", 3, 0),
            },
        ),
    }
    drawn = {}
    for name, (caption, matrices) in shown.items():
        figure, axes = plt.subplots(1, len(matrices), figsize=(4 * len(matrices), 4.4))
        for ax, (title, W) in zip(axes, matrices.items(), strict=True):
            cut = slice2d(W, seed=1, window=WINDOW)
            draw_regions(cut, ax)
            seen = sum(area(polygon) >= SMALLEST for polygon in cut.polygons)
            ax.set_title(f"{title}\n{seen} regions in view, {count(W):,} in all")
        figure.set_label(caption)
        drawn[name] = figure
    return drawn


def area(polygon: NDArray[np.float64]) -> float:
    """Return the area of a convex polygon, given its corners in order, (n, 2)."""
    x, y = (polygon - polygon[0]).T
    return float(abs(x[:-1] @ y[1:] - x[1:] @ y[:-1])) / 2


EXPERIMENT = Experiment(
    "regions", RegionsConfig, jobs, read, work, steps, table, figures, seeds=3, measured=measured
)
