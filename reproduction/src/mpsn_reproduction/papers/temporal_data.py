"""Simplices with times, such as e-mails and conversations, to predict which will be next."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mpsn_reproduction.papers.sources import expect, reading


@dataclass(frozen=True)
class TemporalSimplices:
    """Simplices in the order of their times: simplex i has the vertices index[ptr[i]:ptr[i + 1]].

    Vertices are 0, 1, ...; a simplex may occur again and again.
    """

    index: NDArray[np.int64]
    ptr: NDArray[np.int64]
    times: NDArray[np.int64]


def temporal_simplices(name: str, folder: Path | None = None) -> TemporalSimplices:
    """Read a temporal set in the layout of Benson et al. (2018), such as ``"email-Enron"``.

    Args:
        name: Name of the set.
        folder: Folder with ``closure/NAME/NAME-nverts.txt.gz`` (the number of vertices of each
            simplex), ``-simplices`` (all vertices, from 1) and ``-times``. Defaults to the
            environment variable ``MPSN_DATA``.
    """
    parts = ("nverts", "simplices", "times")
    paths = [
        expect(f"closure/{name}/{name}-{part}.txt.gz", "cs.cornell.edu/~arb/data", folder)
        for part in parts
    ]
    with reading(paths[0].parent):
        sizes, vertices, times = map(_numbers, paths)
        if len(sizes) != len(times):
            raise ValueError(f"{len(sizes):,} sizes of simplices and {len(times):,} times")
        if sizes.min() < 1 or sizes.sum() != len(vertices) or vertices.min() < 1:
            raise ValueError("expected sizes that add up to the vertices 1, 2, ...")
    order = np.argsort(times, kind="stable")
    start = np.cumsum(sizes) - sizes
    ptr = np.concatenate([[0], np.cumsum(sizes[order])])
    index = np.repeat(start[order] - ptr[:-1], sizes[order]) + np.arange(len(vertices))
    return TemporalSimplices(vertices[index] - 1, ptr, times[order])


def _numbers(path: Path) -> NDArray[np.int64]:
    with gzip.open(path) as file:
        return np.fromiter(map(int, file.read().split()), np.int64)
