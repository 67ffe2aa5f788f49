"""Ring complexes: every chordless cycle of a graph, up to a length, becomes a 2-cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import CellComplex, ComplexDataset, Incidence
from mpsn.complexes._convert import complex_of, incidence_of
from mpsn.complexes._graphs import CleanGraphs, clean_graphs
from mpsn.complexes.complex import as_incidences
from mpsn.lifting import _rings_cpu as rings_cpu
from mpsn.lifting import _rings_torch as rings_torch
from mpsn.lifting._joins import Neighbors
from mpsn.lifting._shared import (
    CHUNK,
    Budget,
    Device,
    Features,
    Progress,
    check_size,
    with_features,
)
from mpsn.lifting.clique import cliques

ROOTS = 1 << 12  # vertices between updates of the progress bar
REMEDY = "a smaller max_ring, "
CANDIDATE_BYTES = 32  # peak memory of the join on the GPU, per vertex of a candidate


def ring_complex(
    graph: object,
    max_ring: int = 6,
    max_dim: int | None = 2,
    *,
    features: Features = None,
    device: Device = None,
    max_bytes: int | None = None,
) -> CellComplex:
    """Lift a graph to a cell complex whose 2-cells are its rings, the chordless cycles.

    With ``max_dim`` above 2, cliques of four and more vertices become simplices on top of the rings
    of three: the *cliques and rings* lift.

    A ring is walked from its smallest vertex to the smaller of that vertex's two neighbors and on.
    Rings are in lexicographic order of these walks; the edges of a ring are listed along its walk,
    with sign +1 where it ascends. Edges and cliques are as in :func:`mpsn.clique_complex`. There
    can be exponentially many rings: a result that would not fit into memory is refused.

    Args:
        graph: A graph of any kind that :func:`mpsn.clique_complex` accepts.
        max_ring: Largest number of vertices of a ring, at least 3. Defaults to 6.
        max_dim: Largest dimension of a cell; None for all cliques. Defaults to 2.
        features: How to compute missing features of cells from those of their vertices.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to three quarters of the free memory.

    Example:
        >>> mpsn.ring_complex(nx.cycle_graph(6), max_ring=6)
        CellComplex(dim=2, counts=(6, 6, 1))
        >>> mpsn.ring_complex(nx.complete_graph(4), max_ring=6, max_dim=3)  # no longer rings
        CellComplex(dim=3, counts=(4, 6, 4, 1))
    """
    return _lift([graph], max_ring, max_dim, features, device, max_bytes)


def ring_complexes(
    graphs: Sequence[object],
    max_ring: int = 6,
    max_dim: int | None = 2,
    *,
    features: Features = None,
    device: Device = None,
    max_bytes: int | None = None,
) -> ComplexDataset[CellComplex]:
    """Lift many graphs in one call to a packed collection of their ring complexes.

    Arguments as for :func:`ring_complex`.

    Example:
        >>> mpsn.ring_complexes([nx.cycle_graph(5), nx.path_graph(3)], max_ring=6)[0]
        CellComplex(dim=2, counts=(5, 5, 1))
    """
    return ComplexDataset(_lift(graphs, max_ring, max_dim, features, device, max_bytes))


def _lift(
    graphs: Sequence[object],
    max_ring: int,
    max_dim: int | None,
    features: Features,
    device: Device,
    max_bytes: int | None,
) -> CellComplex:
    check_size(max_ring, "max_ring", 3)
    check_size(max_dim, "max_dim", 0, "all cliques")
    clean = clean_graphs(graphs, device)
    n, where = clean.num_nodes, clean.edges.device
    budget = Budget(max_bytes, where, [n])
    tables = cliques(clean, 1 if max_dim is None else min(max_dim, 1), budget)
    incidences = as_incidences(tables, n)
    if tables and (max_dim is None or max_dim > 1):
        limit = max(3, min(max_ring, max(graph.num_nodes for graph in clean.graphs)))
        find = _find_cpu if where.type == "cpu" else _find_torch
        rings = find(clean, limit, budget)
        incidences.append(rings)
    if tables and (max_dim is None or max_dim > 2):
        for B in as_incidences(cliques(clean, max_dim, budget.from_vertices()), n)[2:]:
            face = B.face
            if len(incidences) == 2:  # the triangles are the rings of three, in the same order
                face = (rings.offsets.diff() == 3).nonzero()[:, 0][face]
            count = len(incidences[-1])
            incidences.append(incidence_of(face, count, None, B.offsets, B.signs))
    return with_features(complex_of(CellComplex, clean, incidences), features, max_dim)


def _find_cpu(clean: CleanGraphs, limit: int, budget: Budget) -> Incidence:
    n = clean.num_nodes
    around = rings_cpu.neighbors(clean.edges.numpy(), n)
    degree = np.empty(n, np.int32)
    small, large = np.zeros((2, n), np.int32), np.empty((2, n), np.int64)
    rings_cpu.prune(*around[:2], degree, large[0])
    size = min(CHUNK, 64 * len(clean.edges))
    out: list[Any] = [np.empty(size, kind) for kind in (np.int64, np.int8, np.int64)]
    root = rings = entries = 0
    with Progress(n, 2) as bar:
        while root < n:
            stop = min(n, root + ROOTS)
            free = (out[0][entries:], out[1][entries:], out[2][rings:])
            reached, m, nnz = rings_cpu.search(
                *around, root, stop, limit, degree, small, large, *free
            )
            bar.update(reached - root)
            root, rings, entries = reached, rings + m, entries + nnz
            if reached < stop:  # the rings of that vertex do not fit
                size = min(2 * size, max(0, budget.limit - budget.used) // 9 + 1)
                budget.check(max(rings, size // limit), 9 * size, REMEDY)
                for array in out:
                    array.resize(size, refcheck=False)
    budget.check(rings, _bytes(rings, entries), REMEDY)
    budget.spend(rings, _bytes(rings, entries))
    face, sign, length = map(torch.from_numpy, (out[0][:entries], out[1][:entries], out[2][:rings]))
    return _ragged(face, sign, length, clean)


def _find_torch(
    clean: CleanGraphs, limit: int, budget: Budget, room: int | None = None
) -> Incidence:
    around = Neighbors.of(clean.edges, clean.num_nodes)
    found = [clean.edges.new_zeros(0, 3)]
    rings = entries = 0
    for walks in rings_torch.search(
        around, clean.edges, limit, lambda width: room or budget.room(CANDIDATE_BYTES * width)
    ):
        rings, entries = rings + len(walks), entries + walks.numel()
        budget.check(rings, _bytes(rings, entries), REMEDY)
        found.append(walks)
    budget.spend(rings, _bytes(rings, entries))
    longest = max(walks.shape[1] for walks in found)
    table = torch.cat([nnf.pad(t, (0, longest - t.shape[1]), value=-1) for t in found])
    table = torch.unique(table, dim=0)  # in lexicographic order
    there = nnf.pad(table[:, 1:], (0, 1), value=-1)
    there = torch.where(there < 0, table[:, :1], there)
    on = table >= 0
    here, there = table[on], there[on]
    sign = torch.where(here < there, 1, -1).to(torch.int8)
    return _ragged(around.find(here, there)[1], sign, on.sum(1), clean)


def _ragged(face: Tensor, sign: Tensor, length: Tensor, clean: CleanGraphs) -> Incidence:
    return incidence_of(face, len(clean.edges), None, _offsets(length), sign)


def _offsets(sizes: Tensor) -> Tensor:
    return nnf.pad(sizes.cumsum(0), (1, 0))


def _bytes(rings: int, entries: int) -> int:
    return 9 * entries + 8 * rings
