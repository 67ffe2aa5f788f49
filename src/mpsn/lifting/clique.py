"""Clique complexes: every clique of a graph becomes a simplex."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mpsn.complexes import ComplexDataset, SimplicialComplex
from mpsn.complexes._convert import complex_of
from mpsn.complexes._graphs import clean_graphs
from mpsn.complexes._memory import available_memory
from mpsn.errors import GraphError, TooLargeError
from mpsn.lifting import _cliques_cpu as cliques_cpu
from mpsn.lifting import _cliques_torch as cliques_torch
from mpsn.lifting.features import lift_features

CHUNK = 1 << 20  # cliques between updates of the progress bar
CANDIDATE_BYTES = 64  # peak memory of the join on the GPU, per candidate


class Level(NamedTuple):
    """Cliques of one size: face table, last vertices, and where their children start."""

    faces: Tensor
    last: Tensor
    ptr: Tensor


def clique_complex(
    graph: object,
    max_dim: int | None = 2,
    *,
    features: Literal["sum", "mean"] | None = None,
    device: torch.device | str | None = None,
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
            Self-loops are dropped, edges are undirected, repeated edges count once, isolated
            vertices are kept.
        max_dim: Largest dimension of a simplex; None for all cliques.
        features: How to compute missing features of simplices from those of their vertices.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to three quarters of the free memory.

    Example:
        >>> mpsn.clique_complex(nx.complete_graph(4), max_dim=None)
        SimplicialComplex(dim=3, counts=(4, 6, 4, 1))
    """
    union = _lift([graph], max_dim, device, max_bytes)
    return union if features is None else lift_features(union, features, _top(max_dim, union))


def clique_complexes(
    graphs: Sequence[object],
    max_dim: int | None = 2,
    *,
    features: Literal["sum", "mean"] | None = None,
    device: torch.device | str | None = None,
    max_bytes: int | None = None,
) -> ComplexDataset:
    """Lift many graphs in one call to a packed collection of their clique complexes.

    Arguments as for :func:`clique_complex`.

    Example:
        >>> data = mpsn.clique_complexes([nx.cycle_graph(3), nx.path_graph(3)])
        >>> data[0], data[1]
        (SimplicialComplex(dim=2, counts=(3, 3, 1)), SimplicialComplex(dim=1, counts=(3, 2)))
    """
    union = _lift(graphs, max_dim, device, max_bytes)
    if features is not None:
        union = lift_features(union, features, _top(max_dim, union))
    return ComplexDataset(union)


def _top(max_dim: int | None, K: SimplicialComplex) -> int:
    return max(K.dim, 0) if max_dim is None else max_dim


def _lift(
    graphs: Sequence[object],
    max_dim: int | None,
    device: torch.device | str | None,
    max_bytes: int | None,
) -> SimplicialComplex:
    if max_dim is not None and (not isinstance(max_dim, (int, np.integer)) or max_dim < 0):
        raise GraphError(
            f"Expected max_dim as an integer >= 0, or None for all cliques, got {max_dim!r:.40}."
        )
    clean = clean_graphs(graphs, device)
    n, edges = sum(graph.num_nodes for graph in clean.graphs), clean.edges
    where = edges.device
    faces, ptr = [], [clean.ptr]
    if max_dim != 0 and len(edges):
        degree = torch.bincount(edges[:, 0], minlength=n)
        starts = torch.nn.functional.pad(degree.cumsum(0), (1, 0))
        level = Level(edges.flip(1), edges[:, 1].contiguous(), starts)
        budget = _Budget(max_bytes, where, [n])
        budget.check(*edges.shape)
        while len(level.faces):
            faces.append(level.faces)
            ptr.append(level.ptr[ptr[-1]])
            budget.spend(level.faces.shape)
            if len(faces) == max_dim:
                break
            level = (_up_cpu if where.type == "cpu" else _up_torch)(level, n, budget)
    union: SimplicialComplex = complex_of(clean, faces, ptr)
    return union


