"""Many graphs and their labels, as people have them: folders, tables, TU archives."""

import csv
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch

from mpsn.complexes.graphs import Graph
from mpsn.datasets._files import MAX_PARSED, READERS, iter_graphs
from mpsn.datasets._tu_raw import RawGraphs, parse, read_members
from mpsn.errors import UNREADABLE, FileError, did_you_mean

ENDINGS = tuple(ending for ending in READERS if ending not in (".csv", ".txt"))  # inside folders
Item = tuple[str, Any, Any]  # name, graph, label or None


@dataclass(frozen=True)
class GraphCollection:
    """Graphs with names and, where they have them, labels; read one by one, as often as needed.

    Attributes:
        kind: What was found, in words.
        items: Starts reading: pairs of a name, a graph and its label.
    """

    kind: str
    items: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.items()


def read_collection(
    paths: Sequence[str | os.PathLike[str]],
    *,
    target: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    unsafe_pickle: bool = False,
) -> GraphCollection:
    """Find the graphs, and their labels, in files and folders.

    ============================  ================================================================
    two or more folders           each a class, named like the folder
    a folder of such folders      the same
    a folder of graph files       labels from a CSV (``labels``, or the only one in the folder), or
                                  from the graphs' own attribute ``target`` (GraphML, JSON)
    a graph file                  the same; graphs of a file are named ``file:0``, ``file:1``, ...
    a TU archive or folder        ``NAME_A.txt`` and so on
    a ``.pt`` of PyG data         a list of ``Data``; only with ``unsafe_pickle``
    ============================  ================================================================

    Args:
        paths: The files or folders.
        target: The column of the CSV, or the attribute of the graphs, that is the label; the last
            column unless said.
        labels: The CSV: its first column names graphs, with or without the ending of the file.
        unsafe_pickle: Whether to unpickle ``.pt`` files, which runs any code that is in them.
    """
    given = [Path(path) for path in paths]
    for path in given:
        if not path.exists():
            near = did_you_mean(path.name, _names(path.parent))
            raise FileError(f"Expected graphs at {path}, found nothing.{near}")
    if len(given) > 1:
        return _classes(given)
    (path,) = given
    if path.suffix == ".pt":
        return _pickled(path, unsafe_pickle)
    if (name := _tu_name(path)) is not None:
        return _tu(path, name)
    if path.is_dir() and not _graph_files(path):
        inner = sorted(p for p in path.iterdir() if p.is_dir() and _graph_files(p))
        if len(inner) < 2:
            raise FileError(
                f"Expected a folder of graph files ({', '.join(ENDINGS)}), or of one such folder a "
                f"class, at {path}, got neither."
            )
        return _classes(inner)
    return _labelled(path, target, labels)


def _names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []


def _graph_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in ENDINGS and p.is_file())


def _graphs(path: Path) -> Iterator[tuple[str, Any]]:
    """Read the graphs of a file, or of all files of a folder, with their names."""
    for file in _graph_files(path) if path.is_dir() else [path]:
        waiting: Any = None
        for number, graph in enumerate(iter_graphs(file)):
            if number == 1:
                yield f"{file.name}:0", waiting
            if number:
                yield f"{file.name}:{number}", graph
            waiting = graph if number == 0 else None
        if waiting is not None:
            yield file.name, waiting


def _classes(folders: Sequence[Path]) -> GraphCollection:
    for folder in folders:
        if not folder.is_dir() or not _graph_files(folder):
            raise FileError(
                f"Expected folders of graph files ({', '.join(ENDINGS)}), one a class, got "
                f"{folder}, which {'holds none' if folder.is_dir() else 'is a file'}."
            )

    def items() -> Iterator[Item]:
        for folder in folders:
            for name, graph in _graphs(folder):
                yield f"{folder.name}/{name}", graph, folder.resolve().name

    names = ", ".join(folder.resolve().name for folder in folders)
    return GraphCollection(f"folders of graph files, one a class: {names}", items)


def _labelled(
    path: Path, target: str | None, labels: str | os.PathLike[str] | None
) -> GraphCollection:
    tables = sorted(path.glob("*.csv")) if path.is_dir() else []
    if labels is None and len(tables) == 1:
        labels = tables[0]
    table = None if labels is None else _read_labels(Path(labels), target)

    def items() -> Iterator[Item]:
        for name, graph in _graphs(path):
            label = None
            if table is not None:
                label = table.get(name, table.get(Path(name).stem))
            elif target is not None and isinstance(graph, nx.Graph):
                label = graph.graph.get(target)
            yield name, graph, label

    what = f"graph file{'s' * path.is_dir()} in {path.name}"
    said = f", labels in {Path(labels).name}" if labels is not None else ""
    return GraphCollection(what + said, items)


