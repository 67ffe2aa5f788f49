"""The raw layout of the TU collection: text files with numbers on each line."""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._files.io import open_zip, read_member
from mpsn._files.limits import Limit, explained
from mpsn.convert import Graph
from mpsn.errors import FileError, warn

MAX_BYTES = 1 << 29  # of all files of a set; those of the largest of the six take some 200 MB
GRAPH_BYTES, VERTEX_BYTES, EDGE_BYTES = 1000, 1500, 700  # of Python objects
MIXED = "the files are incomplete or belong to different data sets"
NEEDED = ("A", "graph_indicator")
FIELDS = ("node_labels", "node_attributes", "edge_labels", "edge_attributes")
OPTIONAL = ("graph_labels", "graph_attributes", *FIELDS)
Integers = NDArray[np.int64]
Numbers = NDArray[Any]
Members = dict[str, bytes | bytearray]


class RawGraphs(NamedTuple):
    """Graphs as listed; vertices and graphs count from 0, vertices of a graph are consecutive.

    Labels are int64, attributes float64, each with a row per graph, vertex or listed edge.
    """

    name: str
    edges: Integers  # (listings, 2)
    owner: Integers  # (vertices,), ascending
    targets: Numbers  # (graphs, targets): labels, or attributes if there are none
    node_labels: Integers | None = None
    node_attributes: Numbers | None = None
    edge_labels: Integers | None = None
    edge_attributes: Numbers | None = None
    size: int = 0  # of the files


def read_members(
    name: str,
    source: Path | bytes,
    needed: Sequence[str] = NEEDED,
    optional: Sequence[str] = OPTIONAL,
    max_bytes: int = MAX_BYTES,
) -> Members:
    """Return the files of a data set, from a folder, a zip file or its content.

    They lie at the top, in ``NAME`` or in ``NAME/raw``. Nothing else is read, and nothing is
    unpacked to the disk. Files of more than ``max_bytes`` in all are refused before they are
    unpacked; see :func:`mpsn._files.io.open_zip` for zip files.
    """
    origin = "the download" if isinstance(source, bytes) else str(source)
    members: Members = {}
    with explained(origin, f"the set {name} in TU layout"):
        if isinstance(source, Path) and source.is_dir():
            for part in (*needed, *optional):
                paths = (source / place for place in _places(name, part))
                if path := next((path for path in paths if path.is_file()), None):
                    if (size := path.stat().st_size) > max_bytes:
                        raise FileError(
                            f"Expected {path.name} of at most {max_bytes:,} bytes unpacked, got "
                            f"{size:,}; get a good copy of {name}."
                        )
                    members[part] = path.read_bytes()
                    max_bytes -= size
        else:
            with open_zip(source, max_bytes) as archive:
                for part in (*needed, *optional):
                    places = (archive.NameToInfo.get(place) for place in _places(name, part))
                    if (member := next(filter(None, places), None)) is not None:
                        members[part] = read_member(archive, member)
    missing = [f"{name}_{part}.txt" for part in needed if part not in members]
    if not missing and not {"graph_labels", "graph_attributes"} & members.keys():
        missing = [f"{name}_graph_labels.txt or {name}_graph_attributes.txt"]
    if missing:
        raise FileError(
            f"Expected {', '.join(missing)} in {origin}, at the top, in {name}/ or in {name}/raw/, "
            f"found none; get a complete copy."
        )
    return members


def holds(folder: Path, name: str) -> bool:
    """Return whether a folder is that of a data set."""
    return any((folder / place).is_file() for place in _places(name, "A"))


def name_of(path: Path) -> str | None:
    """Return the name of the TU set in a zip file or folder, or None if there is none."""
    names: list[str] = []
    if path.is_dir():
        places = ("*_A.txt", "*/*_A.txt", "*/*/*_A.txt")
        names = [file.name for place in places for file in path.glob(place)]
    elif path.suffix == ".zip":
        with explained(path, "a zip file"), open_zip(path) as archive:
            names = [name.rsplit("/", 1)[-1] for name in archive.namelist()]
        if not any(name.endswith("_A.txt") for name in names):
            raise FileError(f"Expected a TU archive with NAME_A.txt at {path}, got none in it.")
    return next((name.removesuffix("_A.txt") for name in names if name.endswith("_A.txt")), None)