class _Budget:
    """The memory that the result may take, and what it has taken so far."""

    def __init__(self, max_bytes: int | None, where: torch.device, counts: list[int]) -> None:
        self.limit = available_memory(where) if max_bytes is None else max_bytes
        self.used, self.counts = 0, counts

    def spend(self, shape: tuple[int, ...]) -> None:
        self.counts.append(shape[0])
        self.used += 8 * shape[0] * shape[1]

    def check(self, rows: int, width: int) -> None:
        """Refuse a table that would not fit beside its last vertices."""
        need = self.used + 8 * rows * (width + 1)
        if need > self.limit:
            dim = len(self.counts)
            raise TooLargeError(
                f"Expected a complex of at most {self.limit / 2**30:.3g} GiB, got counts "
                f"{(*self.counts, rows)} up to dimension {dim}, which need {need / 2**30:.3g} GiB; "
                f"use max_dim={dim - 1}, or raise max_bytes."
            )


def _up_cpu(level: Level, n: int, budget: _Budget) -> Level:
    faces, last, ptr = level.faces.numpy(), level.last.numpy(), level.ptr.numpy()
    m, width = faces.shape
    counts = np.empty(m, np.int64)
    with _progress(2 * m, width) as bar:
        for start in range(0, m, CHUNK):
            cliques_cpu.count(faces, last, ptr, start, min(m, start + CHUNK), counts)
            bar.update(min(m, start + CHUNK) - start)
        children = np.zeros(m + 1, np.int64)
        np.cumsum(counts, out=children[1:])
        total = int(children[-1])
        budget.check(total, width + 1)
        out, out_last = np.empty((total, width + 1), np.int64), np.empty(total, np.int64)
        row = 0
        for start in range(0, m, CHUNK):
            stop = min(m, start + CHUNK)
            row = cliques_cpu.fill(faces, last, ptr, start, stop, row, out, out_last)
            bar.update(stop - start)
    return Level(torch.from_numpy(out), torch.from_numpy(out_last), torch.from_numpy(children))


def _up_torch(level: Level, n: int, budget: _Budget, room: int | None = None) -> Level:
    faces, last, ptr = level
    m, width = faces.shape
    keys = faces[:, -1] * n + last
    candidates = cliques_torch.candidates(faces, ptr)
    ends = candidates.sizes.cumsum(0)
    room = room or max(CHUNK, (budget.limit - budget.used) // (4 * CANDIDATE_BYTES))
    chunks = list(_cut(ends, room))

    def hits(start: int, stop: int, total: int) -> cliques_torch.Hits:
        many = cliques_torch.Candidates(*(part[start:stop] for part in candidates))
        return cliques_torch.join(last, keys, n, start, many, total)

    # Usually there is one chunk, and the join of the count pass serves the fill pass too.
    kept = hits(*chunks[0]) if len(chunks) == 1 else None
    with _progress(2 * m, width) as bar:
        sizes = []
        for chunk in chunks:
            sizes.append(len((kept or hits(*chunk)).clique))
            bar.update(chunk[1] - chunk[0])
        total = sum(sizes)
        budget.check(total, width + 1)
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
    return Level(out, out_last, children)


def _cut(ends: Tensor, room: int) -> Iterator[tuple[int, int, int]]:
    """Split cliques into runs (start, stop, candidates) of at most ``room`` candidates, or one."""
    m, start, done = len(ends), 0, 0
    total = int(ends[-1])
    while start < m:
        if total - done <= room:
            stop, upto = m, total
        else:
            stop = max(start + 1, int(torch.searchsorted(ends, done + room, right=True)))
            upto = int(ends[stop - 1])
        yield start, stop, upto - done
        start, done = stop, upto


@contextmanager
def _progress(total: int, width: int) -> "Iterator[tqdm[Any]]":
    with tqdm(total=total, desc=f"Lifting to dimension {width}", delay=3, leave=False) as bar:
        yield bar
