"""Draw complexes and linear regions; every function takes ``ax`` and returns it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from numpy.typing import ArrayLike, NDArray

from mpsn._rows.checks import as_array
from mpsn.complexes.complex import Complex
from mpsn.errors import ComplexError
from mpsn.regions import Slice
from mpsn.wl import swl

LARGE = 500  # vertices of a component


def draw_complex(
    K: Complex,
    ax: Axes | None = None,
    *,
    positions: ArrayLike | Mapping[int, ArrayLike] | None = None,
    colors: Sequence[ArrayLike | None] = (),
    values: Sequence[ArrayLike | None] = (),
) -> Axes:
    """Draw the vertices, edges and 2-cells of a complex in the plane.

    Args:
        K: The complex; higher cells appear as their 2-cells.
        ax: Axes to draw on. Defaults to a new figure.
        positions: Coordinates of the vertices, (n_0, 2), or a dictionary such as a networkx layout.
            Defaults to a spring layout of each component.
        colors: For dimensions 0, 1, 2: the index of a color for each cell, (n_k,), or None.
        values: For dimensions 0, 1, 2: a number for each cell, (n_k,), or None, instead of
            colors; drawn from blue (negative) to red (positive), on one scale with a color bar.
    """
    points = as_points(layout(graph_of(K)) if positions is None else positions, K.num_nodes)
    paint = [_paint(colors[k] if k < len(colors) else None, k, K.count(k)) for k in range(3)]
    ax = ax or plt.subplots()[1]
    if values:
        paint, scale = _shade(values, K)
        ax.figure.colorbar(scale, ax=ax, shrink=0.8)
    rings = [points[ring] for ring in polygons(K)]
    lines = [points[pair] for pair in K.incidence(1).table.tolist()]
    ax.add_collection(PolyCollection(rings, facecolors=paint[2], alpha=0.35, zorder=1))
    ax.add_collection(LineCollection(lines, colors=paint[1], linewidths=1.4, zorder=2))
    x, y = points.T
    ax.scatter(x, y, c=paint[0], s=42, zorder=3, edgecolors="white", linewidths=0.8)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.axis("off")
    return ax


def draw_stable_colors(
    complexes: Sequence[Complex], axes: Sequence[Axes] | None = None
) -> Sequence[Axes]:
    """Draw complexes side by side, every simplex in its stable SWL color.

    Simplices of one dimension have the same color if SWL cannot distinguish them.

    Args:
        complexes: The complexes.
        axes: Axes to draw on, one per complex. Defaults to a new figure.
    """
    if axes is None:
        axes = list(plt.subplots(1, len(complexes), squeeze=False)[1][0])
    refined = swl(complexes)
    numbers = [torch.unique(colors, return_inverse=True)[1] for colors in refined.colors[-1]]
    for i, (K, ax) in enumerate(zip(complexes, axes, strict=True)):
        parts = zip(numbers, refined.ptr, strict=True)
        draw_complex(K, ax, colors=[row[ptr[i] : ptr[i + 1]] for row, ptr in parts])
    return axes


def graph_of(K: Complex) -> "nx.Graph[int]":
    """Return the vertices and edges of a complex."""
    graph: nx.Graph[int] = nx.empty_graph(K.num_nodes)
    graph.add_edges_from(K.incidence(1).table.tolist())
    return graph


def polygons(K: Complex) -> list[list[int]]:
    """Return the vertices of every 2-cell in their order around it."""
    ends = K.incidence(1).table.tolist()
    face, ptr = K.incidence(2).face.tolist(), K.incidence(2).offsets.tolist()
    around: list[nx.Graph[int]] = [nx.Graph([ends[e] for e in face[i:j]]) for i, j in pairwise(ptr)]
    return [list(nx.dfs_preorder_nodes(ring)) for ring in around]


def layout(graph: "nx.Graph[int]", dim: int = 2) -> dict[int, Any]:
    """Lay out each component by springs, and place them side by side in rows."""
    parts = sorted(map(sorted, nx.connected_components(graph)), key=len, reverse=True)
    sizes = [2 * len(part) ** 0.5 for part in parts]  # diameters
    width = 1.1 * sum(size**2 for size in sizes) ** 0.5
    places: dict[int, Any] = {}
    x = y = height = 0.0
    for part, size in zip(parts, sizes, strict=True):
        if x and x + size > width:
            x, y, height = 0.0, y - height, 0.0
        center = np.array([x + size / 2, y - size / 2, 0.0])[:dim]
        piece = graph.subgraph(part)
        large = len(part) >= LARGE  # springs take their square in time: start near the end
        places |= nx.spring_layout(
            piece,
            pos=nx.spectral_layout(piece, dim=dim) if large else None,
            iterations=10**7 // len(part) ** 2 if large else 200,
            seed=0,
            scale=0.4 * size,
            center=center,
            dim=dim,
        )
        x, height = x + size, max(height, size)
    return places


def draw_regions(cut: Slice, ax: Axes | None = None) -> Axes:
    """Draw the linear regions of a two-dimensional slice, each in its own color.

    Args:
        cut: A slice, from :func:`mpsn.regions.slice2d`.
        ax: Axes to draw on. Defaults to a new figure.
    """
    ax = ax or plt.subplots()[1]
    shade = np.random.default_rng(0).permutation(len(cut.polygons)) / max(1, len(cut.polygons))
    ax.add_collection(
        PolyCollection(cut.polygons, facecolors=plt.get_cmap("turbo")(shade), edgecolors="white")
    )
    ax.set(xlim=cut.window[:2], ylim=cut.window[2:], xticks=[], yticks=[], aspect="equal")
    return ax


def as_points(positions: Any, n: int, dims: Sequence[int] = (2,)) -> NDArray[np.float64]:
    """Return positions as an array of one row per vertex, with as many columns as allowed."""
    shape = " or ".join(f"({n}, {dim})" for dim in dims)
    if isinstance(positions, Mapping):
        missing = [i for i in range(n) if i not in positions]
        if missing:
            raise ComplexError(
                f"Expected positions of the vertices 0, ..., {n - 1}, got none of {missing[0]}."
            )
        positions = [positions[i] for i in range(n)]
    try:
        points = np.asarray(as_array(positions), dtype=float)
    except (TypeError, ValueError) as error:
        raise ComplexError(f"Expected positions of shape {shape}, got {error}.") from error
    if points.shape not in [(n, dim) for dim in dims] and (n or points.size):
        raise ComplexError(
            f"Expected positions of shape {shape}, one point per vertex, got {points.shape}."
        )
    return points.reshape(n, -1 if n else dims[0])


def _paint(numbers: Any, k: int, n: int) -> Any:
    if numbers is None:
        return ("#1f2f4f", "#51658a", "#f28e2b")[k]
    numbers = np.asarray(as_array(numbers))
    if numbers.shape != (n,) or (numbers.dtype.kind not in "iub" and n):
        raise ComplexError(
            f"Expected colors[{k}] to be {n} integers, one per simplex of dimension {k}, got "
            f"shape {numbers.shape} of {numbers.dtype}."
        )
    order = np.r_[0:20:2, 1:20:2]  # the strong colors first, then the pale ones
    return plt.get_cmap("tab20")(order[numbers.astype(int) % 20])


def as_values(values: Sequence[ArrayLike | None], K: Complex) -> list[NDArray[np.float64]]:
    """Return numbers for the cells of each dimension, zeros where there are none."""
    rows = [
        np.zeros(K.count(k)) if row is None else np.asarray(as_array(row), dtype=float)
        for k, row in enumerate([*values, *[None] * (3 - len(values))])
    ]
    for k, row in enumerate(rows):
        if row.shape != (K.count(k),):
            raise ComplexError(
                f"Expected values[{k}] to be one number per simplex of dimension {k}, got shape "
                f"{row.shape}."
            )
    return rows


def _shade(values: Sequence[ArrayLike | None], K: Complex) -> tuple[list[Any], ScalarMappable]:
    """Return colors for numbers, scaled by the largest magnitude of them all, and the scale."""
    rows = as_values(values, K)
    largest = max((float(np.abs(row).max()) for row in rows if row.size), default=0.0) or 1.0
    scale = ScalarMappable(Normalize(-largest, largest), "coolwarm")
    return [scale.to_rgba(row) for row in rows[:3]], scale
