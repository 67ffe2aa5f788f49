"""Reading of all supported kinds of graphs into one format with clean edges."""

import warnings
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import networkx as nx
import numba
import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from mpsn._rows.checks import INTEGERS, as_tensor, check_features
from mpsn._rows.device import pick_device
from mpsn._rows.memory import check_vertices
from mpsn.errors import ComplexError, GraphError, LeftOut


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

    ``edges`` is (E, 2) int64, each row ascending, rows distinct and in lexicographic order. ``ptr``
    holds the offsets of the vertices of each graph, ``first`` the first listing of each edge, and
    ``same`` that of the same edge for each listing.
    """

    edges: Tensor
    ptr: Tensor
    graphs: Sequence[Graph]
    first: Tensor | None
    same: Tensor | None = None


def as_graph(graph: object) -> Graph:
    """Read PyG ``Data``, a networkx graph, a matrix, edges, or ``(edge_index, num_nodes)``."""
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, tuple) and len(graph) == 2:
        return Graph(_edge_index(graph[0]), _num_nodes(graph[1]))
    if isinstance(graph, Data):
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
        warnings.warn(
            f"The directions of the edges of {arrows} of {len(graphs)} graphs are not used: the "
            f"edges of a complex are undirected.",
            LeftOut,
            stacklevel=4,
        )
    read = [as_graph(graph) for graph in graphs]
    lists, nodes, x, attrs, y, _ = zip(*read, strict=True) if read else ((),) * 6
    sizes = [ends.shape[1] for ends in lists]
    devices = {t.device for column in (lists, x, attrs, y) for t in column if t is not None}
    if len(devices) > 1:
        raise GraphError(f"Expected all graphs on one device, got {sorted(map(str, devices))}.")
    where = pick_device(device) if device else next(iter(devices), torch.device("cpu"))
    check_vertices(sum(nodes), where)
    ptr = torch.tensor([0, *nodes]).cumsum(0)
    if not read:
        nothing = torch.zeros((0, 2), dtype=torch.int64, device=where)
        return CleanGraphs(nothing, ptr.to(where), (), None)
    ends = torch.cat(lists, dim=1).to(where, torch.int64)
    ptr = ptr.to(where)
    if where.type == "cpu":
        bad = _shift(ends.numpy(), np.array(sizes), np.array(nodes))
    else:
        owner = torch.repeat_interleave(
            torch.tensor(sizes, device=where), output_size=ends.shape[1]
        )
        outside = ((ends < 0) | (ends >= ptr.diff()[owner])).any(dim=0)
        bad = int(outside.nonzero()[0]) if bool(outside.any()) else -1
        ends = ends + ptr[owner]
    if bad >= 0:
        _refuse_ends(bad, read)
    _check_data(read)
    wanted = any(attr is not None for attr in attrs)
    if wanted or directed or where.type != "cpu":
        edges, first, same = _clean_by_sort(ends, sum(nodes), wanted, directed)
        return CleanGraphs(edges, ptr, read, first, same)
    return CleanGraphs(torch.from_numpy(_clean(ends.numpy(), sum(nodes))), ptr, read, None)


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


def _clean_by_sort(
    ends: Tensor, n: int, first: bool, directed: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    low, high = ends if directed else ends.aminmax(dim=0)
    keep, earliest, same = low != high, None, None
    key = (low * n + high)[keep]
    if first:
        key, inverse = torch.unique(key, return_inverse=True)
        listing = keep.nonzero().squeeze(1)
        earliest = torch.full_like(key, ends.shape[1]).scatter_reduce(0, inverse, listing, "amin")
        same = torch.arange(ends.shape[1], device=ends.device)
        same[listing] = earliest[inverse]
    else:
        key = torch.unique(key)
    return torch.stack([key // max(n, 1), key % max(n, 1)], dim=1), earliest, same


@numba.njit(cache=True, nogil=True)
def _shift(ends: NDArray[np.int64], sizes: NDArray[np.int64], nodes: NDArray[np.int64]) -> int:
    """Number the vertices of all graphs through, in place; return the first invalid edge, or -1."""
    e, first = 0, 0
    for graph in range(len(sizes)):
        for _ in range(sizes[graph]):
            for side in range(2):
                if not 0 <= ends[side, e] < nodes[graph]:
                    return e
                ends[side, e] += first
            e += 1
        first += nodes[graph]
    return -1


@numba.njit(cache=True, nogil=True)
def _clean(ends: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Sort the edges by counting, by their larger end, then by the smaller; drop duplicates."""
    columns = ends.shape[1]
    low_ptr = np.zeros(n + 1, np.int64)
    high_ptr = np.zeros(n + 1, np.int64)
    for e in range(columns):
        a, b = ends[0, e], ends[1, e]
        if a != b:
            low_ptr[min(a, b) + 1] += 1
            high_ptr[max(a, b) + 1] += 1
    for v in range(n):
        low_ptr[v + 1] += low_ptr[v]
        high_ptr[v + 1] += high_ptr[v]
    total = low_ptr[n]
    by_high = np.empty((total, 2), np.int64)
    at = high_ptr[:-1]
    for e in range(columns):
        a, b = ends[0, e], ends[1, e]
        if a != b:
            low, high = min(a, b), max(a, b)
            by_high[at[high], 0] = low
            by_high[at[high], 1] = high
            at[high] += 1
    highs = np.empty(total, np.int64)
    at = low_ptr[:-1].copy()
    for e in range(total):
        low = by_high[e, 0]
        highs[at[low]] = by_high[e, 1]
        at[low] += 1
    kept = 0
    for low in range(n):
        for e in range(low_ptr[low], low_ptr[low + 1]):
            if e == low_ptr[low] or highs[e] != highs[e - 1]:
                by_high[kept, 0] = low
                by_high[kept, 1] = highs[e]
                kept += 1
    return by_high[:kept].copy()
