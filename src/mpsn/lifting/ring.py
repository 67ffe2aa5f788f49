"""Ring complexes: every chordless cycle of a graph, up to a length, becomes a 2-cell."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._rows.memory import Budget
from mpsn._rows.rows import ends
from mpsn.complexes import CellComplex, ComplexDataset, Incidence
from mpsn.complexes.internal import as_incidences
from mpsn.convert import CleanGraphs, clean_graphs, complex_of
from mpsn.lifting import _rings
from mpsn.lifting._joins import Neighbors
from mpsn.lifting._shared import CHUNK, Device, check_size, track
from mpsn.lifting.clique import cliques

ROOTS = 1 << 12  # vertices to search from at a time
ENTRY_BYTES = 15  # of an edge of a ring: its number and sign, and what there is once for a ring
LISTS = ((np.int64, 1), (np.int8, 1), (np.int64, 3))  # of edges, signs, and lengths of rings
REMEDY = "a smaller max_ring, "
Array = NDArray[np.int64]
Small = NDArray[np.int32]


def ring_complex(
    graph: object,
    max_ring: int = 6,
    max_dim: int | None = 2,
    *,
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
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Example:
        >>> mpsn.ring_complex(nx.cycle_graph(6), max_ring=6)
        CellComplex(dim=2, counts=(6, 6, 1))
        >>> mpsn.ring_complex(nx.complete_graph(4), max_ring=6, max_dim=3)  # no longer rings
        CellComplex(dim=3, counts=(4, 6, 4, 1))
    """
    return ring_complexes([graph], max_ring, max_dim, device=device, max_bytes=max_bytes).union


def ring_complexes(
    graphs: Sequence[object],
    max_ring: int = 6,
    max_dim: int | None = 2,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> ComplexDataset[CellComplex]:
    """Lift many graphs in one call to a packed collection of their ring complexes.

    Arguments as for :func:`ring_complex`.

    Example:
        >>> mpsn.ring_complexes([nx.cycle_graph(5), nx.path_graph(3)], max_ring=6)[0]
        CellComplex(dim=2, counts=(5, 5, 1))
    """
    check_size(max_ring, "max_ring", 3)
    check_size(max_dim, "max_dim", 0, "all cliques")
    clean = clean_graphs(graphs, device)
    n, top = clean.num_nodes, math.inf if max_dim is None else max_dim
    with Budget(max_bytes, clean.edges.device, [n]) as budget:
        incidences = as_incidences(cliques(clean, int(min(top, 1)), budget), n)
        if incidences and top > 1:
            longest = max(3, min(max_ring, max(graph.num_nodes for graph in clean.graphs)))
            rings = _find(clean, longest, budget)
            incidences.append(rings)
            if top > 2:
                incidences += _cliques_on(rings, clean, max_dim, budget.from_vertices())
        return ComplexDataset(complex_of(CellComplex, clean, incidences))


def _cliques_on(
    rings: Incidence, clean: CleanGraphs, max_dim: int | None, budget: Budget
) -> list[Incidence]:
    """Return the incidences of cliques of four and more vertices, on the rings of three."""
    threes = (rings.sizes == 3).nonzero()[:, 0]  # in the same order as the triangles
    out = [rings]
    for B in as_incidences(cliques(clean, max_dim, budget), clean.num_nodes)[2:]:
        face = threes[B.face] if len(out) == 1 else B.face
        out.append(Incidence.unchecked(face, len(out[-1]), None, B.offsets, B.signs))
    return out[1:]


def _find(clean: CleanGraphs, longest: int, budget: Budget) -> Incidence:
    """Return the rings, found on the CPU also for a graph on a GPU."""
    n, device = clean.num_nodes, clean.edges.device
    around = Neighbors(clean.edges.cpu(), n, budget)
    ptr, neighbor = around.vertex.offsets.numpy(), around.vertex.item.numpy()
    graph = ptr, neighbor, around.edge.numpy()
    degree = np.empty(n, np.int32)
    small, large = np.zeros((2, n), np.int32), np.empty((2, n), np.int64)
    _rings.prune(ptr, neighbor, degree, large[0])
    size = min(CHUNK, 64 * len(clean.edges))
    out: list[Any] = [np.empty(size // part, kind) for kind, part in LISTS]
    rings = entries = 0
    for start in track(range(0, n, ROOTS), 2):
        root, stop = start, min(n, start + ROOTS)
        while root < stop:
            free = out[0][entries:], out[1][entries:], out[2][rings:]
            bounds = root, stop, longest, size - entries
            root, m, nnz = _rings.search(*graph, *bounds, degree, small, large, *free)
            rings, entries = rings + m, entries + nnz
            if root < stop:  # the rings of that vertex do not fit
                size *= 2
                if not budget.is_small(ENTRY_BYTES * size):
                    size = entries + _count(graph, root, longest, degree, budget, rings, entries)
                for array, (_, part) in zip(out, LISTS, strict=True):
                    array.resize(size // part, refcheck=False)
    budget.check(rings, ENTRY_BYTES * entries, REMEDY)
    for array, length in zip(out, (entries, entries, rings), strict=True):
        array.resize(length, refcheck=False)
    budget.spend(rings, ENTRY_BYTES * entries)
    face, sign, sizes = (torch.from_numpy(part).to(device) for part in out)
    return Incidence.unchecked(face, len(clean.edges), None, ends(sizes), sign)


def _count(
    graph: tuple[Array, Array, Array],
    root: int,
    longest: int,
    degree: Small,
    budget: Budget,
    rings: int,
    entries: int,
) -> int:
    """Return the number of entries of all rings from a root on, or refuse them."""
    n, degree, more = len(degree), degree.copy(), 0
    small, large = np.zeros((2, n), np.int32), np.empty((2, n), np.int64)
    nowhere: list[Any] = [np.empty(0, kind) for kind, _ in LISTS]
    most = (budget.limit - budget.used) // ENTRY_BYTES - entries
    for start in track(range(root, n, ROOTS), 2):
        stop = min(n, start + ROOTS)
        bounds = start, stop, longest, most - more
        done, m, nnz = _rings.search(*graph, *bounds, degree, small, large, *nowhere)
        rings, more = rings + m, more + nnz
        if done < stop:
            budget.refuse(budget.limit + 1, f"more than {rings:,} rings", REMEDY)
    budget.check(rings, ENTRY_BYTES * (entries + more), REMEDY)
    return more
