"""Simplices with times, such as e-mails and conversations, to predict which will be next."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mpsn._files.limits import open_file
from mpsn.datasets._sources import expect
from mpsn.errors import FileError

MOST_BYTES = 1 << 27


@dataclass(frozen=True)
class TemporalSimplices:
    """Simplices in the order of their times: simplex i has the vertices index[ptr[i]:ptr[i + 1]].

    Vertices are 0, 1, ...; a simplex may occur again and again.
    """

    index: NDArray[np.int64]
    ptr: NDArray[np.int64]
    times: NDArray[np.int64]


def temporal_simplices(name: str, data: str | os.PathLike[str] | None = None) -> TemporalSimplices:
    """Read a temporal set in the layout of Benson et al. (2018), such as ``"email-Enron"``.

    Args:
        name: Name of the set.
        data: Folder of local copies with ``closure/NAME/NAME-nverts.txt.gz`` (the number of
            vertices of each simplex), ``-simplices`` (all vertices, from 1) and ``-times``.
            Defaults to the environment variable ``MPSN_DATA``.
    """
    source = "cs.cornell.edu/~arb/data"
    parts = ("nverts", "simplices", "times")
    paths = [expect(f"closure/{name}/{name}-{part}.txt.gz", source, data) for part in parts]
    sizes, vertices, times = map(_numbers, paths)
    if len(sizes) != len(times) or not len(sizes):
        raise FileError(
            f"Expected one size and one time per simplex in {paths[0].parent}, got {len(sizes):,} "
            f"and {len(times):,}; check where the files came from."
        )
    if sizes.min() < 1 or sizes.max() > len(vertices) or sizes.sum() != len(vertices):
        raise FileError(
            f"Expected sizes of at least 1 that add up to {len(vertices):,} vertices in "
            f"{paths[0]}, got others; check where the files came from."
        )
    if vertices.min() < 1 or vertices.max() > len(vertices):
        raise FileError(f"Expected vertices 1, 2, ... in {paths[1]}, got others.")
    order = np.argsort(times, kind="stable")
    start = np.cumsum(sizes) - sizes
    ptr = np.concatenate([[0], np.cumsum(sizes[order])])
    index = np.repeat(start[order] - ptr[:-1], sizes[order]) + np.arange(len(vertices))
    return TemporalSimplices(vertices[index] - 1, ptr, times[order])


def _numbers(path: Path) -> NDArray[np.int64]:
    with open_file(path, "one integer per line", MOST_BYTES) as file:
        return np.fromiter(map(int, file.read().split()), np.int64)
