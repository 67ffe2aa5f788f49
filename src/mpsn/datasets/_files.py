"""Graphs from files: graph6, sparse6, edge lists, GraphML, JSON and ``.npz``."""

import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._io import read_arrays
from mpsn.complexes._graphs import Graph, as_graph
from mpsn.errors import UNREADABLE, FileError, GraphError, TooLargeError

MAX_BYTES = 1 << 30  # of a file, and of the arrays in one
MAX_PARSED = 1 << 28  # of a file that becomes Python objects: GraphML, JSON and edge lists

AnyGraph = Graph | nx.Graph  # type: ignore[type-arg]
XML_ERRORS = (expat.ExpatError, SyntaxError)
LIBRARY_ERRORS = (nx.NetworkXException, LookupError, TypeError, AttributeError, ArithmeticError)


def read_graphs(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> list[Graph]:
    """Read all graphs in a file; the format follows from the file name extension.

    ================================ ===========================================================
    ``.g6 .graph6 .s6 .sparse6``     one graph per line
    ``.edgelist .edges .txt .csv``   one edge per line: two names, the rest is ignored; a single
                                     name is an isolated vertex; ``#`` and ``%`` start comments;
                                     a CSV of numbers may have a header
    ``.graphml``                     GraphML, without a DOCTYPE
    ``.json``                        networkx node-link data: one graph or a list of graphs
    ``.npz``                         a scipy sparse matrix, or arrays edge_index and num_nodes
    ================================ ===========================================================

    Vertices with names other than 0, 1, ... keep them as ``labels``.

    Args:
        path: The file.
        max_bytes: Largest size of the file, and of the arrays in an ``.npz``. Defaults to 1 GiB,
            or 256 MiB for edge lists, GraphML and JSON.

    Returns:
        Graphs to pass to :func:`mpsn.clique_complex`.
    """
    return [as_graph(graph) for graph in iter_graphs(path, max_bytes)]


def iter_graphs(path: str | os.PathLike[str], max_bytes: int | None = None) -> Iterator[AnyGraph]:
    """Read the graphs in a file one by one, as :func:`read_graphs` does.

    Graphs from GraphML and JSON are networkx graphs with all their attributes.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise FileError(
            f"Expected a graph file ending in {', '.join(READERS)}, got {path.name!r}; "
            f"rename or convert it."
        )
    if max_bytes is None:
        max_bytes = MAX_PARSED if reader in (_edge_list, _graphml, _json) else MAX_BYTES
    check_file(path, max_bytes, "a graph file")
    number = 0
    try:
        graphs = _npz(path, max_bytes) if reader is _npz else reader(path)
        for number, graph in enumerate(graphs, start=1):  # noqa: B007
            yield graph
    except TooLargeError:
        raise
    except UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileError(
            f"Expected a valid {path.suffix} file, got {path}, which is damaged or of another "
            f"kind ({reason:.200}); check where it came from."
        ) from error
    if not number:
        raise FileError(f"Expected at least one graph in {path}, got none; is the file empty?")


def check_file(path: Path, max_bytes: int, what: str) -> None:
    """Raise unless a path is that of a file that is not too large."""
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe or device" if path.exists() else "nothing"
        raise FileError(f"Expected {what} at {path}, got {kind}.")
    if (size := path.stat().st_size) > max_bytes:
        raise TooLargeError(
            f"Expected a {path.suffix} file of at most {max_bytes:,} bytes, got {path} of "
            f"{size:,}; split it, or raise max_bytes."
        )


def _graph6(path: Path) -> Iterator[Graph]:
    for line in _lines(path, b">>graph6<<"):
        n, bits = _size_and_bits(line)
        pairs = n * (n - 1) // 2
        if len(bits) != (pairs + 5) // 6 * 6:
            raise GraphError(f"expected {pairs} bits for {n} vertices, got {len(bits)}")
        # Bit p tells whether i < j are adjacent; pairs are ordered by j, then i.
        p = np.flatnonzero(bits[:pairs])
        j = ((1 + np.sqrt(1.0 + 8.0 * p)) // 2).astype(np.int64)
        yield Graph(torch.from_numpy(np.stack([p - j * (j - 1) // 2, j])), n)


def _sparse6(path: Path) -> Iterator[Graph]:
    for line in _lines(path, b">>sparse6<<"):
        if not line.startswith(b":"):
            raise GraphError(f"expected a line that begins with a colon, got {line[:20]!r}")
        n, bits = _size_and_bits(line[1:])
        width = max(1, (n - 1).bit_length())
        steps = bits[: len(bits) // (width + 1) * (width + 1)].reshape(-1, width + 1)
        ends = steps[:, 1:].astype(np.int64) @ (1 << np.arange(width - 1, -1, -1))
        edges, v = [], 0
        for up, end in zip(steps[:, 0].tolist(), ends.tolist(), strict=True):
            v += up
            if end >= n or v >= n:  # padding
                break
            if end > v:
                v = end
            else:
                edges.append((end, v))
        yield Graph(torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T, n)


def _lines(path: Path, header: bytes) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            if rest := line.strip().removeprefix(header):
                yield rest


def _size_and_bits(line: bytes) -> tuple[int, NDArray[np.uint8]]:
    """Split a line of graph6 or sparse6 into the number of vertices and bits, six per character."""
    values = np.frombuffer(line, np.uint8) - 63
    start, size = (2, 6) if line.startswith(b"~~") else (1, 3) if line.startswith(b"~") else (0, 1)
    if len(values) < start + size or values.max() > 63:
        raise GraphError(f"expected a size and edges in characters from ? to ~, got {line[:20]!r}")
    n = 0
    for digit in values[start : start + size].tolist():
        n = n << 6 | digit
    return n, np.unpackbits(values[start + size :, None], axis=1)[:, 2:].reshape(-1)


def _edge_list(path: Path) -> Iterator[Graph]:
    rows = []
    text = path.read_text(encoding="utf-8-sig")
    for number, line in enumerate(text.splitlines(), start=1):
        words = re.split(r"[\s,;]+", re.split("[#%]", line)[0].strip())
        if "\0" in line:
            raise GraphError(f"line {number} is not text")
        if words[0]:
            rows.append((words[0], words[1] if len(words) > 1 else words[0]))
    if path.suffix.lower() == ".csv" and rows and not _are_numbers(rows[:1]):
        rows = rows[1:] if _are_numbers(rows[1:]) else rows  # names of columns
    if not rows:
        return
    kind: type[int] | type[str] = int if _are_numbers(rows) else str
    names = [kind(name) for row in rows for name in row]
    labels = tuple(sorted(set(names)))
    position = {name: i for i, name in enumerate(labels)}
    ends = torch.tensor([position[name] for name in names]).reshape(-1, 2).T
    plain = labels == tuple(range(len(labels)))
    yield Graph(ends, len(labels), labels=None if plain else labels)


def _are_numbers(rows: list[tuple[str, str]]) -> bool:
    return all(re.fullmatch(r"[+-]?\d{1,18}", name) for row in rows for name in row)


def _graphml(path: Path) -> Iterator[AnyGraph]:
    content = path.read_bytes()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    _by_library(parser.Parse, content, True)
    yield _by_library(nx.read_graphml, io.BytesIO(content))


def _refuse_doctype(*_: object) -> None:
    """GraphML needs no DOCTYPE, and entities can blow up a small file or name other files."""
    raise GraphError("expected GraphML without a DOCTYPE, got one; delete it")


def _json(path: Path) -> Iterator[AnyGraph]:
    found = json.loads(path.read_bytes())
    for data in found if isinstance(found, list) else [found]:
        if not isinstance(data, dict) or not {"links", "edges"} & data.keys():
            raise GraphError(
                "expected node-link data, with nodes and links; write it with nx.node_link_data"
            )
        edges = "links" if "links" in data else "edges"
        yield _by_library(nx.node_link_graph, data, edges=edges)


def _by_library(read: Callable[..., Any], *arguments: object, **options: object) -> Any:
    """Call a reader of another library, which may raise many types of errors on bad content."""
    try:
        return read(*arguments, **options)
    except (*LIBRARY_ERRORS, *XML_ERRORS) as error:
        raise GraphError(f"{type(error).__name__}: {error}") from error


def _npz(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[Graph]:
    arrays = read_arrays(path, max_bytes)
    if "edge_index" in arrays:
        edges, nodes = arrays["edge_index"], arrays.get("num_nodes")
        if edges.size and edges.dtype.kind not in "iu":
            raise GraphError(f"expected edge_index of integers, got {edges.dtype}")
        if nodes is not None and nodes.size != 1:
            raise GraphError(f"expected num_nodes as one integer, got shape {nodes.shape}")
        yield as_graph((edges, int(edges.max()) + 1 if nodes is None else nodes.item()))
    elif "format" in arrays:
        yield _sparse_matrix(arrays)
    else:
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


READERS: dict[str, Callable[[Path], Iterator[AnyGraph]]] = {
    ".g6": _graph6,
    ".graph6": _graph6,
    ".s6": _sparse6,
    ".sparse6": _sparse6,
    ".edgelist": _edge_list,
    ".edges": _edge_list,
    ".txt": _edge_list,
    ".csv": _edge_list,
    ".graphml": _graphml,
    ".json": _json,
    ".npz": _npz,
}