def _read_labels(path: Path, target: str | None) -> dict[str, Any]:
    """Read labels by name of graph; numbers where all of them are."""
    try:
        if path.stat().st_size > MAX_PARSED:
            raise FileError(f"Expected a table of at most {MAX_PARSED:,} bytes at {path}.")
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except FileError:
        raise
    except (*UNREADABLE, csv.Error) as error:
        raise FileError(f"Expected a CSV of labels at {path}, got {error}.") from error
    if len(rows) < 2 or len(rows[0]) < 2:
        raise FileError(
            f"Expected a CSV with a first line of names, then a graph and its label on each line, "
            f"in {path}, got {len(rows)} lines."
        )
    head = rows[0]
    if target is not None and target not in head[1:]:
        raise FileError(
            f"Expected a column {target!r} in {path}, got {', '.join(head[1:])}."
            f"{did_you_mean(target, head[1:])}"
        )
    column = len(head) - 1 if target is None else head.index(target)
    short = next((i for i, row in enumerate(rows, 1) if len(row) <= column), None)
    if short is not None:
        raise FileError(f"Expected {len(head)} columns on line {short} of {path}, got fewer.")
    return dict(
        zip((row[0] for row in rows[1:]), _typed([r[column] for r in rows[1:]]), strict=True)
    )


def _typed(words: list[str]) -> list[Any]:
    """Return labels as whole numbers or numbers, where all of them are; else as words."""
    for kind in (int, float):
        try:
            return [kind(word) for word in words]
        except ValueError:
            continue
    return list(words)


def _tu_name(path: Path) -> str | None:
    """Return the name of the TU set in a zip file or folder, or None if there is none."""
    names: list[str] = []
    if path.is_dir():
        places = ("*_A.txt", "*/*_A.txt", "*/*/*_A.txt")
        names = [found.name for place in places for found in path.glob(place)]
    elif path.suffix == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                names = [name.rsplit("/", 1)[-1] for name in archive.namelist()]
        except UNREADABLE as error:
            raise FileError(f"Expected a zip file at {path}, got {error}.") from error
        if not any(name.endswith("_A.txt") for name in names):
            raise FileError(f"Expected a TU archive with NAME_A.txt at {path}, got none in it.")
    return next((name.removesuffix("_A.txt") for name in names if name.endswith("_A.txt")), None)


def _tu(path: Path, name: str) -> GraphCollection:
    def items() -> Iterator[Item]:
        try:
            members = read_members(name, path, labeled=True)
        except FileError:
            members = read_members(name, path, labeled=False)
        raw = parse(name, members)
        for i, graph in enumerate(split_raw(raw)):
            yield f"{name}:{i}", graph, int(raw.classes[i])

    return GraphCollection(f"the TU set {name}", items)


def split_raw(raw: RawGraphs) -> Iterator[Graph]:
    """Take the graphs of a TU set apart; vertex labels become x, (n, 1) int64."""
    starts = np.searchsorted(raw.owner, np.arange(len(raw.classes) + 1))
    owner = raw.owner[raw.edges[:, 0]]
    order = np.argsort(owner, kind="stable")
    edges, cuts = raw.edges[order], np.searchsorted(owner[order], np.arange(len(raw.classes) + 1))
    for i, (start, stop) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        own = torch.from_numpy(edges[cuts[i] : cuts[i + 1]].T - start)
        x = None if raw.labels is None else torch.from_numpy(raw.labels[start:stop, None].copy())
        yield Graph(own, stop - start, x)


def _pickled(path: Path, allowed: bool) -> GraphCollection:
    if not allowed:
        raise FileError(
            f"Expected --unsafe-pickle (unsafe_pickle=True) to read {path}: a .pt file is a "
            f"pickle, and reading one runs whatever code its writer put in. Say so only if you "
            f"trust where it came from, or save the graphs as GraphML instead."
        )

    def items() -> Iterator[Item]:
        try:
            found = torch.load(path, weights_only=False)
            for i, graph in enumerate(found):
                y = getattr(graph, "y", None)
                label = None if y is None else torch.as_tensor(y).reshape(-1)[0].item()
                yield f"{path.name}:{i}", graph, label
        except Exception as error:  # anything, as unpickling runs anything
            raise FileError(
                f"Expected a list of PyG Data in {path}, got {error!r:.200}."
            ) from error

    return GraphCollection(f"pickled graphs in {path.name}", items)