def _places(name: str, part: str) -> list[str]:
    return [f"{folder}{name}_{part}.txt" for folder in ("", "raw/", f"{name}/", f"{name}/raw/")]


def choose_targets(name: str, members: Members, target: str | None) -> Members:
    """Leave out the labels of graphs that have attributes as well, or those if none is named."""
    if not {"graph_labels", "graph_attributes"} <= members.keys():
        return members
    if target is None:
        warn(
            f"{name}_graph_attributes.txt is not used: the targets are in {name}_graph_labels.txt; "
            f"name one of the attributes, such as --target 0, to predict it.",
        )
    other = "graph_attributes" if target is None else "graph_labels"
    return {part: content for part, content in members.items() if part != other}


def parse(name: str, members: Members) -> RawGraphs:
    """Parse the files of a data set and check that they fit together."""
    edges = _table(name, "A", members, width=2) - 1
    owner = _table(name, "graph_indicator", members, width=1)[:, 0] - 1
    part = "graph_labels" if "graph_labels" in members else "graph_attributes"
    targets = _table(name, part, members)
    n, graphs = len(owner), len(targets)
    if not graphs:
        raise FileError(f"Expected graphs in {name}_{part}.txt, got none.")
    _check(
        (owner >= 0) & (owner < graphs),
        f"graph numbers 1..{graphs} in {name}_graph_indicator.txt, as many as there are labels or "
        f"attributes of graphs",
        lambda i: f"{owner[i] + 1} for vertex {i + 1}",
    )
    _check(
        np.bincount(owner, minlength=graphs) > 0,
        f"a vertex of every graph 1..{graphs} in {name}_graph_indicator.txt",
        lambda i: f"none of graph {i + 1}",
    )
    extra: dict[str, Any] = {}
    for part in FIELDS:
        if part in members:
            extra[part] = _table(name, part, members)
            rows, what = (
                (n, "vertices") if part[0] == "n" else (len(edges), f"lines of {name}_A.txt")
            )
            if len(extra[part]) != rows:
                raise FileError(
                    f"Expected a line for each of {rows} {what} in {name}_{part}.txt, got "
                    f"{len(extra[part])}; {MIXED}."
                )
    _check(
        ((edges >= 0) & (edges < n)).reshape(-1),
        f"vertices 1..{n} in {name}_A.txt, as many as {name}_graph_indicator.txt has lines",
        lambda i: f"the edge {(edges[i // 2] + 1).tolist()}",
    )
    ends = owner[edges]  # (listings, 2)
    _check(
        ends[:, 0] == ends[:, 1],
        f"edges inside graphs in {name}_A.txt",
        lambda i: f"{(edges[i] + 1).tolist()} between graphs {(ends[i] + 1).tolist()}",
    )
    _check_directions(name, edges, n)
    if (np.diff(owner) < 0).any():  # the layout allows any order of vertices
        order = np.argsort(owner, kind="stable")
        edges, owner = np.argsort(order)[edges], owner[order]
        extra |= {key: table[order] for key, table in extra.items() if key[0] == "n"}
    return RawGraphs(name, edges, owner, targets, **extra, size=sum(map(len, members.values())))


def _check_directions(name: str, edges: Integers, n: int) -> None:
    """Refuse edges of which some are listed in both directions and others in one."""
    keys = edges.min(axis=1) * n + edges.max(axis=1)
    up, down = keys[edges[:, 0] < edges[:, 1]], keys[edges[:, 0] > edges[:, 1]]
    if up.sum() == down.sum():  # all are in both: no need to sort them
        return
    single = np.setxor1d(up, down)
    if len(single) and (paired := len(np.intersect1d(up, down))):
        u, v = divmod(int(single[0]), n)
        raise FileError(
            f"Expected all edges of {name}_A.txt in both directions, or all in one, got "
            f"{paired} in both and {len(single)} in one, such as {[u + 1, v + 1]}; it may be "
            f"cut off: get a complete copy."
        )


