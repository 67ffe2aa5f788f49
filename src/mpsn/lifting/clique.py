"""Clique complexes: every clique of a graph becomes a simplex."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.memory import Budget
from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.complexes.internal import as_incidences
from mpsn.convert import CleanGraphs, clean_graphs, complex_of
from mpsn.lifting import _cliques_cpu as cliques_cpu
from mpsn.lifting._cliques_torch import extend as extend_torch
from mpsn.lifting._shared import CHUNK, Device, check_size, track

EDGE_BYTES = 48  # peak memory per edge: cleaned, as a face table, and its last vertex
LEVEL = 3  # numbers per clique beside its faces, while those of a larger dimension are found
ROOTS = 1 << 12  # vertices whose cliques are counted between two looks at the progress


def clique_complex(
    graph: object,
    max_dim: int | None = 2,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> SimplicialComplex:
    """Lift a graph to its clique complex: every (k+1)-clique becomes a k-simplex (section 3).

    Cliques are counted before they are written, dimension by dimension; a result that would not
    fit into memory is refused before it is allocated. Time is linear in the size of the result for
    sparse graphs, and O(a^(k-1) m) for a graph of m edges and arboricity a.

    Args:
        graph: PyG ``Data`` (x, edge_attr and y become x[0], x[1] and y), a networkx graph with any
            hashable labels, a scipy sparse or a dense matrix, a pandas data frame with columns
            source and target, a list of edges, ``edge_index`` or ``(edge_index, num_nodes)``.
            Self-loops are dropped, edges are undirected, repeated edges count once (with the
            edge_attr listed first; a warning says if others differ), isolated vertices are kept.
        max_dim: Largest dimension of a simplex; None for all cliques.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Example:
        >>> mpsn.clique_complex(nx.complete_graph(4), max_dim=None)
        SimplicialComplex(dim=3, counts=(4, 6, 4, 1))
    """
    return clique_complexes([graph], max_dim, device=device, max_bytes=max_bytes).union


def clique_complexes(
    graphs: Sequence[object],
    max_dim: int | None = 2,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> ComplexDataset:
    """Lift many graphs in one call to a packed collection of their clique complexes.

    Arguments as for :func:`clique_complex`.

    Example:
        >>> data = mpsn.clique_complexes([nx.cycle_graph(3), nx.path_graph(3)])
        >>> data[0], data[1]
        (SimplicialComplex(dim=2, counts=(3, 3, 1)), SimplicialComplex(dim=1, counts=(3, 2)))
    """
    check_size(max_dim, "max_dim", 0, "all cliques")
    clean = clean_graphs(graphs, device)
    with Budget(max_bytes, clean.edges.device, [clean.num_nodes]) as budget:
        incidences = as_incidences(cliques(clean, max_dim, budget), clean.num_nodes)
        return ComplexDataset(complex_of(SimplicialComplex, clean, incidences))


def cliques(
    clean: CleanGraphs, max_dim: int | None, budget: Budget, ordered: bool = False
) -> list[Tensor]:
    """Return the face tables of the cliques, from edges on.

    If ``ordered``, edges run from their first to their second vertex, and so do those of cliques.
    """
    edges, tables = clean.edges, []
    if max_dim == 0 or not len(edges):
        return []
    budget.check(len(edges), EDGE_BYTES * len(edges))
    tally = partial(_tally, clean, max_dim, budget, ordered, budget.used)
    extend = _extend if edges.is_cpu else extend_torch
    faces, last, ptr = edges.flip(1), edges[:, 1].contiguous(), clean.starts
    while len(faces):
        tables.append(faces)
        budget.spend(len(faces), 8 * faces.numel())
        if len(tables) == max_dim:
            break
        budget.tally = None if len(tables) + 1 == max_dim else tally
        faces, last, ptr = extend(faces, last, ptr, ordered, clean.num_nodes, budget)
    budget.tally = None
    return tables


def _tally(
    clean: CleanGraphs, max_dim: int | None, budget: Budget, ordered: bool, used: int
) -> None:
    """Count all cliques without keeping them, and refuse those that would not fit."""
    ptr, ends = clean.starts.cpu().numpy(), clean.edges[:, 1].cpu().contiguous().numpy()
    deepest = int(np.diff(ptr).max())  # the first vertex of a clique has an edge to all others
    counts = np.zeros((deepest if max_dim is None else min(deepest, max_dim)) + 1, np.int64)
    entries, most, n = 0, (budget.limit - used) // 8, clean.num_nodes
    for start in track(range(0, n, ROOTS), 2):
        if entries <= most:
            part = start, min(n, start + ROOTS)
            entries += cliques_cpu.tally(ptr, ends, ordered, *part, counts, most - entries)
    rows, level = int(counts.sum()) + len(ends), max(int(counts.max()), len(ends))
    need = used + 8 * (entries + 2 * len(ends) + LEVEL * level) + budget.cell_bytes * rows
    budget.refuse(need, f"{rows:,} cliques" + " and more" * (entries > most))


def _extend(
    faces: Tensor, last: Tensor, ptr: Tensor, ordered: bool, _: int, budget: Budget
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the face table, the last vertices and the offsets of the children of cliques."""
    arrays, (m, width) = (faces.numpy(), last.numpy(), ptr.numpy(), ordered), faces.shape
    starts, children = range(0, m, CHUNK), np.zeros(m + 1, np.int64)
    for start in track(starts, width):
        cliques_cpu.count(*arrays, start, min(m, start + CHUNK), children[1:])
    np.cumsum(children, out=children)
    total = int(children[-1])
    budget.check(total, 8 * (total * (width + 2) + LEVEL * m))
    out, out_last, row = np.empty((total, width + 1), np.int64), np.empty(total, np.int64), 0
    for start in track(starts, width):
        row = cliques_cpu.fill(*arrays, start, min(m, start + CHUNK), row, out, out_last)
    return torch.from_numpy(out), torch.from_numpy(out_last), torch.from_numpy(children)
