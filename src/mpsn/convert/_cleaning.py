"""Cleaning of the edges of many graphs in one pass, and complexes of clean graphs."""

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.checks import check_features
from mpsn._rows.compiled import compiled
from mpsn._rows.device import check_holds, pick_device
from mpsn._rows.memory import check_vertices, in_memory
from mpsn.complexes import Complex, Incidence, SimplicialComplex
from mpsn.complexes.internal import as_incidences, join_rows
from mpsn.convert._reading import Graph, as_graph
from mpsn.errors import ComplexError, GraphError, warn

Array = NDArray[np.int64]
C = TypeVar("C", bound=Complex)


class CleanGraphs(NamedTuple):
    """A disjoint union of graphs with clean edges.

    ``edges`` is (E, 2) int64, each row ascending, rows distinct and in lexicographic order;
    ``starts`` (n + 1,) says where the edges of each first vertex begin. ``ptr`` holds the offsets
    of the vertices of each graph. Where edges have features, ``first`` is the first listing of each
    edge, and ``same`` that of the same edge for each listing.
    """

    edges: Tensor
    starts: Tensor
    ptr: Tensor
    graphs: Sequence[Graph]
    first: Tensor | None = None
    same: Tensor | None = None

    @property
    def num_nodes(self) -> int:
        """Number of vertices of all graphs."""
        return len(self.starts) - 1


def clean_graphs(
    graphs: Sequence[object], device: torch.device | str | None = None, directed: bool = False
) -> CleanGraphs:
    """Read and validate many graphs, and clean their edges, in one pass.

    Self-loops are dropped, and duplicates of edges are ignored; directions too, unless the result
    is to be ``directed``. Then rows are not ascending, and the edges of undirected networkx graphs
    run in both directions. Isolated vertices stay. The features of an edge are those of its first
    listing.
    """
    if not (hasattr(graphs, "__iter__") or hasattr(graphs, "__getitem__")):
        raise GraphError(f"Expected a list of graphs, got {graphs!r:.60}.")
    graphs = list(graphs)
    if directed:
        graphs = [g.to_directed() if isinstance(g, nx.Graph) else g for g in graphs]
    elif arrows := sum(isinstance(graph, nx.DiGraph) for graph in graphs):
        warn(
            f"The directions of the edges of {arrows} of {len(graphs)} graphs are not used: the "
            f"edges of a complex are undirected."
        )
    read = [as_graph(graph) for graph in graphs]
    lists, nodes = [graph.edge_index for graph in read], [graph.num_nodes for graph in read]
    others = (t for graph in read for t in (graph.x, graph.edge_attr, graph.y) if t is not None)
    devices = {t.device for t in (*lists, *others)}
    if len(devices) > 1:
        raise GraphError(f"Expected all graphs on one device, got {sorted(map(str, devices))}.")
    target = pick_device(device) if device else next(iter(devices), torch.device("cpu"))
    check_holds(target)
    check_vertices(sum(nodes), target)
    _check_data(read)
    sizes, listed = [t.shape[1] for t in lists], any(g.edge_attr is not None for g in read)
    clean = _clean if target.type == "cpu" else _clean_on_gpu
    with in_memory("graphs", "pass fewer at a time"):
        ends = lists[0] if len(lists) == 1 else torch.cat(lists or [torch.empty(2, 0)], dim=1)
        ends = ends.to(target, torch.int64)
        bad, edges, starts, first, same = clean(ends, sizes, nodes, directed, listed)
    if bad >= 0:
        _refuse_ends(bad, read)
    ptr = torch.tensor([0, *accumulate(nodes)], device=target)
    return CleanGraphs(edges, starts, ptr, read, first, same)


