"""A complex as one page for a browser."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import pairwise

import numpy as np
import scipy.linalg
import torch
from numpy.typing import ArrayLike, NDArray

from mpsn.complexes.complex import Complex
from mpsn.errors import TooLargeError
from mpsn.plotting._draw import as_points, as_values, graph_of, layout, polygons
from mpsn.wl import swl

MAX_CELLS = 50_000  # of dimension 0 to 2: what a browser draws in a fraction of a second
FLOWS = 12  # harmonic flows in a page


def explorer(
    K: Complex,
    *,
    title: str = "Complex",
    positions: ArrayLike | Mapping[int, ArrayLike] | None = None,
    values: Sequence[ArrayLike | None] = (),
    notes: Sequence[Sequence[str] | None] = (),
) -> str:
    """Return an HTML page that shows a complex, to turn and to point at.

    The page is one file that needs no network. A slider recolors the cells round by round of SWL;
    a menu switches to given numbers, or to the harmonic flows, one for each loop. Pointing at a
    cell shows its vertices, its features ``x`` and all that is drawn of it.

    Args:
        K: The complex; cells of dimension 3 and more appear as their 2-cells.
        title: Heading of the page. Defaults to "Complex".
        positions: Coordinates of the vertices, (n_0, 2) or (n_0, 3), or a dictionary of them.
            Defaults to spring layouts in the plane and in space.
        values: For dimensions 0, 1, 2: a number for each cell, (n_k,), or None, such as the
            contributions of an explanation; drawn from blue (negative) to red (positive).
        notes: For dimensions 0, 1, 2: a text for each cell, shown when pointing at it, or None.

    Example:
        >>> page = mpsn.plotting.explorer(mpsn.clique_complex(nx.karate_club_graph()))
        >>> file = tmp_path / "karate.html"
        >>> _ = file.write_text(page, encoding="utf-8")  # open it in a browser
    """
    if sum(K.counts[:3]) > MAX_CELLS:
        raise TooLargeError(
            f"Expected at most {MAX_CELLS:,} cells of dimension 0 to 2 in a page, got "
            f"{sum(K.counts[:3]):,}; explore a part, K.subcomplex(...)."
        )
    graph, betti = graph_of(K), K.betti_numbers()
    places = [layout(graph), layout(graph, 3)] if positions is None else [positions]
    edges, signs = K.incidence(1).table, K.incidence(1).signs.reshape(-1, 2)
    ends = torch.where(signs[:, :1] < 0, edges, edges.flip(1))  # (n_1, 2), from tail to head
    data = {
        "title": title,
        "counts": K.counts,
        "betti": betti,
        "positions": [_scaled(as_points(points, K.num_nodes, (2, 3))) for points in places],
        "cells": [[[i] for i in range(K.num_nodes)], ends.tolist(), polygons(K)],
        "colors": _colors(K),
        "values": [row.tolist() for row in as_values(values, K)[:3]] if values else None,
        "flows": _flows(K.bare(), min(FLOWS, betti[1] if K.dim > 0 else 0)),
        "texts": [_texts(K, k, notes[k] if k < len(notes) else None) for k in range(3)],
    }
    page = resources.files("mpsn.plotting").joinpath("explorer.html").read_text(encoding="utf-8")
    return page.replace("{{data}}", json.dumps(data).replace("<", "\\u003c"))


def _scaled(points: NDArray[np.float64]) -> list[list[float]]:
    """Move points around the origin, and into the unit ball; as (n_0, 3)."""
    points = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    if len(points):
        points = points - (points.max(0) + points.min(0)) / 2
    size = np.linalg.norm(points, axis=1).max(initial=0.0) or 1.0
    return [[round(x, 4) for x in row] for row in (points / size).tolist()]


def _flows(K: Complex, number: int) -> list[list[float]]:
    """Return independent harmonic flows: harmonic parts of the flow along some edge, alone.

    Such a flow goes around the loops near its edge, where one of an arbitrary basis goes around
    all loops at once. The edges are the pivots of random harmonic flows.
    """
    if not number:
        return []
    start = torch.randn(
        (K.count(1), number), generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    mixed = K.hodge_decomposition(1, start).harmonic
    pivots = scipy.linalg.qr(mixed.T.numpy(), mode="r", pivoting=True)[1][:number]
    alone = torch.zeros_like(start)
    alone[pivots.tolist(), range(number)] = 1
    flows: list[list[float]] = K.hodge_decomposition(1, alone).harmonic.T.tolist()
    return flows


def _colors(K: Complex) -> list[list[list[int]]]:
    """Return, per dimension and cell, the rounds in which its SWL color changes, and to what.

    When cells of one color split, those with the first of them keep the number, so that a picture
    changes only where the test has found something.
    """
    changes: list[list[list[int]]] = [[[] for _ in range(K.count(k))] for k in range(3)]
    numbers: dict[tuple[int, int], int] = {}
    for turn, colors in enumerate(swl(K).colors if K.num_nodes else ()):
        for k, row in enumerate(colors[:3]):
            first: dict[int, int] = {}
            for cell, color in enumerate(row.tolist()):
                leader = k, first.setdefault(color, cell)
                number = numbers.setdefault(leader, len(numbers))
                if not changes[k][cell] or changes[k][cell][-1] != number:
                    changes[k][cell] += [turn, number]
    return changes


def _texts(K: Complex, k: int, notes: Sequence[str] | None) -> list[str]:
    """Return what to show when pointing at each cell."""
    names = K.vertex_labels or range(K.num_nodes)
    index, ptr = (t.tolist() for t in K.cells(k))
    x = K.x[k] if k < len(K.x) else None
    lines = []
    for cell, (start, end) in enumerate(pairwise(ptr)):
        vertices = ", ".join(str(names[v]) for v in index[start:end])
        text = f"{('vertex', 'edge', '2-cell')[k]} {vertices}"
        if notes is not None:
            text += f"\n{notes[cell]}" * bool(notes[cell])
        if x is not None:
            numbers = [f"{value:.4g}" for value in x[cell].reshape(-1)[:13].tolist()]
            text += f"\nfeatures {' '.join(numbers[:12])}{' ...' * (len(numbers) > 12)}"
        lines.append(text)
    return lines
