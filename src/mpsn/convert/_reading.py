"""Reading of all supported kinds of graphs: networkx, PyG, scipy, data frames, lists, arrays."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.checks import INTEGERS, as_tensor
from mpsn._rows.packages import is_pyg
from mpsn.errors import GraphError, warn

ENDS = (  # names of the columns of the two ends of an edge, in lower case and without marks
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("start", "end"),
    ("head", "tail"),
    ("fromnodeid", "tonodeid"),
    ("node1", "node2"),
    ("id1", "id2"),
    ("v1", "v2"),
    ("u", "v"),
    ("i", "j"),
)


class Graph(NamedTuple):
    """A graph with its original ``edge_index`` (2, E), not yet cleaned."""

    edge_index: Tensor
    num_nodes: int
    x: Tensor | None = None
    edge_attr: Tensor | None = None
    y: Tensor | None = None
    labels: tuple[Hashable, ...] | None = None


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
    if hasattr(graph, "columns") and hasattr(graph, "to_numpy"):
        return _frame(graph)
    if isinstance(graph, (Tensor, np.ndarray)):
        return _array(graph)
    if isinstance(graph, (list, set, frozenset)):
        return _edges(list(graph))
    raise GraphError(
        f"Expected a graph (PyG Data, networkx graph, scipy sparse matrix, data frame or list of "
        f"edges, edge_index, or a pair (edge_index, num_nodes)), got {type(graph).__name__}."
    )


def _edge_index(edge_index: object) -> Tensor:
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


def find_ends(columns: Sequence[object]) -> tuple[int, int] | None:
    """Return the positions of the columns named after the two ends of an edge; None without."""
    names = ["".join(filter(str.isalnum, str(name).lower())) for name in columns]
    for one, two in ENDS:
        if one in names and two in names:
            return names.index(one), names.index(two)
    return None


def _frame(frame: Any) -> Graph:
    """Read an edge list with a row per edge, or a square matrix with equal names on both sides."""
    columns = list(frame.columns)
    ends = find_ends(columns)
    if ends is None and len(columns) > 2 and columns == list(frame.index):
        matrix = _matrix(frame.to_numpy())
        plain = all(type(name) is int and name == i for i, name in enumerate(columns))
        return matrix if plain else matrix._replace(labels=tuple(columns))
    if ends is None and len(columns) == 2:
        ends = 0, 1
    if ends is None:
        raise GraphError(
            f"Expected a data frame with columns source and target, or a square one with equal "
            f"names of rows and columns, got columns {', '.join(map(str, columns)):.100}; rename "
            f"the columns of the two ends."
        )
    named = zip(*(frame.iloc[:, i].tolist() for i in ends), strict=True)
    others = [i for i in range(len(columns)) if i not in ends]
    rest = [i for i in others if frame.iloc[:, i].to_numpy().dtype.kind in "biuf"]
    if left := [columns[i] for i in others if i not in rest]:
        warn(
            f"Columns {', '.join(map(str, left)):.200} of a data frame of edges are not used: they "
            f"are not numbers."
        )
    attr = None
    if rest:
        table = np.stack([frame.iloc[:, i].to_numpy() for i in rest], axis=1)
        attr = torch.from_numpy(table.astype(np.float32 if table.dtype.kind == "f" else np.int64))
    return _numbered(list(named), attr)


def _array(array: Any) -> Graph:
    """Read an edge_index (2, E), pairs (E, 2), or a square matrix; where they differ, refuse."""
    table = array if isinstance(array, Tensor) else torch.from_numpy(np.array(array))
    if table.dim() == 2 and not (table.is_floating_point() or table.dtype == torch.bool):
        two, pairs = table.shape[0] == 2, table.shape[1] == 2
        if two and pairs and table.tolist() not in ([[0, 1], [1, 0]], [[0, 0], [0, 0]]):
            raise GraphError(
                f"Expected a graph, got a table {table.tolist()} that may be an edge_index or an "
                f"adjacency matrix; pass (edge_index, num_nodes) or a scipy sparse matrix."
            )
        if two or pairs:
            ends = table if two else table.T
            n = int(ends.max()) + 1 if ends.numel() else 0
            return as_graph((ends, max(n, 0)))
    return _matrix(table.cpu().numpy())


def _matrix(matrix: NDArray[Any]) -> Graph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise GraphError(
            f"Expected a graph as edge_index (2, E) of integers or as a square matrix of numbers, "
            f"got {matrix.dtype} of shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise GraphError("Expected finite entries of an adjacency matrix, got NaN or infinity.")
    return as_graph(scipy.sparse.coo_array(matrix))


def _edges(rows: list[Any]) -> Graph:
    """Read pairs (u, v), or triples with a number or a dict of numbers."""
    if not rows or not all(isinstance(row, (tuple, list)) and 2 <= len(row) <= 3 for row in rows):
        raise GraphError(
            f"Expected a list of edges (u, v) or (u, v, weight), got {rows!r:.80}; an empty graph "
            f"is (torch.zeros(2, 0, dtype=torch.int64), num_nodes)."
        )
    if len(rows) == 2 and all(isinstance(row, list) and len(row) == 3 for row in rows):
        raise GraphError(
            f"Expected a list of edges, got {rows!r:.80}, which may be an edge_index; pass "
            f"(edge_index, num_nodes), or edges as tuples."
        )
    data = [row[2] if len(row) == 3 else None for row in rows]
    if any(isinstance(item, dict) for item in data):
        keys = {tuple(item) if isinstance(item, dict) else () for item in data}
        data = [tuple(item.values()) if isinstance(item, dict) else () for item in data]
        if len(keys) > 1:
            raise GraphError("Expected the same attributes on all edges, got different ones.")
    attr = None
    if any(item is not None and item != () for item in data):
        try:
            attr = torch.tensor(data).reshape(len(rows), -1)
        except (TypeError, ValueError, RuntimeError) as error:
            raise GraphError(
                f"Expected numbers on all edges or on none, got {error}; drop or fill them."
            ) from error
    return _numbered([(row[0], row[1]) for row in rows], attr)


def _numbered(pairs: list[tuple[Any, Any]], attr: Tensor | None) -> Graph:
    """Number the vertices in the order of their names."""
    try:
        names: list[Hashable] = list(dict.fromkeys(end for pair in pairs for end in pair))
    except TypeError as error:
        raise GraphError(f"Expected names of vertices, got {error}.") from error
    if any(name is None or name != name for name in names):
        raise GraphError("Expected names of vertices, got None or NaN; drop these edges.")
    with suppress(TypeError):  # names of several types stay in their order
        names = sorted(names)  # type: ignore[type-var]
    position = {name: i for i, name in enumerate(names)}
    ends = torch.tensor([[position[u], position[v]] for u, v in pairs]).reshape(-1, 2).T
    plain = all(type(name) is int and name == i for i, name in enumerate(names))
    return Graph(ends, len(names), edge_attr=attr, labels=None if plain else tuple(names))
