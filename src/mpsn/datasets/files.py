"""Graphs from files: graph6, sparse6, edge lists, GraphML and ``.npz``."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse
import torch

from mpsn.complexes.graphs import Graph, as_graph
from mpsn.errors import UNREADABLE, FileError, GraphError


def read_graphs(path: str | os.PathLike[str]) -> list[Graph]:
    """Read all graphs of a file, by its ending.

    ================================ ===========================================================
    ``.g6 .graph6 .s6 .sparse6``     one graph a line
    ``.edgelist .edges .txt .csv``   one edge a line: two names, then anything; a single name is
                                     an isolated vertex; ``#`` and ``%`` start comments; a CSV
                                     of numbers may have a first line of names
    ``.graphml``                     GraphML
    ``.npz``                         a scipy sparse matrix, or arrays edge_index and num_nodes
    ================================ ===========================================================

    Vertices with other names than 0, 1, ... keep them as ``labels``.

    Args:
        path: The file.

    Returns:
        Graphs that :func:`mpsn.clique_complex` takes.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise FileError(
            f"Expected a graph file ending in {', '.join(READERS)}, got {path.name!r}; "
            f"rename or convert it."
        )
    try:
        graphs = reader(path)
    except FileNotFoundError as error:
        raise FileError(f"Expected a graph file at {path}, found none.") from error
    except (*UNREADABLE, nx.NetworkXException) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileError(
            f"Expected a sound {path.suffix} file, got {path}, which is damaged or of another "
            f"kind ({reason:.200}); check where it came from."
        ) from error
    if not graphs:
        raise FileError(f"Expected at least one graph in {path}, got none; is the file empty?")
    return graphs


def _graph6(path: Path) -> list[Graph]:
    read: Any = nx.read_sparse6 if path.suffix.lower() in (".s6", ".sparse6") else nx.read_graph6
    if not path.read_bytes().strip():
        return []
    graphs = read(path)
    return [as_graph(graph) for graph in (graphs if isinstance(graphs, list) else [graphs])]


def _edge_list(path: Path) -> list[Graph]:
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
        return []
    names = np.array(rows)
    names = names.astype(np.int64) if _are_numbers(rows) else names
    unique, ends = np.unique(names, return_inverse=True)
    edges = torch.from_numpy(ends.reshape(-1, 2).T.astype(np.int64))
    labels = tuple(unique.tolist())
    return [
        Graph(edges, len(labels), labels=None if labels == tuple(range(len(labels))) else labels)
    ]


def _are_numbers(rows: list[tuple[str, str]]) -> bool:
    return all(re.fullmatch(r"[+-]?\d{1,18}", name) for row in rows for name in row)


def _graphml(path: Path) -> list[Graph]:
    return [as_graph(nx.read_graphml(path))]


def _npz(path: Path) -> list[Graph]:
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        if "edge_index" in file:
            edges = torch.from_numpy(file["edge_index"])
            nodes = int(file["num_nodes"]) if "num_nodes" in file else int(edges.max()) + 1
            return [as_graph((edges, nodes))]
        if "format" not in file:
            raise GraphError(
                f"Expected a sparse matrix, or arrays edge_index and num_nodes, got arrays "
                f"{', '.join(file.files)}"
            )
        raw.seek(0)
        return [as_graph(scipy.sparse.load_npz(raw))]


READERS: dict[str, Callable[[Path], list[Graph]]] = {
    ".g6": _graph6,
    ".graph6": _graph6,
    ".s6": _graph6,
    ".sparse6": _graph6,
    ".edgelist": _edge_list,
    ".edges": _edge_list,
    ".txt": _edge_list,
    ".csv": _edge_list,
    ".graphml": _graphml,
    ".npz": _npz,
}
