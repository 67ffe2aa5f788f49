"""Ocean drifters around Madagascar: paths of buoys as flows on a map of hexagons."""

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpsn._rows.packages import package
from mpsn.complexes import SimplicialComplex
from mpsn.datasets._flows import FlowDataset
from mpsn.datasets._sources import locate
from mpsn.errors import FileError, MPSNError

NAME = "ocean/dataBuoys.jld2"
SOURCE = (
    "https://raw.githubusercontent.com/nglaze00/SCoNe_GCN/master/ocean_drifters_data/dataBuoys.jld2"
)
SHA256 = "4b312f54fb451d989629b5330cd4633c61f23dc90ea7e1bff6e6fb00a3ed5caa"
SHORTEST = 5  # vertices of a path
Rows = list[list[int]]
# of h5py
HDF5_ERRORS = (
    OSError,
    LookupError,
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    MemoryError,
)


def ocean_drifters(seed: int = 0, data: str | os.PathLike[str] | None = None) -> FlowDataset:
    """Read the ocean drifter data set (section 6): does a buoy pass the island (counter-)clockwise?

    The map is that of Schaub et al. (2020): 133 hexagons, neighbors adjacent. It has two holes,
    Madagascar and a gap between hexagons, so its harmonic space has dimension two, as in their
    paper. Class 0 turns clockwise, class 1 counterclockwise. There are 160 training and 40 test
    paths, split as in the paper (numpy's legacy generator, seed 1) for every ``seed``.

    Args:
        seed: Seed of the orientations of the test flows.
        data: Folder of local copies with ``ocean/dataBuoys.jld2``. Defaults to the environment
            variable ``MPSN_DATA``.
    """
    path = locate(NAME, SOURCE, SHA256, data)
    tables, points, walks = _read(path)
    try:
        K = SimplicialComplex.from_simplices(itertools.chain(*tables))
    except MPSNError as error:
        raise _damaged(path, error) from error
    if K.counts != (133, 320, 186) or K.betti_numbers() != (1, 2, 0):
        raise FileError(
            f"Expected a map of (133, 320, 186) simplices with two holes in {path}, got {K} with "
            f"Betti numbers {K.betti_numbers()}; get a good copy from {SOURCE}."
        )
    edges = {frozenset(edge) for edge in K.simplices(1).tolist()}
    steps = (frozenset(step) for walk in walks for step in itertools.pairwise(walk))
    if points.shape != (133, 2) or any(step not in edges for step in steps):
        raise _damaged(path, "points or paths that do not fit the map")
    paths = [walk for walk in map(_clean, walks) if len(walk) >= SHORTEST]
    paths = [walk[:-1] if walk[0] == walk[-1] else walk for walk in paths]
    island = points.mean(axis=0) - [0.03, 0]
    labels = np.array([_turns_left(points[walk], island) for walk in paths], dtype=np.int64)
    mask = np.arange(len(paths)) < round(0.8 * len(paths))
    np.random.RandomState(1).shuffle(mask)
    return FlowDataset.from_paths(K, points, paths, labels, mask, np.random.default_rng(seed))


def _read(path: Path) -> tuple[list[Rows], NDArray[np.float64], Rows]:
    """Return edges and triangles, centers of hexagons, and paths; the file counts from 1."""
    h5py = package("h5py", "ocean", "read the ocean drifters")
    try:
        with h5py.File(path) as file:
            left = path.stat().st_size

            def value(item: Any) -> Any:
                """Read an array or what is referred to: of all, no more than the file holds."""
                nonlocal left
                if not isinstance(item, (str, h5py.Reference)):
                    return item
                stored = file[item]
                left -= stored.nbytes
                if stored.nbytes > stored.id.get_storage_size() or left < 0:
                    raise ValueError(f"expected {stored.nbytes:,} bytes, got fewer")
                return stored[()]

            tables = [np.asarray(value(name)) for name in ("elist", "tlist")]
            points = np.array([list(point) for point in value("HexcentersXY")], np.float64)
            walks = [[int(value(v)) - 1 for v in value(w)] for w in value("TrajectoriesNodes")]
    except HDF5_ERRORS as error:
        raise _damaged(path, error) from error
    for table in tables:
        if table.ndim != 2 or table.dtype.kind != "i" or table.max(initial=0) > len(points):
            raise _damaged(path, "edges or triangles that are no lists of vertices")
    return [(table.T - 1).tolist() for table in tables], points, walks


def _damaged(path: Path, reason: object) -> FileError:
    return FileError(
        f"Expected the ocean drifter file at {path}, got one that is damaged or of another kind "
        f"({reason}); get a good copy from {SOURCE}."
    )


def _clean(walk: list[int]) -> list[int]:
    """Remove steps that are taken back at once."""
    out: list[int] = []
    for node in walk:
        if len(out) > 1 and node == out[-2]:
            out.pop()
        else:
            out.append(node)
    return out


def _turns_left(points: NDArray[np.float64], center: NDArray[np.float64]) -> bool:
    """Return whether the center lies to the left of the line from the first to the last point."""
    ahead, aside = points[-1] - points[0], center - points[0]
    return bool(ahead[0] * aside[1] - ahead[1] * aside[0] > 0)
