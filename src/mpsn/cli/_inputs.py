"""Data of every kind from files and by name, for the commands on graphs."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpsn.cli.output import refuse
from mpsn.errors import FileError, GraphError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from mpsn.complexes import Complex

MAX_BYTES = 1 << 30  # of an array


def graphs_of(name: str) -> list[Any]:
    """Return the graphs of a file or a folder, or a built-in graph."""
    from mpsn.datasets import (
        NAMED_GRAPHS,
        holds_molecules,
        is_molecule,
        molecule_graph,
        read_collection,
        read_graphs,
    )

    path = Path(name)
    if name in NAMED_GRAPHS:
        return [NAMED_GRAPHS[name]()]
    if not path.exists():
        raise FileError(
            f"Expected a graph file or a built-in graph ({', '.join(NAMED_GRAPHS)}), got {name!r}."
            f"{did_you_mean(name, NAMED_GRAPHS)}"
        )
    if path.is_dir() or path.suffix == ".zip" or holds_molecules(path):
        items = [item for _, item, _ in read_collection([path], labeled=False) if item is not None]
        return [molecule_graph(item) if is_molecule(item) else item for item in items]
    read = read_graphs(path)
    names = [str(word) for graph in read for word in getattr(graph, "labels", None) or ()]
    if names and all(re.fullmatch(r"-?\d*\.\d+(e-?\d+)?", word) for word in names):
        raise GraphError(
            f"Expected names of vertices in {name}, got numbers such as {names[0]}; if they are "
            f"points, choose one of their lifts, such as mpsn lift {name} --how alpha."
        )
    return read


def read_and_lift(
    file: str,
    how: str | None,
    max_dim: int | None,
    max_ring: int | None,
    options: list[str],
) -> "tuple[list[Any], Callable[[list[Any]], Sequence[Complex]]]":
    """Return the graphs, points, mesh, groups or image of a file, and the lift of such a list."""
    from mpsn.datasets import holds_molecules, is_simplices, read_complex
    from mpsn.lifting import LIFTS, Lift, options_of

    how = how or ("rings" if holds_molecules(Path(file)) else "cliques")
    own = options_of(how)
    bounds = {"max_dim": max_dim, "max_ring": max_ring}
    refuse_bounds(f"--how {how}", how, **bounds)
    settings = dict(map(_option, options))
    if len(settings) < len(options):
        raise GraphError(f"Expected each --set once, got {' and '.join(options)!r:.80}.")
    if how == "hypergraph" or is_simplices(file):
        if settings or how not in ("hypergraph", "cliques"):
            raise GraphError(
                f"Expected {file} without --set, and with --how hypergraph or none: it lists the "
                f"simplices; --max-dim bounds their dimension."
            )
        return [file], lambda files: [read_complex(path, max_dim=max_dim) for path in files]
    for name, option in own.items():
        if option.default is option.empty and name not in settings:
            raise GraphError(f"Expected --set {name}=... with --how {how}, got none.")
    limits = {k: v for k, v in bounds.items() if k in own and (v, k) != (None, "max_ring")}
    lift = Lift(how, **{**limits, **settings})
    if LIFTS[how].data == "graph":
        return (_digraphs if how == "directed" else graphs_of)(file), lift.many
    path = Path(file)
    if not path.is_file():
        raise FileError(f"Expected a file at {path}, found none.")
    return [path if how == "mesh" else read_array(path)], lift.many


def read_one(data: list[Path], attributes: list[Path], max_dim: int) -> Any:
    """Return the complex of a list of simplices, or the graph of another file."""
    from mpsn.datasets import is_simplices, read_complex, read_graphs

    if len(data) != 1:
        raise GraphError(f"Expected one complex or graph for a model of cells, got {len(data)}.")
    (path,) = data
    text = path.suffix == ".txt" or path.name.endswith(".txt.gz")
    if text or is_simplices(path):
        return read_complex(path, attributes, max_dim=max_dim)
    if attributes:
        raise FileError(
            f"Expected --attributes with a list of simplices (.txt, .simplices, .json), got "
            f"{path}; a graph file holds its own attributes."
        )
    graphs = read_graphs(path)
    if len(graphs) != 1:
        raise GraphError(f"Expected one graph in {path}, got {len(graphs)}.")
    return graphs[0]


def refuse_bounds(what: str, how: str, **bounds: int | None) -> None:
    """Refuse bounds that a lift does not have."""
    from mpsn.lifting import options_of

    others = {name: value for name, value in bounds.items() if name not in options_of(how)}
    refuse(what, "it has no such bound; mpsn lift --help lists the lifts", **others)


def _digraphs(file: str) -> list[Any]:
    """Read graphs whose edges have a direction."""
    import networkx as nx

    from mpsn.datasets import iter_graphs

    graphs, name = list(iter_graphs(file)), file.lower().removesuffix(".gz")
    networks = [graph for graph in graphs if isinstance(graph, nx.Graph)]
    if name.endswith("6") or not all(graph.is_directed() for graph in networks):
        raise GraphError(
            f"Expected a directed graph with --how directed, got {file}, which is undirected; use "
            f"a list of edges, or a digraph in GraphML, GEXF, GML or JSON."
        )
    return graphs


def _option(option: str) -> tuple[str, Any]:
    name, equals, value = option.partition("=")
    if not equals:
        raise GraphError(f"Expected --set NAME=VALUE, such as radius=0.5, got {option!r:.60}.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def read_array(path: Path) -> "np.ndarray[Any, np.dtype[Any]]":
    """Read points, one per line, or an image: .npy, or numbers in CSV, TSV or text."""
    import numpy as np

    from mpsn._files.limits import explained, open_file
    from mpsn._files.npz import read_array as read_npy

    what = "numbers, a row per point or line of an image,"
    if path.suffix.lower() == ".npy":
        with explained(path, what):
            return read_npy(path, MAX_BYTES)
    with open_file(path, what) as file:
        text = re.sub(r"[,;]|#.*", " ", file.read().decode("utf-8-sig"))
        lines = [line for line in text.splitlines() if line.strip()]
        if lines and not all(map(_is_number, lines[0].split())):
            lines = lines[1:]  # a header
        if not lines:
            raise ValueError("no line of numbers")
        return np.loadtxt(lines, np.float32, ndmin=2)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
