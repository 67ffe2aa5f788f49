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
import scipy.sparse
import torch
from numpy.typing import NDArray

from mpsn.complexes.arrays import read_arrays
from mpsn.complexes.graphs import Graph, as_graph
from mpsn.errors import UNREADABLE, FileError, GraphError, TooLargeError

MAX_BYTES = 1 << 30  # of a file, and of the arrays in one
MAX_PARSED = 1 << 28  # of a file that becomes Python objects: GraphML, JSON and edge lists

AnyGraph = Graph | nx.Graph  # type: ignore[type-arg]


def read_graphs(path: str | os.PathLike[str]) -> list[Graph]:
    """Read all graphs of a file, by its ending.

    ================================ ===========================================================
    ``.g6 .graph6 .s6 .sparse6``     one graph a line
    ``.edgelist .edges .txt .csv``   one edge a line: two names, then anything; a single name is
                                     an isolated vertex; ``#`` and ``%`` start comments; a CSV
                                     of numbers may have a first line of names
    ``.graphml``                     GraphML, without a DOCTYPE
    ``.json``                        networkx node-link data, of one graph or a list of graphs
    ``.npz``                         a scipy sparse matrix, or arrays edge_index and num_nodes
    ================================ ===========================================================

    Vertices with other names than 0, 1, ... keep them as ``labels``. Files of more than 1 GiB, or
    256 MiB for edge lists, GraphML and JSON, are refused.

    Args:
        path: The file.

    Returns:
        Graphs that :func:`mpsn.clique_complex` takes.
    """
    return [as_graph(graph) for graph in iter_graphs(path)]


def iter_graphs(path: str | os.PathLike[str]) -> Iterator[AnyGraph]:
    """Read the graphs of a file one by one, as :func:`read_graphs` does.

    Those of GraphML and JSON come as networkx graphs, with all their attributes.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise FileError(
            f"Expected a graph file ending in {', '.join(READERS)}, got {path.name!r}; "
            f"rename or convert it."
        )
    _check_file(path, MAX_PARSED if reader in (_edge_list, _graphml, _json) else MAX_BYTES)
    number = 0
    try:
        for number, graph in enumerate(reader(path), start=1):  # noqa: B007
            yield graph
    except TooLargeError:
        raise
    except (*UNREADABLE, nx.NetworkXException, expat.ExpatError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileError(
            f"Expected a sound {path.suffix} file, got {path}, which is damaged or of another "
            f"kind ({reason:.200}); check where it came from."
        ) from error
    if not number:
        raise FileError(f"Expected at least one graph in {path}, got none; is the file empty?")


def _check_file(path: Path, most: int) -> None:
    if not path.exists():
        raise FileError(f"Expected a graph file at {path}, found none.")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no plain file"
        raise FileError(f"Expected a graph file at {path}, got {kind}.")
    if (size := path.stat().st_size) > most:
        raise TooLargeError(
            f"Expected a {path.suffix} file of at most {most:,} bytes, got {path} of {size:,}; "
            f"split it."
        )


def _graph6(path: Path) -> Iterator[Graph]:
    for line in _lines(path, b">>graph6<<"):
        n, bits = _size_and_bits(line)
        pairs = n * (n - 1) // 2
        if len(bits) != (pairs + 5) // 6 * 6:
            raise GraphError(f"expected {pairs} bits for {n} vertices, got {len(bits)}")
        # Bit p says whether i < j are joined, the pairs ordered by j, then i.
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
    """Split a line of graph6 or sparse6: the number of vertices, then bits, six a character."""
    values = np.frombuffer(line, np.uint8) - 63
    if not len(values) or values.max() > 63:
        raise GraphError(f"expected characters from ? to ~, got {line[:20]!r}")
    start, size = (0, 1) if values[0] < 63 else (1, 3) if values[1] < 63 else (2, 6)
    digits = values[start : start + size].tolist()
    n = sum(digit << 6 * i for i, digit in enumerate(reversed(digits)))
    bits = (values[start + size :, None] >> np.arange(5, -1, -1)) & 1
    return n, bits.astype(np.uint8).reshape(-1)


def _edge_list(path: Path) -> Iterator[Graph]:
    rows = []
    text = path.read_text(encoding="utf-8-sig")
    for number, line in enumerate(text.splitlines(), start=1):
        words = re.split(r"[\s,;]+", re.split("[#%]", line)[0].strip())
        if "\0" in line:
            raise ValueError(f"line {number} is not text")
        if words[0]:
            rows.append((words[0], words[1] if len(words) > 1 else words[0]))
    if path.suffix.lower() == ".csv" and rows and not _are_numbers(rows[:1]):
        rows = rows[1:] if _are_numbers(rows[1:]) else rows  # names of columns
    if not rows:
        return
    names = np.array(rows)
    names = names.astype(np.int64) if _are_numbers(rows) else names
    unique, ends = np.unique(names, return_inverse=True)
    edges = torch.from_numpy(ends.reshape(-1, 2).T.astype(np.int64))
    labels = tuple(unique.tolist())
    plain = labels == tuple(range(len(labels)))
    yield Graph(edges, len(labels), labels=None if plain else labels)


def _are_numbers(rows: list[tuple[str, str]]) -> bool:
    return all(re.fullmatch(r"[+-]?\d{1,18}", name) for row in rows for name in row)


def _graphml(path: Path) -> Iterator[AnyGraph]:
    content = path.read_bytes()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.Parse(content, True)
    yield nx.read_graphml(io.BytesIO(content))


def _refuse_doctype(*_: object) -> None:
    """GraphML needs none, and entities can blow up a small file or name other files."""
    raise GraphError("expected GraphML without a DOCTYPE, got one; delete it")


def _json(path: Path) -> Iterator[AnyGraph]:
    found = json.loads(path.read_bytes())
    for data in found if isinstance(found, list) else [found]:
        if not isinstance(data, dict) or not {"links", "edges"} & data.keys():
            raise GraphError(
                "expected node-link data, with nodes and links; write it with nx.node_link_data"
            )
        yield nx.node_link_graph(data, edges="links" if "links" in data else "edges")


def _npz(path: Path) -> Iterator[Graph]:
    arrays = read_arrays(path, MAX_BYTES)
    if "edge_index" in arrays:
        edges = torch.from_numpy(arrays["edge_index"])
        nodes = int(arrays["num_nodes"]) if "num_nodes" in arrays else int(edges.max()) + 1
        yield as_graph((edges, nodes))
        return
    if "format" not in arrays:
        raise GraphError(
            f"Expected a sparse matrix, or arrays edge_index and num_nodes, got arrays "
            f"{', '.join(arrays)}"
        )
    kind = bytes(arrays["format"]).rstrip(b"\0")
    if kind not in (b"csr", b"csc", b"coo"):  # others can say little and mean a lot of memory
        raise GraphError(f"Expected a sparse matrix of format csr, csc or coo, got {kind!r:.40}")
    matrix: Any = scipy.sparse.load_npz(path)
    if kind != b"coo":
        matrix.check_format(full_check=True)  # else indices out of range would be followed
    yield as_graph(matrix)


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
