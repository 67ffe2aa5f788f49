"""Triangulated closed surfaces: all with 4 to 10 vertices, read from a file."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from mpsn._files.io import read_json
from mpsn._files.limits import open_file
from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.complexes.internal import as_incidences, close_under_faces
from mpsn.datasets._sources import USE, find_data
from mpsn.errors import GraphError, MissingDataError

FILE = "surfaces/2_manifolds_n4_10.json.gz"
MOST = 10  # vertices of a surface
SURFACE_TYPES = (
    *("S^2", "T^2", "#^2 T^2", "#^3 T^2", "RP^2", "Klein bottle"),
    *(f"#^{genus} RP^2" for genus in range(3, 8)),
)


def surfaces(data: str | os.PathLike[str] | None = None) -> ComplexDataset[SimplicialComplex]:
    """Read all 43 138 triangulated closed surfaces with 4 to 10 vertices, up to isomorphism.

    The set is that of MANTRA (Ballester et al. 2025), from the enumeration of Lutz and Sulanke.

    Args:
        data: Folder of local copies with ``surfaces/2_manifolds_n4_10.json.gz``. Defaults to the
            environment variable ``MPSN_DATA``.

    Returns:
        The surfaces. Their labels ``y``, (surfaces, 6) int64, are the homeomorphism type, a
        position in ``mpsn.datasets.SURFACE_TYPES``; whether orientable; the genus; and the three
        Betti numbers. The number of vertices is ``counts[:, 0]``.
    """
    path = find_data(FILE, data)
    if path is None:
        raise MissingDataError(
            f"Expected the triangulated surfaces at DIR/{FILE}, found none; get them from MANTRA "
            f"(github.com/aidos-lab/MANTRA) and {USE}."
        )
    return read_surfaces(path)


def read_surfaces(path: Path) -> ComplexDataset[SimplicialComplex]:
    """Read and check surfaces in JSON, compressed or not."""
    with open_file(path, "triangulated surfaces") as file:
        return _parse(read_json(file.read().decode()))


def _labels(orientable: Tensor, genus: Tensor) -> Tensor:
    """Return type, orientability, genus and Betti numbers, (surfaces, 6) int64."""
    kind = torch.where(orientable == 1, genus, genus + 3)
    b1 = torch.where(orientable == 1, 2 * genus, genus - 1)
    return torch.stack([kind, orientable, genus, torch.ones_like(b1), b1, orientable], dim=1)


def _parse(items: Any) -> ComplexDataset[SimplicialComplex]:
    kinds = {"triangulation": list, "n_vertices": int, "genus": int, "orientable": bool}
    if not isinstance(items, list) or not items:
        raise GraphError("expected a list of surfaces")
    for i, item in enumerate(items):
        if not isinstance(item, dict) or any(type(item.get(a)) is not b for a, b in kinds.items()):
            raise GraphError(f"expected {', '.join(kinds)} of surface {i}")
    triangles = np.array([row for item in items for row in item["triangulation"]])
    small = np.array([[item[a] for a in kinds if a != "triangulation"] for item in items])
    if triangles.dtype != np.int64 or triangles.shape[1:] != (3,) or small.dtype != np.int64:
        raise GraphError("expected triangles of three vertices, and small numbers")
    n, genus, orientable = torch.from_numpy(small).T
    sizes = torch.tensor([len(item["triangulation"]) for item in items])
    data = _pack(torch.from_numpy(triangles) - 1, sizes, n)
    y = _labels(orientable, genus)
    signs = torch.tensor([1, -1, 1])
    agree = (data.counts @ signs == y[:, 3:] @ signs) & (genus >= 1 - orientable)
    for i, (item, row) in enumerate(zip(items, y.tolist(), strict=True)):
        name = SURFACE_TYPES[row[0]] if agree[i] and row[0] < len(SURFACE_TYPES) else None
        if name is None or name != item.get("name") or row[3:] != item.get("betti_numbers"):
            raise GraphError(f"expected labels of surface {i} that agree with each other")
    return ComplexDataset(data.union.replace(y=y))


def _pack(triangles: Tensor, sizes: Tensor, n: Tensor) -> ComplexDataset[SimplicialComplex]:
    """Return surfaces with so many triangles and vertices each as one union; they are checked."""
    ptr, owner = nnf.pad(n.cumsum(0), (1, 0)), torch.repeat_interleave(sizes)
    rows = triangles.sort(dim=1).values
    if n.min() < 1 or n.max() > MOST or (rows[:, 0] < 0).any() or (rows[:, 2] >= n[owner]).any():
        raise GraphError("expected vertices from 1 to n_vertices")
    if (rows.diff(dim=1) == 0).any():
        raise GraphError("expected triangles of three different vertices")
    total = int(ptr[-1])
    edges, faces = close_under_faces({3: rows + ptr[owner, None]}, 3, total)
    if len(faces) != len(rows) or (torch.bincount(faces.reshape(-1)) != 2).any():
        raise GraphError("expected different triangles, two at each edge")
    sides = faces.reshape(-1).argsort(stable=True).view(-1, 2)  # of each edge, 3 t + i opposite it
    corners = [sides - sides % 3 + end for end in (sides % 3 == 0, 2 - 1 * (sides % 3 == 2))]
    if (
        _parts(sides // 3, len(rows)) != len(n)
        or _parts(torch.cat(corners), 3 * len(rows)) != total
    ):
        raise GraphError("expected connected surfaces, the link of each vertex being one cycle")
    cuts = [
        ptr,
        torch.searchsorted(edges[:, 1].contiguous(), ptr),
        nnf.pad(sizes.cumsum(0), (1, 0)),
    ]
    return ComplexDataset(SimplicialComplex.unchecked(as_incidences([edges, faces], total), cuts))


def _parts(pairs: Tensor, n: int) -> int:
    """Return the number of connected components of a graph with n vertices and these edges."""
    one, two = pairs.numpy().T
    graph = coo_array((np.ones(len(one), np.int8), (one, two)), shape=(n, n))
    return int(connected_components(graph, directed=False, return_labels=False))
