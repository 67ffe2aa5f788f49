"""Reading of all supported kinds of graphs into one format with clean edges."""

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.checks import INTEGERS, as_tensor, check_features
from mpsn._rows.compiled import compiled
from mpsn._rows.device import pick_device
from mpsn._rows.memory import check_vertices
from mpsn._rows.packages import is_pyg
from mpsn.errors import ComplexError, GraphError, warn

Array = NDArray[np.int64]


class Graph(NamedTuple):
    """A graph with its original ``edge_index`` (2, E), not yet cleaned."""

    edge_index: Tensor
    num_nodes: int
    x: Tensor | None = None
    edge_attr: Tensor | None = None
    y: Tensor | None = None
    labels: tuple[Hashable, ...] | None = None


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


def as_graph(graph: object) -> Graph:
    """Read PyG ``Data``, a networkx graph, a matrix, edges, or ``(edge_index, num_nodes)``."""
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, tuple) and len(graph) == 2:
        return Graph(_edge_index(graph[0]), _num_nodes(graph[1]))
    if is_pyg(graph, "Data"):
        if graph.edge_index is None:
            raise GraphError("Expected PyG Data with edge_index, got none; it may be empty.")
        labels = graph.y if graph.y is None else as_tensor(graph.y, "y")
        labels = labels.reshape(1) if labels is not None and labels.dim() == 0 else labels
        return Graph(
            _edge_index(graph.edge_index),
            _num_nodes(graph.num_nodes),
            _features(graph.x, "x"),
            _features(graph.edge_attr, "edge_attr"),
            labels,
        )
    if isinstance(graph, nx.Graph):
        names = tuple(graph.nodes)
        number = {name: i for i, name in enumerate(names)}
        flat = [number[end] for edge in graph.edges() for end in edge]
        edges = torch.tensor(flat, dtype=torch.int64).reshape(-1, 2).T
        plain = all(type(name) is int and name == i for i, name in enumerate(names))
        return Graph(edges, len(names), labels=None if plain else names)
    if scipy.sparse.issparse(graph):
        coo: Any = scipy.sparse.coo_array(graph)
        if len(coo.shape) != 2 or coo.shape[0] != coo.shape[1]:
            raise GraphError(f"Expected a square adjacency matrix, got shape {coo.shape}.")
        keep = coo.data != 0
        ends = np.stack([coo.row[keep], coo.col[keep]]).astype(np.int64)
        return Graph(torch.from_numpy(ends), coo.shape[0])
    from mpsn.complexes._objects import from_object

    if (found := from_object(graph)) is not None:
        return found
    raise GraphError(
        f"Expected a graph (PyG Data, networkx graph, scipy sparse matrix, data frame or list of "
        f"edges, edge_index, or a pair (edge_index, num_nodes)), got {type(graph).__name__}."
    )


def _edge_index(edge_index: object) -> Tensor:
    if (
        isinstance(edge_index, Tensor)
        and edge_index.dtype is torch.int64
        and edge_index.dim() == 2
        and edge_index.size(0) == 2
    ):
        return edge_index
    if not isinstance(edge_index, Tensor):
        try:
            array = np.asarray(edge_index)
        except ValueError as error:
            raise GraphError(
                f"Expected edge_index as integers of shape (2, E), got {edge_index!r:.80}."
            ) from error
        if array.size and array.dtype.kind not in "iu":
            raise GraphError(f"Expected edge_index of integers, got {array.dtype}; use int64.")
        edge_index = torch.from_numpy(np.array(array, dtype=np.int64))
    if edge_index.numel() == 0:
        return torch.zeros((2, 0), dtype=torch.int64, device=edge_index.device)
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        shape = tuple(edge_index.shape)
        hint = "; transpose it" if len(shape) == 2 and shape[1] == 2 else ""
        raise GraphError(f"Expected edge_index of shape (2, E), got {shape}{hint}.")
    if edge_index.dtype not in INTEGERS:
        raise GraphError(f"Expected edge_index of integers, got {edge_index.dtype}; use int64.")
    return edge_index


def _num_nodes(num_nodes: object) -> int:
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, (int, np.integer)) or num_nodes < 0:
        raise GraphError(f"Expected num_nodes as an integer >= 0, got {num_nodes!r:.40}.")
    return int(num_nodes)


def _features(x: Any, what: str) -> Tensor | None:
    rows = None if x is None else as_tensor(x, what)
    return rows[:, None] if rows is not None and rows.dim() == 1 else rows


def clean_graphs(
    graphs: Sequence[object], device: torch.device | str | None = None, directed: bool = False
) -> CleanGraphs:
    """Read and validate many graphs, and clean their edges, in one pass.

    Self-loops are dropped, and duplicates of edges are ignored; directions too, unless the result
    is to be ``directed``. Then rows are not ascending, and the edges of undirected networkx graphs
    run in both directions. Isolated vertices stay. The features of an edge are those of its first
    listing.
    """
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
    where = pick_device(device) if device else next(iter(devices), torch.device("cpu"))
    check_vertices(sum(nodes), where)
    _check_data(read)
    ends = lists[0] if len(lists) == 1 else torch.cat(lists or [torch.empty(2, 0)], dim=1)
    ends = ends.to(where, torch.int64)
    sizes, listed = [t.shape[1] for t in lists], any(g.edge_attr is not None for g in read)
    clean = _clean if where.type == "cpu" else _clean_on_gpu
    bad, edges, starts, first, same = clean(ends, sizes, nodes, directed, listed)
    if bad >= 0:
        _refuse_ends(bad, read)
    ptr = torch.tensor([0, *accumulate(nodes)], device=where)
    return CleanGraphs(edges, starts, ptr, read, first, same)


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
            where = f"Graph {i}: " if len(graphs) > 1 else ""
            names = str(error).replace("x[0]", "x").replace("x[1]", "edge_attr")
            text = names.replace("0-cell", "vertex").replace("1-cell", "column of edge_index")
            raise GraphError(where + text) from error


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
    where, n, total = ends.device, sum(nodes), ends.shape[1]
    per_edge = torch.repeat_interleave(
        torch.tensor([nodes, [0, *accumulate(nodes)][:-1]], dtype=torch.int64, device=where),
        torch.tensor(sizes, dtype=torch.int64, device=where),
        dim=1,
        output_size=total,
    )
    outside = ((ends < 0) | (ends >= per_edge[0])).any(dim=0)
    bad = int(outside.nonzero()[0]) if bool(outside.any()) else -1
    low, high = ends + per_edge[1] if directed else (ends + per_edge[1]).aminmax(dim=0)
    keep = low != high
    key, inverse = torch.unique((low * n + high)[keep], return_inverse=True)
    edges = torch.stack([key // max(n, 1), key % max(n, 1)], dim=1)
    starts = torch.searchsorted(edges[:, 0].contiguous(), torch.arange(n + 1, device=where))
    if not listed:
        return bad, edges, starts, None, None
    listing = keep.nonzero().squeeze(1)
    first = torch.full_like(key, total).scatter_reduce(0, inverse, listing, "amin")
    same = torch.arange(total, device=where)
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
