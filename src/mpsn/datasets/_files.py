"""Graphs from files: graph6, sparse6, edge lists, GraphML, GEXF, GML, JSON and ``.npz``."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._files.limits import MAX_PARSED, Limit, check_file, explained, open_file
from mpsn._files.npz import read_arrays
from mpsn._rows.memory import available_memory
from mpsn.convert import Graph, as_graph
from mpsn.datasets._edge_lists import read_edge_list
from mpsn.datasets._graph6 import read_graph6, read_sparse6
from mpsn.datasets._markup import read_gexf, read_gml, read_graphml, read_json
from mpsn.datasets._molecule_files import holds_molecules
from mpsn.errors import FileError, GraphError, TooLargeError

MAX_BYTES = 1 << 30  # of a file, and of the arrays in one
OBJECTS = 60  # bytes of memory per byte of a file that becomes networkx graphs
GRAPH_BYTES, VERTEX_BYTES = 400, 32  # bytes of memory of a graph, and of each of its vertices

AnyGraph = Graph | nx.Graph  # type: ignore[type-arg]


def read_graphs(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> list[AnyGraph]:
    """Read all graphs in a file; the format follows from the file name extension.

    ================================ ===========================================================
    ``.g6 .graph6 .s6 .sparse6``     one graph per line
    ``.edgelist .edges .txt``,       one edge per line, cells separated by commas, semicolons, tabs
    ``.csv .tsv``                    or blanks: two names, then numbers, which become ``edge_attr``;
                                     a single name is an isolated vertex (on the last line only
                                     if blanks are the separator); ``#`` and ``%`` start
                                     comments; a header is recognized, as pandas writes it
    ``.graphml .gexf``               XML, without a DOCTYPE
    ``.gml``                         GML
    ``.json``                        networkx node-link data: one graph or a list of graphs
    ``.npz``                         a scipy sparse matrix, or arrays edge_index and num_nodes
    ``.gz``                          after any of these but the last: compressed
    ================================ ===========================================================

    Vertices with names other than 0, 1, ... keep them as ``labels``. Columns that are not numbers
    are left out, with a warning :class:`mpsn.errors.LeftOut`.

    Args:
        path: The file.
        max_bytes: Largest size of the file, and of the arrays in an ``.npz``. Defaults to 1 GiB,
            or 256 MiB for formats other than graph6, sparse6 and ``.npz``.

    Returns:
        Graphs to pass to :func:`mpsn.clique_complex`; networkx graphs if they are directed or have
        attributes.
    """
    out: list[AnyGraph] = []
    size = Path(path).stat().st_size if Path(path).is_file() else 0
    limit, need = Limit.of(path, size, max_bytes), 0
    for graph in iter_graphs(path, max_bytes):
        if isinstance(graph, nx.Graph) and (graph.is_directed() or _has_attributes(graph)):
            out.append(graph)
        else:
            out.append(plain := as_graph(graph))
            need += GRAPH_BYTES + 16 * plain.edge_index.shape[1]
            limit.check(need, f"{len(out):,} graphs")
    return out


def iter_graphs(path: str | os.PathLike[str], max_bytes: int | None = None) -> Iterator[AnyGraph]:
    """Read the graphs in a file one by one, as :func:`mpsn.read_graphs` does.

    Graphs from GraphML and JSON are networkx graphs with all their attributes.
    """
    path = Path(path)
    suffix = graph_suffix(path)
    if suffix is None:
        raise FileError(
            f"Expected a graph file ending in {', '.join(ENDINGS)}, got {path.name!r}; "
            f"rename or convert it."
        )
    if holds_molecules(path):
        raise FileError(
            f"Expected a graph file, got a table of molecules at {path}; read it with "
            f"mpsn.read_molecules."
        )
    compact = suffix == ".npz" or READERS[suffix] in (read_graph6, read_sparse6)
    most = max_bytes or (MAX_BYTES if compact else MAX_PARSED)
    check_file(path, most, "a graph file")
    number = 0
    for number, graph in enumerate(_parse(path, suffix, most, max_bytes), start=1):  # noqa: B007
        yield graph
    if not number:
        raise FileError(f"Expected at least one graph in {path}, got none; is the file empty?")


def graph_suffix(path: Path) -> str | None:
    """Return the extension that tells the format of a graph file, without .gz; None for others."""
    suffix = path.suffix.lower()
    if suffix == ".gz" and Path(path.stem).suffix.lower() != ".npz":
        suffix = Path(path.stem).suffix.lower()
    return suffix if suffix in ENDINGS else None


def _parse(path: Path, suffix: str, most: int, allowed: int | None) -> Iterator[AnyGraph]:
    if suffix == ".npz":
        with explained(path, "a graph file"):
            yield _npz(path, most)
        return
    with open_file(path, "a graph file", most) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if READERS[suffix] in (read_graphml, read_gexf, read_gml, read_json):
            room = available_memory(torch.device("cpu"))
            if OBJECTS * size > room:
                raise TooLargeError(
                    f"Expected a {suffix} file of at most {room // OBJECTS:,} bytes, which fits "
                    f"into memory, got {path} of {size:,}; split it."
                )
        limit = Limit.of(path, size, allowed)
        for graph in READERS[suffix](file, limit):
            if isinstance(graph, Graph):
                limit.check(VERTEX_BYTES * graph.num_nodes, f"{graph.num_nodes:,} vertices")
            yield graph


def _has_attributes(graph: Any) -> bool:
    return any(data for _, data in graph.nodes(data=True)) or any(
        data for _, _, data in graph.edges(data=True)
    )


def _npz(path: Path, max_bytes: int) -> Graph:
    arrays = read_arrays(path, max_bytes)
    if "edge_index" in arrays:
        edges, nodes = arrays["edge_index"], arrays.get("num_nodes")
        if edges.size and edges.dtype.kind not in "iu":
            raise GraphError(f"expected edge_index of integers, got {edges.dtype}")
        if nodes is not None and nodes.size != 1:
            raise GraphError(f"expected num_nodes as one integer, got shape {nodes.shape}")
        return as_graph((edges, int(edges.max()) + 1 if nodes is None else nodes.item()))
    if "format" in arrays:
        return _sparse_matrix(arrays)
    raise GraphError(
        f"expected a sparse matrix, or arrays edge_index and num_nodes, got arrays "
        f"{', '.join(arrays)}"
    )


def _sparse_matrix(arrays: dict[str, NDArray[Any]]) -> Graph:
    """Read what ``scipy.sparse.save_npz`` writes; scipy itself would follow bad offsets."""
    kind = bytes(arrays["format"]).rstrip(b"\0")
    if kind not in (b"csr", b"csc", b"coo"):
        raise GraphError(f"expected a sparse matrix in csr, csc or coo format, got {kind!r:.40}")
    names = ("row", "col") if kind == b"coo" else ("indices", "indptr")
    for name, types in {"data": "biufc", "shape": "iu", names[0]: "iu", names[1]: "iu"}.items():
        if name not in arrays or arrays[name].ndim != 1 or arrays[name].dtype.kind not in types:
            raise GraphError(f"expected a list of numbers {name}")
    data, (one, two) = arrays["data"], (arrays[name].astype(np.int64) for name in names)
    n, *rest = arrays["shape"].tolist() or [-1]
    if rest != [n] or n < 0:
        raise GraphError(f"expected a square matrix, got shape {(n, *rest)!s:.40}")
    if kind != b"coo":
        steps = np.diff(two)
        if len(steps) != n or two[0] != 0 or two[-1] != len(one) or (steps < 0).any():
            raise GraphError("expected offsets that ascend from 0 to the number of entries")
        two = np.repeat(np.arange(n), steps)
    if not len(data) == len(one) == len(two):
        raise GraphError(f"expected {len(data)} rows and columns, got {len(one)} and {len(two)}")
    ends = np.stack([one, two])[:, data != 0]
    if ends.min(initial=0) < 0 or ends.max(initial=0) >= max(n, 1):
        raise GraphError(f"expected rows and columns below {n}, got {ends.max(initial=0)}")
    return Graph(torch.from_numpy(ends), n)


READERS: dict[str, Callable[[IO[bytes], Limit], Iterator[AnyGraph]]] = {
    ".g6": read_graph6,
    ".graph6": read_graph6,
    ".s6": read_sparse6,
    ".sparse6": read_sparse6,
    ".edgelist": read_edge_list,
    ".edges": read_edge_list,
    ".txt": read_edge_list,
    ".csv": read_edge_list,
    ".tsv": read_edge_list,
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".gml": read_gml,
    ".json": read_json,
}
ENDINGS = (*READERS, ".npz")
