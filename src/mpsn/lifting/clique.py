"""Clique complexes: every clique of a graph becomes a simplex."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.complexes._convert import complex_of
from mpsn.complexes._graphs import CleanGraphs, clean_graphs
from mpsn.complexes.complex import as_incidences
from mpsn.lifting import _cliques_cpu as cliques_cpu
from mpsn.lifting import _cliques_torch as cliques_torch
from mpsn.lifting._shared import (
    CHUNK,
    Budget,
    Device,
    Features,
    Progress,
    check_size,
    cut,
    with_features,
)

CANDIDATE_BYTES = 64  # peak memory of the join on the GPU, per candidate


class Level(NamedTuple):
    """Cliques of one size: face table, last vertices, and where their children start."""

    faces: Tensor
    last: Tensor
    ptr: Tensor
    ordered: bool  # whether they are those of a directed graph


def clique_complex(
    graph: object,
    max_dim: int | None = 2,
    *,
    features: Features = None,
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
        features: How to compute missing features of simplices from those of their vertices.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to three quarters of the free memory.

    Example:
        >>> mpsn.clique_complex(nx.complete_graph(4), max_dim=None)
        SimplicialComplex(dim=3, counts=(4, 6, 4, 1))
    """
    return _lift([graph], max_dim, features, device, max_bytes)


def clique_complexes(
    graphs: Sequence[object],
    max_dim: int | None = 2,
    *,
    features: Features = None,
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
    return ComplexDataset(_lift(graphs, max_dim, features, device, max_bytes))


def _lift(
    graphs: Sequence[object],
    max_dim: int | None,
    features: Features,
    device: Device,
    max_bytes: int | None,
) -> SimplicialComplex:
    check_size(max_dim, "max_dim", 0, "all cliques")
    clean = clean_graphs(graphs, device)
    budget = Budget(max_bytes, clean.edges.device, [clean.num_nodes])
    incidences = as_incidences(cliques(clean, max_dim, budget), clean.num_nodes)
    return with_features(complex_of(SimplicialComplex, clean, incidences), features, max_dim)


def cliques(
    clean: CleanGraphs, max_dim: int | None, budget: Budget, ordered: bool = False
) -> list[Tensor]:
    """Return the face tables of the cliques, from edges on.

    If ``ordered``, edges run from their first to their second vertex, and so do those of cliques.
    """
    edges, tables = clean.edges, []
    if max_dim != 0 and len(edges):
        budget.check(len(edges), 24 * len(edges))
        level = Level(edges.flip(1), edges[:, 1].contiguous(), clean.starts, ordered)
        while len(level.faces):
            tables.append(level.faces)
            budget.spend(len(level.faces), 8 * level.faces.numel())
            if len(tables) == max_dim:
                break
            level = (_up_cpu if edges.is_cpu else _up_torch)(level, clean.num_nodes, budget)
    return tables


def _up_cpu(level: Level, n: int, budget: Budget) -> Level:
    faces, last, ptr = (part.numpy() for part in level[:3])
    m, width = faces.shape
    counts = np.empty(m, np.int64)
    with Progress(2 * m, width) as bar:
        for start in range(0, m, CHUNK):
            stop = min(m, start + CHUNK)
            cliques_cpu.count(faces, last, ptr, level.ordered, start, stop, counts)
            bar.update(stop - start)
        children = np.zeros(m + 1, np.int64)
        np.cumsum(counts, out=children[1:])
        total = int(children[-1])
        budget.check(total, 8 * total * (width + 2))
        out, out_last = np.empty((total, width + 1), np.int64), np.empty(total, np.int64)
        row = 0
        for start in range(0, m, CHUNK):
            stop = min(m, start + CHUNK)
            more = (level.ordered, start, stop, row)
            row = cliques_cpu.fill(faces, last, ptr, *more, out, out_last)
            bar.update(stop - start)
    found, found_last, starts = map(torch.from_numpy, (out, out_last, children))
    return Level(found, found_last, starts, level.ordered)


def _up_torch(level: Level, n: int, budget: Budget, room: int | None = None) -> Level:
    faces, last, ptr, ordered = level
    m, width = faces.shape
    keys = faces[:, -1] * n + last
    candidates = cliques_torch.candidates(faces, ptr, ordered)
    ends = candidates.sizes.cumsum(0)
    room = room or budget.room(CANDIDATE_BYTES)
    chunks = list(cut(ends, room))

    def hits(start: int, stop: int, total: int) -> cliques_torch.Hits:
        many = cliques_torch.Candidates(*(part[start:stop] for part in candidates))
        return cliques_torch.join(last, keys, n, start, many, total)

    # Usually there is one chunk, and the join of the count pass serves the fill pass too.
    kept = hits(*chunks[0]) if len(chunks) == 1 else None
    with Progress(2 * m, width) as bar:
        sizes = []
        for chunk in chunks:
            sizes.append(len((kept or hits(*chunk)).clique))
            bar.update(chunk[1] - chunk[0])
        total = sum(sizes)
        budget.check(total, 8 * total * (width + 2))
        out = torch.empty((total, width + 1), dtype=torch.int64, device=faces.device)
        out_last = torch.empty(total, dtype=torch.int64, device=faces.device)
        row = 0
        for chunk, size in zip(chunks, sizes, strict=True):
            found = kept or hits(*chunk)
            out_last[row : row + size] = last[found.sibling]
            w = out_last[row : row + size]
            out[row : row + size] = cliques_torch.face_rows(faces, keys, n, found, w)
            row += size
            bar.update(chunk[1] - chunk[0])
    children = torch.searchsorted(out[:, -1].contiguous(), torch.arange(m + 1, device=faces.device))
    return Level(out, out_last, children, ordered)