def complex_of(kind: type[C], clean: CleanGraphs, incidences: Sequence[Incidence]) -> C:
    """Build the union with given incidences, and the features and labels of clean graphs."""
    graphs, device = clean.graphs, clean.edges.device
    x = join_rows([graph.x for graph in graphs], "x", "graphs")
    attr = join_rows([graph.edge_attr for graph in graphs], "edge_attr", "graphs")
    y, y_ptr = join_rows([graph.y for graph in graphs], "y", "graphs"), None
    if y is not None:
        rows = [0 if graph.y is None else graph.y.shape[0] for graph in graphs]
        y, y_ptr = y.to(device), torch.tensor([0, *accumulate(rows)], device=device)
    labels: tuple[Hashable, ...] | None = None
    if any(graph.labels is not None for graph in graphs):
        labels = tuple(name for g in graphs for name in (g.labels or range(g.num_nodes)))
    x = None if x is None else x.to(device)
    if attr is not None:
        attr = attr.to(device)
        assert clean.same is not None
        differ = (attr != attr[clean.same]).flatten(1).any(dim=1)
        if odd := len(torch.unique(clean.same[differ])):
            warn(
                f"edge_attr of edges listed with different values ({odd:,}): that of the first "
                f"listing is kept."
            )
        attr = attr[clean.first][: len(incidences[0]) if incidences else 0]
    return kind.unchecked(
        incidences,
        _offsets(clean, incidences),
        num_vertices=clean.num_nodes,
        x=() if x is None and attr is None else (x, attr),
        y=y,
        y_ptr=y_ptr,
        labels=labels,
    )


def _offsets(clean: CleanGraphs, incidences: Sequence[Incidence]) -> Sequence[Tensor] | None:
    """Return the offsets of the cells of each graph, per dimension; None for a single one."""
    if len(clean.graphs) == 1 and incidences:
        return None
    ptr = [clean.ptr]
    for B in incidences:
        first = B.face[B.offsets[:-1]] if B.width is None else B.table[:, 0].contiguous()
        # First faces need not ascend, but those of one graph are below those of the next one.
        ptr.append(torch.searchsorted(first, ptr[-1]))
    return ptr


def from_graph(graph: object) -> SimplicialComplex:
    """Build the 1-dimensional complex of a graph."""
    clean = clean_graphs([graph])
    edges = as_incidences([clean.edges.flip(1)], clean.num_nodes)
    return complex_of(SimplicialComplex, clean, edges)


def _refuse_ends(column: int, graphs: Sequence[Graph]) -> None:
    ends = list(accumulate(graph.edge_index.shape[1] for graph in graphs))
    number = bisect_right(ends, column)
    graph = graphs[number]
    edge = graph.edge_index[:, column - ends[number]].tolist()
    which = f" in graph {number}" if len(graphs) > 1 else ""
    remedy = "number vertices from 0" if min(edge) < 0 else f"use num_nodes >= {max(edge) + 1}"
    raise GraphError(
        f"Expected vertices 0..{graph.num_nodes - 1}{which}, got edge {edge} with "
        f"num_nodes={graph.num_nodes}; {remedy}."
    )


def _check_data(graphs: Sequence[Graph]) -> None:
    for i, graph in enumerate(graphs):
        if graph.x is None and graph.edge_attr is None:
            continue
        try:
            check_features([graph.x, graph.edge_attr], (graph.num_nodes, graph.edge_index.shape[1]))
        except ComplexError as error:
            prefix = f"Graph {i}: " if len(graphs) > 1 else ""
            names = str(error).replace("x[0]", "x").replace("x[1]", "edge_attr")
            text = names.replace("0-cell", "vertex").replace("1-cell", "column of edge_index")
            raise GraphError(prefix + text) from error


Clean = tuple[int, Tensor, Tensor, Tensor | None, Tensor | None]


def _clean(ends: Tensor, sizes: list[int], nodes: list[int], directed: bool, listed: bool) -> Clean:
    """Return the first edge with an invalid vertex or -1, then the tensors of a CleanGraphs."""
    arrays = ends.contiguous().numpy(), np.array(sizes, np.int64), np.array(nodes, np.int64)
    bad, edges, starts, first, same = _sort(*arrays, directed, listed)
    tables = torch.from_numpy(edges), torch.from_numpy(starts)
    if not listed:
        return bad, *tables, None, None
    return bad, *tables, torch.from_numpy(first), torch.from_numpy(same)


