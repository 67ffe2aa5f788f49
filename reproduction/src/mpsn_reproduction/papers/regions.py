"""Linear regions of GNN, SCNN and MPSN layers: the paper's two figures, and exact counts.

All three are the layer of equation "m" with one weight matrix W_n per dimension of the sender,

    H_n' = relu(M_n H_n W_n + B_nᵀ H_{n-1} W_{n-1} + B_{n+1} H_{n+1} W_{n+1}),   M_n = L_n + I,

where SCNN keeps the first term alone and GNN only its vertices. L_n + I is invertible, as the
theorems on GNN and SCNN ask. An actual ``LinearMPSNConv`` with shared weights computes it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._files.io import save_figure
from mpsn.complexes import SimplicialComplex
from mpsn.nn import LinearMPSNConv
from mpsn.regions import bounds, count, layer_matrix, slice2d

Model = Literal["GNN", "SCNN", "MPSN"]
MODELS: tuple[Model, ...] = ("GNN", "SCNN", "MPSN")
TRIANGLE = SimplicialComplex.from_simplices([[0, 1, 2]])
HOLLOW = SimplicialComplex.from_simplices([[0, 1], [0, 2], [1, 2]])
SWEEP = [
    ("edge", SimplicialComplex.from_simplices([[0, 1]]), 1, (1, 2, 3, 4)),
    ("edge", SimplicialComplex.from_simplices([[0, 1]]), 2, (1, 2, 3, 4)),
    ("path of 2 edges", SimplicialComplex.from_simplices([[0, 1], [1, 2]]), 1, (1, 2, 3)),
    ("hollow triangle", HOLLOW, 1, (1, 2, 3)),
    ("triangle", TRIANGLE, 1, (1, 2, 3)),
]


class Row(NamedTuple):
    """Exact counts of one layer over seeds, and the theorems' number for them."""

    complex: str
    d: int
    m: int
    model: Model
    regions: list[int]
    bound: int


def layer(model: Model, K: SimplicialComplex, d: int, m: int, seed: int) -> LinearMPSNConv:
    """Return the layer of equation "m" with random weights."""
    out = LinearMPSNConv(d, m, max_dim=K.dim, act="relu")
    generator = torch.Generator().manual_seed(seed)
    W = [torch.randn(m, d, generator=generator) for _ in range(K.dim + 1)]
    apart = 1.0 if model == "MPSN" else 0.0
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
    return layer_matrix(layer(model, K, d, m, seed), K, dims, [0] if model == "GNN" else None)


def populated_matrix(model: Model, m: int, seed: int) -> NDArray[np.float64]:
    """Return the matrix for vertex outputs, with edge features a random linear map of vertices'."""
    generator = torch.Generator().manual_seed(1000 + seed)
    C = torch.randn(3, 3, generator=generator, dtype=torch.float64)

    def populate(x: Tensor) -> Sequence[Tensor]:
        return [x, C @ x]

    return layer_matrix(layer(model, HOLLOW, 1, m, seed), HOLLOW, [1], [0], populate)


def bound(model: Model, counts: Sequence[int], d: int, m: int) -> int:
    """Return the number the theorems give: reached by GNN and SCNN, an upper bound for MPSN."""
    if model == "GNN":
        return bounds.gnn(counts[0], d, m)
    if model == "SCNN":
        return bounds.scnn(counts, d, m)
    return min(bounds.mpsn_upper(counts, d, m), bounds.mpsn_trivial(counts, d, m))


def sweep(seeds: int) -> Iterator[Row]:
    """Count regions over complexes, widths and seeds; a row for each model."""
    for name, K, d, widths in SWEEP:
        for m in widths:
            for model in MODELS:
                regions = [count(matrix(model, K, d, m, seed)) for seed in range(seeds)]
                yield Row(name, d, m, model, regions, bound(model, K.counts, d, m))


def draw(folder: Path, seed: int = 0) -> list[Path]:
    """Draw the paper's two figures as PNG and SVG; return their paths."""
    from matplotlib import pyplot as plt

    from mpsn.plotting import draw_regions

    figures: dict[str, dict[str, NDArray[np.float64]]] = {
        "regions": {model: matrix(model, TRIANGLE, 1, 3, seed) for model in MODELS},
        "regions_populated": {
            "GNN / SCNN": populated_matrix("SCNN", 3, seed),
            "MPSN": populated_matrix("MPSN", 3, seed),
        },
    }
    paths = []
    for name, matrices in figures.items():
        figure, axes = plt.subplots(1, len(matrices), figsize=(4 * len(matrices), 4.4))
        for ax, (title, W) in zip(axes, matrices.items(), strict=True):
            cut = slice2d(W, seed=seed, window=(-3, 3, -3, 3))
            draw_regions(cut, ax)
            ax.set_title(f"{title}\n{len(cut.polygons)} regions shown, {count(W)} in all")
        for kind in ("png", "svg"):
            paths.append(folder / f"{name}.{kind}")
            save_figure(figure, paths[-1], dpi=120, parents=True)
    return paths