def _check(right: NDArray[np.bool_], expected: str, got: Callable[[int], str]) -> None:
    if not right.all():
        raise FileError(f"Expected {expected}, got {got(int(np.argmin(right)))}; {MIXED}.")


def _table(name: str, part: str, members: Members, width: int | None = None) -> Numbers:
    """Return the numbers of a file, separated by commas or blanks: a row for each line with any."""
    kind: Any = np.float64 if part.endswith("attributes") else np.int64
    what = "numbers" if kind is np.float64 else "integers"
    each = "equally many" if width is None else f"{width}"
    content = members[part].replace(b",", b" ")
    table: Numbers = np.empty((0, width or 1), kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # of fractions taken for integers
            if content.strip():
                table = np.loadtxt(BytesIO(content), kind, ndmin=2, comments=None)
        problem = f"{table.shape[1]}" if width and table.shape[1] != width else ""
    except (ValueError, DeprecationWarning) as error:
        problem = re.split(r";|\. ", str(error))[0]
    if problem or not np.isfinite(table).all():
        raise FileError(
            f"Expected {what}, {each} on each line, in {name}_{part}.txt, got "
            f"{problem or 'NaN or infinity; expected finite ones'}."
        )
    return table


def split_raw(raw: RawGraphs) -> Iterator[Graph | nx.Graph]:  # type: ignore[type-arg]
    """Yield the graphs of a set one by one, with all that is known of vertices and edges.

    Labels or attributes become x and edge_attr; if vertices or edges have both, they become the
    attributes ``label`` and ``attribute`` of networkx graphs, so that each keeps its type.
    """
    n, m, graphs = len(raw.owner), len(raw.edges), len(raw.targets)
    both = raw.node_labels is not None and raw.node_attributes is not None
    both |= raw.edge_labels is not None and raw.edge_attributes is not None
    need = GRAPH_BYTES * graphs + (VERTEX_BYTES * n + EDGE_BYTES * m) * both
    Limit.of(raw.name, raw.size).check(need, f"{graphs:,} graphs, {n:,} vertices, {m:,} edges")
    owner = raw.owner[raw.edges[:, 0]]
    order = np.argsort(owner, kind="stable")
    edges = raw.edges[order]
    vertex_tables = (raw.node_labels, raw.node_attributes)
    edge_tables = [t if t is None else t[order] for t in (raw.edge_labels, raw.edge_attributes)]
    cuts = [np.searchsorted(ids, np.arange(graphs + 1)) for ids in (raw.owner, owner[order])]
    for (start, stop), (first, last) in zip(
        *map(pairwise, map(np.ndarray.tolist, cuts)), strict=True
    ):
        vertices = [None if table is None else table[start:stop] for table in vertex_tables]
        links = [None if table is None else table[first:last] for table in edge_tables]
        ends = edges[first:last] - start
        if both:
            graph: nx.Graph[int] = nx.Graph()
            graph.add_nodes_from(enumerate(_named(vertices, stop - start)))
            for (u, v), row in zip(ends.tolist(), _named(links, len(ends)), strict=True):
                if not graph.has_edge(u, v):  # the first listing counts
                    graph.add_edge(u, v, **row)
            yield graph
        else:
            x, attr = (
                next((torch.from_numpy(_single(t)) for t in tables if t is not None), None)
                for tables in (vertices, links)
            )
            yield Graph(torch.from_numpy(np.ascontiguousarray(ends.T)), stop - start, x, attr)


def _single(table: Numbers) -> Numbers:
    return table.astype(np.float32) if table.dtype.kind == "f" else table.copy()


def _named(tables: Sequence[Numbers | None], n: int) -> list[dict[str, Any]]:
    """Return the values in each of n rows by name: label, or label_0 and so on, and attributes."""
    rows: list[dict[str, Any]] = [{} for _ in range(n)]
    for word, table in zip(("label", "attribute"), tables, strict=True):
        width = 0 if table is None else table.shape[1]
        names = [word] if width == 1 else [f"{word}_{i}" for i in range(width)]
        for row, values in zip(rows, [] if table is None else table.tolist(), strict=False):
            row.update(zip(names, values, strict=True))
    return rows
