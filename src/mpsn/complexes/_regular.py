"""Checks that cells bound one another as in a regular complex, and signs that make it oriented."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from mpsn._rows.checks import check_incidence
from mpsn._rows.rows import Rows
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError


class _Corners(NamedTuple):
    """Pairs of a cell and a cell in its boundary, through each entry of ``B`` that leads there."""

    entry: Tensor  # of the incidence of the cell
    below: Tensor  # the entry of the incidence one dimension lower
    key: Tensor  # cell * count + the lower cell


def check_regular(num_vertices: int, incidences: Sequence[Incidence]) -> list[Incidence]:
    r"""Return the incidences with signs, given or found, if they form a regular complex.

    The boundary of every cell must be a closed, connected and orientable pseudomanifold with the
    Euler number of a sphere, no two cells may have the same boundary, and :math:`BB = 0`.
    """
    out: list[Incidence] = []
    counts = [num_vertices, *map(len, incidences)]
    for k, B in enumerate(incidences, start=1):
        if B.count != counts[k - 1]:
            raise ComplexError(
                f"Expected the incidence of dimension {k} to have count={counts[k - 1]}, the "
                f"number of {k - 1}-cells, got {B}."
            )
        check_incidence(B, signed=False)
        B = _check_faces(B, k) if k == 1 else _check_boundary(out[-1], B, k)
        _check_distinct(B, k)
        out.append(B)
        if k > 2:
            _check_sphere(out, k)
    return out


def _check_faces(B: Incidence, k: int) -> Incidence:
    _refuse(B, k, B.sizes != 2, "two faces")
    table, signs = B.face.view(-1, 2), B.signs.view(-1, 2)
    _refuse(B, k, table[:, 0] == table[:, 1], "two different vertices")
    _refuse(B, k, signs.sum(1) != 0, "one vertex with sign +1 and one with -1")
    return B


def _check_boundary(below: Incidence, B: Incidence, k: int) -> Incidence:
    """Check that every cell has a closed, connected, orientable boundary, and find its signs."""
    corners = _corners(below, B)
    order = torch.argsort(corners.key, stable=True)
    key, times = torch.unique_consecutive(corners.key[order], return_counts=True)
    _refuse_at(B, k, key[times != 2] // below.count if below.count else key, CLOSED.format(k - 2))
    _refuse(B, k, B.sizes == 0, "at least one face")
    entry, times = torch.unique(B.cell * B.count + B.face, return_counts=True)
    _refuse_at(B, k, entry[times > 1] // max(B.count, 1), "different faces")
    one, two = order.view(-1, 2).T
    through = below.signs[corners.below]
    same = (through[one] * through[two]) < 0  # the two faces agree if their signs have one sign
    e, f, n = corners.entry[one], corners.entry[two], len(B.face)
    # Entry e with sign +1 is node e, with sign -1 node n + e; compatible signs are connected.
    ends = torch.stack([torch.cat([e, n + e]), torch.cat([f + n * ~same, f + n * same])])
    ends_np = ends.cpu().numpy()
    graph = coo_array((np.ones(ends_np.shape[1], np.int8), tuple(ends_np)), shape=(2 * n, 2 * n))
    part = torch.from_numpy(connected_components(graph, directed=False)[1]).to(B.face.device)
    _refuse_at(B, k, B.cell[part[:n] == part[n:]], "an orientable boundary")
    first = B.offsets[:-1][B.cell]  # the first entry of each entry's cell
    plus, minus = part[:n] == part[:n][first], part[:n] == part[n:][first]
    _refuse_at(B, k, B.cell[~(plus | minus)], "a connected boundary")
    if B.width is None and B.sign is None:
        return B.with_sign(2 * plus.to(torch.int8) - 1)
    bad = (B.signs[e] * through[one] + B.signs[f] * through[two]) != 0
    if B.sign is None and bool(bad.any()):
        return B.with_sign(2 * plus.to(torch.int8) - 1)
    _refuse_at(B, k, B.cell[e[bad]], "signs with BB = 0")
    return B


CLOSED = "a closed boundary, with each {}-cell in exactly two of its faces"


def _corners(below: Incidence, B: Incidence) -> _Corners:
    corners = Rows(B.face, B.count, 1) @ below.spans
    entry, through = corners.row, corners.item
    return _Corners(entry, through, B.cell[entry] * below.count + below.face[through])


def _check_sphere(incidences: Sequence[Incidence], k: int) -> None:
    """Check that the boundary of every k-cell has the Euler number of a (k-1)-sphere."""
    B = incidences[-1]
    euler = (-1) ** (k - 1) * B.sizes
    cells: Rows = B
    for j in range(k - 1, 0, -1):
        cells = (cells @ incidences[j - 1]).unique()
        euler += (-1) ** (j - 1) * cells.sizes
    wanted = 1 + (-1) ** (k - 1)
    _refuse(B, k, euler != wanted, f"a sphere as its boundary, with Euler number {wanted}")


def check_cubes(incidences: Sequence[Incidence]) -> None:
    """Raise unless the cells of a regular complex are cubes.

    A regular cell with 2k cubes as faces is a cube if each of its vertices is in k of them.
    """
    n = incidences[0].count if incidences else 0
    vertices = Rows(torch.arange(n, device=incidences[0].face.device if n else None), n, 1)
    for k, B in enumerate(incidences, start=1):
        _refuse(B, k, B.sizes != 2 * k, f"{2 * k} faces, as a cube has")
        through = B @ vertices  # a vertex as often as it is in a face
        key, times = torch.unique(through.row * n + through.item, return_counts=True)
        _refuse_at(
            B, k, key[times != k] // max(n, 1), f"a cube, with each vertex in {k} of its faces"
        )
        vertices = through.unique()


def _check_distinct(B: Incidence, k: int) -> None:
    """Raise if two cells have the same faces. Sorts cells by their faces, as far as they agree.

    Two edges may list the same vertices in opposite order, also once one of them is flipped.
    """
    label = B.face if k > 1 else 2 * B.face + torch.arange(len(B.face), device=B.face.device) % 2
    order = torch.argsort(label, stable=True)
    face = label[order[torch.argsort(B.cell[order], stable=True)]]  # ascending in each cell
    start, size = B.offsets[:-1], B.sizes
    group, cells, column = size, torch.arange(len(B), device=face.device), 0
    while True:
        _, group, sizes = torch.unique(group, return_inverse=True, return_counts=True)
        tied = sizes[group] > 1
        cells, group = cells[tied], group[tied]
        if not len(cells):
            return
        done = size[cells] <= column
        if bool(done.any()):  # cells of one group have one size
            first = group[done][0]
            pair = cells[group == first][:2].tolist()
            raise ComplexError(
                f"Expected cells with different boundaries, got the {k}-cells {pair[0]} and "
                f"{pair[1]} with the faces {_faces(B, pair[1])}; give each cell once."
            )
        group = group * 2 * B.count + face[start[cells] + column]
        column += 1


def _refuse(B: Incidence, k: int, bad: Tensor, expected: str) -> None:
    _refuse_at(B, k, bad.nonzero()[:, 0], expected)


def _refuse_at(B: Incidence, k: int, cells: Tensor, expected: str) -> None:
    if len(cells):
        cell = int(cells.min())
        raise ComplexError(
            f"Expected every {k}-cell to have {expected}; got {k}-cell {cell} with the faces "
            f"{_faces(B, cell)}."
        )


def _faces(B: Incidence, cell: int) -> str:
    start, stop = B.offsets[cell : cell + 2].tolist()
    return f"{B.face[start:stop].tolist()!s:.60}"
