"""Complexes of triangle and tetrahedral meshes."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from mpsn._rows.checks import INTEGERS, as_tensor
from mpsn._rows.packages import is_pyg, package
from mpsn._rows.rows import unique_rows
from mpsn.complexes import SimplicialComplex
from mpsn.complexes.internal import close_tables
from mpsn.errors import ComplexError, FileError, MeshWarning, warn
from mpsn.lifting._near import as_points, lengths
from mpsn.lifting._shared import Device

MERGED = (".stl", ".obj")  # formats that repeat a vertex in each triangle, or along seams


def mesh_complex(
    mesh: object,
    *,
    edge_lengths: bool = False,
    areas: bool = False,
    angles: bool = False,
    device: Device = None,
) -> SimplicialComplex:
    """Build the complex of a mesh: its triangles or tetrahedra, as they are, and their faces.

    A mesh that is not a manifold is loaded, and a warning :class:`mpsn.errors.MeshWarning` lists
    what is wrong: repeated and degenerate triangles, edges in more than two triangles, vertices at
    which several sheets meet. A boundary is no defect, and only counted beside others.

    Args:
        mesh: A file that trimesh reads (OFF, PLY, OBJ, STL, ...), in which polygons are cut into
            triangles, and in STL and OBJ vertices at the same place are merged; a ``Trimesh``; PyG
            ``Data`` with ``pos`` and ``face``; or a pair of positions (n, d) and of triangles
            (m, 3) or tetrahedra (m, 4), by the numbers of their vertices.
        edge_lengths: Whether x[1] holds the lengths of the edges, (n_1, 1).
        areas: Whether x[2] holds the areas of the triangles, in one column.
        angles: Whether x[2] holds the angles at the vertices of each triangle, which ascend, in
            three columns, after the areas.
        device: Device of the complex. Defaults to that of the positions.

    Returns:
        A complex with the positions as features x[0] (followed by ``data.x``). Labels ``data.y``
        stay.

    Example:
        >>> corners = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
        >>> K = mpsn.mesh_complex((corners, [[0, 1, 2]]), edge_lengths=True, areas=True)
        >>> K, K.x[1].T, K.x[2]
        (SimplicialComplex(dim=2, counts=(3, 3, 1), features=(2, 1, 1)), tensor([[3., 4., 5.]]),
         tensor([[6.]]))
    """
    points, cells = _read(mesh)
    position, x, y = as_points(points, device)
    table = as_tensor(cells, "the cells of a mesh").cpu()
    if table.dim() != 2 or table.shape[1] not in (3, 4) or table.dtype not in INTEGERS:
        raise ComplexError(
            f"Expected triangles (m, 3) or tetrahedra (m, 4) as integers, got {table.dtype} of "
            f"shape {tuple(table.shape)}."
        )
    n, rows = len(position), table.long().sort(dim=1).values
    if rows.numel() and not 0 <= int(rows.min()) <= int(rows.max()) < n:
        raise ComplexError(
            f"Expected cells with vertices 0..{n - 1}, got {int(rows.min())} to {int(rows.max())}."
        )
    flat = (rows[:, 1:] == rows[:, :-1]).any(dim=1)  # degenerate: of fewer vertices
    tables = {rows.shape[1]: rows[~flat]} if bool((~flat).any()) else {}
    for row in rows[flat].tolist():
        part = torch.tensor(sorted(set(row)))[None]
        tables[part.shape[1]] = torch.cat([tables.get(part.shape[1], part[:0]), part])
    K: SimplicialComplex = close_tables(tables, n, None).to(position.device)
    _warn(K, rows, flat)
    features: list[Tensor | None] = [x, None, None]
    if edge_lengths:
        features[1] = lengths(position, K.simplices(1)).to(x.dtype)[:, None]
    if areas or angles:
        area, angle = _shapes(position, K.simplices(2))
        both = ([area[:, None]] if areas else []) + ([angle] if angles else [])
        features[2] = torch.cat(both, dim=1).to(x.dtype)
    K = K.replace(x=features[: 3 if K.dim > 1 or areas or angles else 2])
    return K if y is None else K.replace(y=y)


def _shapes(position: Tensor, triangles: Tensor) -> tuple[Tensor, Tensor]:
    """Return the areas (m,) of triangles and the angles (m, 3) at their vertices, in radians."""
    corner = position.double()[triangles]  # (m, 3, d)
    ahead, back = corner.roll(-1, 1) - corner, corner.roll(1, 1) - corner
    dot = (ahead * back).sum(2)  # (m, 3)
    square = (ahead.square().sum(2) * back.square().sum(2) - dot.square()).clamp_min(0)
    double_area = square.sqrt()
    return double_area[:, 0] / 2, torch.atan2(double_area, dot)


def _read(mesh: Any) -> tuple[Any, Any]:
    """Return positions, or data with positions, and cells."""
    if isinstance(mesh, (str, os.PathLike)):
        return _file(Path(mesh))
    if is_pyg(mesh, "Data"):
        if mesh.face is None:
            raise ComplexError("Expected PyG Data with triangles face (3, m), got none.")
        return mesh, mesh.face.T
    if hasattr(mesh, "vertices") and hasattr(mesh, "faces"):
        position = np.asarray(mesh.vertices)
        return torch.tensor(position, dtype=torch.get_default_dtype()), np.asarray(mesh.faces)
    if isinstance(mesh, tuple) and len(mesh) == 2:
        return mesh
    raise ComplexError(
        f"Expected a mesh: a file, a trimesh, PyG Data with pos and face, or a pair (positions, "
        f"cells), got {type(mesh).__name__}."
    )


def _file(path: Path) -> tuple[Any, Any]:
    trimesh = package("trimesh", "mesh")
    if not path.is_file():
        raise FileError(f"Expected a mesh at {path}, found no file.")
    try:
        mesh = trimesh.load_mesh(path, process=False)
        position, cells = np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces)
        if path.suffix.lower() in MERGED and len(cells):
            position, which = np.unique(position, axis=0, return_inverse=True)
            cells = which.reshape(-1)[cells]
    except Exception as error:  # of the many kinds that trimesh's parsers raise
        raise FileError(
            f"Expected a mesh that trimesh reads in {path}, which is damaged or of another kind "
            f"({type(error).__name__}: {error!s:.200})."
        ) from error
    if not len(cells):
        raise FileError(f"Expected at least one triangle in {path}, got none.")
    return torch.tensor(position, dtype=torch.get_default_dtype()), cells


def _warn(K: SimplicialComplex, rows: Tensor, flat: Tensor) -> None:
    """Warn of what is wrong with the cells ``rows``, of which those in ``flat`` are degenerate."""
    k = rows.shape[1] - 1
    side, cell = ("edges", "triangles") if k == 2 else ("triangles", "tetrahedra")
    proper = rows[~flat]
    repeated = len(proper) - len(unique_rows(proper, K.num_nodes)[0]) if len(proper) else 0
    around = torch.bincount(K.faces(k).cpu().reshape(-1), minlength=K.count(k - 1))
    used = torch.bincount(rows.reshape(-1), minlength=K.num_nodes)
    wrong = {
        f"repeated {cell}": repeated,
        f"degenerate {cell}, with a repeated vertex": int(flat.sum()),
        f"{side} in more than two {cell}": int((around > 2).sum()),
        "vertices at which several sheets meet": _pinched(K) if k == 2 else 0,
        f"vertices in none of the {cell}": int((used == 0).sum()),
    }
    if any(wrong.values()):
        wrong[f"{side} on the boundary"] = int((around == 1).sum())
        listed = "; ".join(f"{what}: {count:,}" for what, count in wrong.items() if count)
        warn(f"Defects of the mesh: {listed}.", MeshWarning)


def _pinched(K: SimplicialComplex) -> int:
    """Return the number of vertices whose triangles are not connected through common edges."""
    table, triangles = K.faces(2).cpu().reshape(-1), K.simplices(2).cpu().reshape(-1)
    order = table.argsort(stable=True)
    triangle, column, same = order // 3, order % 3, table[order].diff() == 0
    low = 3 * triangle + (column == 0)  # the corner at an edge's smaller vertex
    high = 3 * triangle + 2 - (column == 2).long()
    ends = [torch.cat([low[side][same], high[side][same]]) for side in (slice(1, None), slice(-1))]
    shape = (len(triangles), len(triangles))
    graph = coo_array((np.ones(len(ends[0])), tuple(end.numpy() for end in ends)), shape=shape)
    part = torch.from_numpy(connected_components(graph, directed=False)[1]).long()
    sheets = torch.unique(part * K.num_nodes + triangles) % K.num_nodes
    return int((torch.bincount(sheets) > 1).sum()) if len(sheets) else 0
