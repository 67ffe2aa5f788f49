"""Ocean drifters around Madagascar: buoys' paths as flows on a map of hexagons."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpsn.complexes import SimplicialComplex
from mpsn.datasets._flows import FlowDataset, assemble
from mpsn.datasets._sources import locate
from mpsn.errors import UNREADABLE, FileError, MPSNError

NAME = "ocean/dataBuoys.jld2"
SOURCE = (
    "https://raw.githubusercontent.com/nglaze00/SCoNe_GCN/master/ocean_drifters_data/dataBuoys.jld2"
)
SHA256 = "4b312f54fb451d989629b5330cd4633c61f23dc90ea7e1bff6e6fb00a3ed5caa"
SHORTEST = 5  # vertices of a path


def ocean_drifters(seed: int = 0, data: str | os.PathLike[str] | None = None) -> FlowDataset:
    """Read the ocean drifter data set (section 6): does a buoy pass the island (counter-)clockwise?

    The map is Schaub et al.'s (2020): 133 hexagons, neighbors joined. It has two holes, Madagascar
    and a gap between hexagons, so its harmonic space has dimension two, as in their paper.
    Class 0 turns clockwise, class 1 counter-clockwise. 160 training and 40 test paths, split as in
    the paper (numpy's legacy generator, seed 1), whatever the ``seed``. Needs ``h5py``.

    Args:
        seed: Of the orientations of the test flows.
        data: Folder of local copies; the file is ``ocean/dataBuoys.jld2`` in it.
    """
    path = locate(NAME, SOURCE, SHA256, data)
    try:
        K, centers, walks = _read(path)
    except ImportError as error:
        raise MPSNError("Expected h5py to be installed; run pip install mpsn[ocean].") from error
    except UNREADABLE as error:
        raise FileError(
            f"Expected the ocean drifter file at {path}, got one that is damaged or of another "
            f"kind ({error}); get a good copy from {SOURCE}."
        ) from error
    if K.counts != (133, 320, 186) or K.betti_numbers() != (1, 2, 0):
        raise FileError(
            f"Expected a map of (133, 320, 186) simplices with two holes in {path}, got {K} with "
            f"Betti numbers {K.betti_numbers()}; get a good copy from {SOURCE}."
        )
    paths = [walk for walk in map(_clean, walks) if len(walk) >= SHORTEST]
    paths = [walk[:-1] if walk[0] == walk[-1] else walk for walk in paths]
    island = centers.mean(axis=0) - [0.03, 0]
    labels = np.array([_turns_left(centers[walk], island) for walk in paths], dtype=np.int64)
    mask = np.arange(len(paths)) < round(0.8 * len(paths))
    np.random.RandomState(1).shuffle(mask)
    return assemble(K, centers, paths, labels, mask, np.random.default_rng(seed))


def _read(path: Path) -> tuple[SimplicialComplex, NDArray[np.float64], list[list[int]]]:
    """Return the map, the centers of its hexagons, and the paths; all 1-based in the file."""
    import h5py

    with h5py.File(path) as file:

        def value(item: Any) -> Any:
            return file[item][()] if isinstance(item, h5py.Reference) else item

        faces = [np.asarray(file[name]).T - 1 for name in ("elist", "tlist")]
        centers = np.array([list(point) for point in file["HexcentersXY"][()]])
        walks = [
            [int(value(node)) - 1 for node in value(walk)] for walk in file["TrajectoriesNodes"][()]
        ]
    K = SimplicialComplex.from_simplices([row for table in faces for row in table.tolist()])
    return K, centers, walks


def _clean(walk: list[int]) -> list[int]:
    """Take out steps forth and straight back."""
    out: list[int] = []
    for node in walk:
        if len(out) > 1 and node == out[-2]:
            out.pop()
        else:
            out.append(node)
    return out


def _turns_left(points: NDArray[np.float64], center: NDArray[np.float64]) -> bool:
    """Tell whether the center lies to the left of the way from the first to the last point."""
    ahead, aside = points[-1] - points[0], center - points[0]
    return bool(ahead[0] * aside[1] - ahead[1] * aside[0] > 0)
