"""Cube complexes: every square, cube, ... of a graph becomes a cell."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from mpsn._rows.memory import Budget
from mpsn._rows.rows import unique_rows
from mpsn.complexes import ComplexDataset, CubicalComplex, Incidence
from mpsn.complexes.internal import as_incidences
from mpsn.convert import clean_graphs, complex_of
from mpsn.lifting._joins import Neighbors, grow, listed
from mpsn.lifting._shared import Device, check_size

FACTOR = 5  # numbers per vertex of a cube while its faces are found


def cube_complex(
    graph: object,
    max_dim: int | None = 2,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> CubicalComplex:
    """Lift a graph to a cubical complex: its subgraphs that are k-cubes become k-cells.

    A square is any cycle of four edges, with or without chords, so that the complete graph of four
    vertices has three of them. In general a k-cube is a set of edges that form the graph of a
    k-cube; its faces are the (k-1)-cubes among them. Cubes with the same vertices and different
    edges are different cells.

    A cube is numbered from its smallest vertex, with that vertex's neighbors in ascending order as
    axes; this also orients it. Cubes are in lexicographic order of their vertices numbered so. A
    result that would not fit into memory is refused.

    Args:
        graph: A graph of any kind that :func:`mpsn.clique_complex` accepts.
        max_dim: Largest dimension of a cube; None for all cubes. Defaults to 2.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Example:
        >>> mpsn.cube_complex(nx.hypercube_graph(5), max_dim=None)
        CubicalComplex(dim=5, counts=(32, 80, 80, 40, 10, 1))
    """
    return cube_complexes([graph], max_dim, device=device, max_bytes=max_bytes).union


def cube_complexes(
    graphs: Sequence[object],
    max_dim: int | None = 2,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> ComplexDataset[CubicalComplex]:
    """Lift many graphs in one call to a packed collection of their cube complexes.

    Arguments as for :func:`cube_complex`.

    Example:
        >>> mpsn.cube_complexes([nx.cycle_graph(4), nx.path_graph(3)])[0]
        CubicalComplex(dim=2, counts=(4, 4, 1))
    """
    check_size(max_dim, "max_dim", 0, "all cubes")
    clean = clean_graphs(graphs, device)
    n, edges = clean.num_nodes, clean.edges
    with Budget(max_bytes, edges.device, [n]) as budget:
        budget.check(len(edges), 32 * len(edges))
        budget.spend(len(edges), 32 * len(edges))
        cubes = [edges] if max_dim != 0 and len(edges) else []  # their vertices, (n_k, 2^k)
        around = Neighbors(edges, n, budget)
        while cubes and len(cubes[-1]) and len(cubes) != max_dim:
            cubes.append(_extend(cubes[-1], around, budget))
        incidences = as_incidences([rows.flip(1) for rows in cubes[:1]], n)
        incidences += [_incidence(rows, below, n) for below, rows in pairwise(cubes)]
        return ComplexDataset(complex_of(CubicalComplex, clean, incidences))


def _extend(cubes: Tensor, around: Neighbors, budget: Budget) -> Tensor:
    """Return the cubes (m, 2^k) whose first half is one of the given cubes (m', 2^(k-1)).

    Bit i of a column is the coordinate along axis i. The second half is grown vertex by vertex:
    vertex j is adjacent to vertex j of the first half, and to those before it that differ in a bit.
    """
    half = cubes.shape[1]
    k = half.bit_length()

    def column(width: int) -> int:
        j = width - half
        return half + (j & (j - 1)) if j else 0

    def judge(rows: Tensor) -> tuple[Tensor, Tensor]:
        w, j = rows[:, -1], rows.shape[1] - 1 - half
        fits = (w > rows[:, 0]) & (rows[:, 1:-1] != w[:, None]).all(dim=1)
        if j == 0:
            fits &= w > rows[:, half // 2]  # axes ascend
        for i in [j, *(half + (j ^ 1 << bit) for bit in range(k - 1) if j >> bit & 1)]:
            fits &= around.find(rows[:, i], w)[0]
        done = rows.shape[1] == 2 * half
        return fits & (not done), fits & done

    size = 8 * (2 * k + 2 * half)  # of the faces and the vertices of a cube
    meanwhile = 8 * FACTOR * 2 * half  # while its faces are cells
    chunks = partial(grow, cubes, around, judge, budget, column)
    cells = listed(chunks, budget, lambda _: size + meanwhile)
    larger = cells.get(2 * half, cubes.new_zeros(0, 2 * half))
    budget.spend(len(larger), len(larger) * size)
    return larger


def _incidence(cubes: Tensor, below: Tensor, n: int) -> Incidence:
    """Return the incidence between cubes and the cubes below, both numbered canonically."""
    half = below.shape[1]
    corners = torch.arange(2 * half, device=cubes.device)
    faces, signs = [], []
    for column in range(2 * half.bit_length()):
        axis, second = divmod(column, 2)
        front = axis % 2 == second  # front, back, back, front, ...: signs alternate on a grid
        on = (corners >> axis & 1) == int(front)
        rows, sign = _canonical(cubes[:, on])
        faces.append(unique_rows(torch.cat([below, rows]), n)[1][len(below) :])
        signs.append(sign if second == 0 else -sign)
    face = torch.stack(faces, dim=1).reshape(-1)
    sign = torch.stack(signs, dim=1).reshape(-1).to(torch.int8)
    return Incidence.unchecked(face, len(below), len(faces), None, sign)


def _canonical(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Number cubes from their smallest vertex, with axes that ascend; also return the signs."""
    corners = torch.arange(rows.shape[1], device=rows.device)
    bits = torch.arange(rows.shape[1].bit_length() - 1, device=rows.device)
    root = rows.argmin(dim=1, keepdim=True)
    rows = rows.gather(1, corners ^ root)
    axes = rows[:, 1 << bits].argsort(dim=1)
    flips = (root >> bits & 1).sum(dim=1)
    inversions = (axes[:, :, None] > axes[:, None, :]).triu(1).sum(dim=(1, 2))
    order = ((corners[:, None] >> bits & 1) << axes[:, None, :]).sum(dim=2)
    return rows.gather(1, order), 1 - 2 * ((flips + inversions) % 2)
