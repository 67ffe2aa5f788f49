"""Data of every kind from files, for ``mpsn lift``."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mpsn.cli._output import refuse
from mpsn.errors import FileError, GraphError

if TYPE_CHECKING:
    from mpsn.complexes import Complex

MAX_BYTES = 1 << 30  # of an array


def read_for(
    file: str,
    how: str,
    max_dim: int | None,
    max_ring: int | None,
    options: list[str],
    read_graphs: "Callable[[str], list[Any]]",
) -> "tuple[list[Any], Callable[[list[Any]], Sequence[Complex]]]":
    """Return the graphs, points, mesh, groups or image of a file, and the lift of such a list."""
    from mpsn.datasets import is_simplices, read_complex
    from mpsn.lifting import LIFTS, Lift, options_of

    own = options_of(how)
    bounds = {"max_dim": max_dim, "max_ring": max_ring}
    refuse_bounds(f"--how {how}", how, **bounds)
    given = dict(_option(option) for option in options)
    if len(given) < len(options):
        raise GraphError(f"Expected each --set once, got {' and '.join(options)!r:.80}.")
    if how == "hypergraph" or is_simplices(file):
        if given or how not in ("hypergraph", "cliques"):
            raise GraphError(
                f"Expected {file} without --set, and with --how hypergraph or none: it lists the "
                f"simplices; --max-dim bounds their dimension."
            )
        return [file], lambda files: [read_complex(path, max_dim=max_dim) for path in files]
    for name, option in own.items():
        if option.default is option.empty and name not in given:
            raise GraphError(f"Expected --set {name}=... with --how {how}, got none.")
    settings = {k: v for k, v in bounds.items() if k in own and (v, k) != (None, "max_ring")}
    lift = Lift(how, **{**settings, **given})
    if LIFTS[how].data == "graph":
        return (_arrows if how == "directed" else read_graphs)(file), lift.many
    path = Path(file)
    if not path.is_file():
        raise FileError(f"Expected a file at {path}, found none.")
    return [path if how == "mesh" else read_array(path)], lift.many


def refuse_bounds(what: str, how: str, **bounds: int | None) -> None:
    """Refuse bounds that a lift does not have."""
    from mpsn.lifting import options_of

    others = {name: value for name, value in bounds.items() if name not in options_of(how)}
    refuse(what, "it has no such bound; mpsn lift --help lists the lifts", **others)


def _arrows(file: str) -> list[Any]:
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
    from mpsn._files.limits import explained, open_file
    from mpsn._files.npz import read_array as read_npy

    what = "numbers, a row per point or line of an image,"
    if path.suffix.lower() == ".npy":
        with explained(path, what):
            return read_npy(path, MAX_BYTES)
    with open_file(path, what) as file:
        lines = (line.partition("#")[0].strip() for line in file.read().decode().splitlines())
        rows = [[cell for cell in re.split(r"[,;\s]+", line) if cell] for line in lines if line]
        if not rows:
            raise ValueError("no line of numbers")
        if any(_number(cell) is None for cell in rows[0]):
            rows = rows[1:]  # a header
        return np.array([[float(cell) for cell in row] for row in rows], np.float32)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