def _clean_on_gpu(
    ends: Tensor, sizes: list[int], nodes: list[int], directed: bool, listed: bool
) -> Clean:
    """Return the same in plain torch."""
    device, n, total = ends.device, sum(nodes), ends.shape[1]
    per_edge = torch.repeat_interleave(
        torch.tensor([nodes, [0, *accumulate(nodes)][:-1]], dtype=torch.int64, device=device),
        torch.tensor(sizes, dtype=torch.int64, device=device),
        dim=1,
        output_size=total,
    )
    outside = ((ends < 0) | (ends >= per_edge[0])).any(dim=0)
    bad = int(outside.nonzero()[0]) if bool(outside.any()) else -1
    low, high = ends + per_edge[1] if directed else (ends + per_edge[1]).aminmax(dim=0)
    keep = low != high
    key, inverse = torch.unique((low * n + high)[keep], return_inverse=True)
    edges = torch.stack([key // max(n, 1), key % max(n, 1)], dim=1)
    starts = torch.searchsorted(edges[:, 0].contiguous(), torch.arange(n + 1, device=device))
    if not listed:
        return bad, edges, starts, None, None
    listing = keep.nonzero().squeeze(1)
    first = torch.full_like(key, total).scatter_reduce(0, inverse, listing, "amin")
    same = torch.arange(total, device=device)
    same[listing] = first[inverse]
    return bad, edges, starts, first, same


@compiled
def _sort(
    ends: Array, sizes: Array, nodes: Array, directed: bool, listed: bool
) -> tuple[int, Array, Array, Array, Array]:
    """Sort edges by counting, by their second vertex, then by their first; drop duplicates."""
    n, columns = nodes.sum(), ends.shape[1]
    by_first, by_second = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    shift = e = 0
    for graph in range(len(sizes)):
        for _ in range(sizes[graph]):
            a, b = ends[0, e], ends[1, e]
            if not (0 <= a < nodes[graph] and 0 <= b < nodes[graph]):
                return e, np.empty((0, 2), np.int64), by_first, by_first, by_first
            if a > b and not directed:
                a, b = b, a
            if a != b:
                by_first[shift + a + 1] += 1
                by_second[shift + b + 1] += 1
            e += 1
        shift += nodes[graph]
    for v in range(n):
        by_first[v + 1] += by_first[v]
        by_second[v + 1] += by_second[v]
    total = by_first[n]
    edges, listing = np.empty((total, 2), np.int64), np.empty(total if listed else 0, np.int64)
    shift = e = 0
    for graph in range(len(sizes)):
        for _ in range(sizes[graph]):
            a, b = shift + ends[0, e], shift + ends[1, e]
            if a > b and not directed:
                a, b = b, a
            if a != b:
                place = by_second[b]
                edges[place, 0], edges[place, 1] = a, b
                if listed:
                    listing[place] = e
                by_second[b] += 1
            e += 1
        shift += nodes[graph]
    seconds, listings, places = np.empty(total, np.int64), listing.copy(), by_first[:-1].copy()
    for e in range(total):
        a = edges[e, 0]
        seconds[places[a]] = edges[e, 1]
        if listed:
            listings[places[a]] = listing[e]
        places[a] += 1
    first, same = listing, np.arange(columns if listed else 0)
    kept = stop = 0
    for a in range(n):
        start, stop, begin = stop, by_first[a + 1], kept
        for e in range(start, stop):
            if kept == begin or seconds[e] != edges[kept - 1, 1]:
                edges[kept, 0], edges[kept, 1] = a, seconds[e]
                if listed:
                    first[kept] = listings[e]
                kept += 1
            if listed:
                same[listings[e]] = first[kept - 1]
        by_first[a + 1] = kept
    return -1, edges[:kept].copy(), by_first, first[:kept].copy(), same
