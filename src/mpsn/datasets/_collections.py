"""Collections of labeled graphs: folders, tables, TU archives."""

import csv
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from torch_geometric.data import Data

from mpsn._io import BoundedFile
from mpsn.datasets._files import MAX_PARSED, READERS, check_file, iter_graphs
from mpsn.datasets._tu_raw import parse, read_members, split_raw
from mpsn.errors import UNREADABLE, FileError, did_you_mean

ENDINGS = tuple(ending for ending in READERS if ending not in (".csv", ".txt"))  # inside folders
Item = tuple[str, Any, Any]  # name, graph, label or None


@dataclass(frozen=True)
class GraphCollection:
    """Graphs with names and labels, read one by one in each iteration."""

    kind: str  # what was found, in words
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
    """Find graphs and their labels in files and folders.

    ============================  ================================================================
    two or more folders           one class per folder, named after it
    a folder of such folders      the same
    a folder of graph files       labels from a CSV (``labels``, or the only one in the folder), or
                                  from the graph attribute ``target`` (GraphML, JSON)
    a graph file                  the same; graphs of a file are named ``file:0``, ``file:1``, ...
    a TU archive or folder        ``NAME_A.txt`` and so on
    a ``.pt`` of PyG data         a list of ``Data``; only with ``unsafe_pickle``
    ============================  ================================================================

    Args:
        paths: The files or folders.
        target: Column of the CSV, or graph attribute, with the label. Defaults to the last column.
        labels: The CSV; its first column holds names of graphs, with or without file extension.
        unsafe_pickle: Whether to unpickle ``.pt`` files, which runs any code in them.
    """
    given = [Path(path) for path in paths]
    for path in given:
        if not path.exists():
            near = did_you_mean(path.name, sorted(p.name for p in path.parent.glob("*")))
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
                f"Expected a folder of graph files ({', '.join(ENDINGS)}), or of one such folder "
                f"per class, at {path}, got neither."
            )
        return _classes(inner)
    return _labeled(path, target, labels)


def _graph_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in ENDINGS and p.is_file())


def _graphs(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield names and graphs of a file, or of all files in a folder."""
    for file in _graph_files(path) if path.is_dir() else [path]:
        graphs = iter_graphs(file)
        start = list(islice(graphs, 2))
        if len(start) == 1:
            yield file.name, start[0]
        else:
            for number, graph in enumerate(chain(start, graphs)):
                yield f"{file.name}:{number}", graph


def _classes(folders: Sequence[Path]) -> GraphCollection:
    for folder in folders:
        if not folder.is_dir() or not _graph_files(folder):
            raise FileError(
                f"Expected folders of graph files ({', '.join(ENDINGS)}), one per class, got "
                f"{folder}, which {'holds none' if folder.is_dir() else 'is a file'}."
            )

    def items() -> Iterator[Item]:
        for folder in folders:
            for name, graph in _graphs(folder):
                yield f"{folder.name}/{name}", graph, folder.resolve().name

    names = ", ".join(folder.resolve().name for folder in folders)
    return GraphCollection(f"folders of graph files, one per class: {names}", items)


def _labeled(
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

    kind = f"graph file{'s' * path.is_dir()} in {path.name}"
    kind += f", labels in {Path(labels).name}" if labels is not None else ""
    return GraphCollection(kind, items)


def _read_labels(path: Path, target: str | None) -> dict[str, Any]:
    """Return labels by name of graph, as numbers if all of them are."""
    check_file(path, MAX_PARSED, "a CSV of labels")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (*UNREADABLE, csv.Error) as error:
        raise FileError(f"Expected a CSV of labels at {path}, got {error}.") from error
    if len(rows) < 2 or len(rows[0]) < 2:
        raise FileError(
            f"Expected a CSV with a header, then a graph and its label on each line, in {path}, "
            f"got {len(rows)} lines."
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
    names, values = ([row[i] for row in rows[1:]] for i in (0, column))
    return dict(zip(names, _typed(values), strict=True))


def _typed(words: list[str]) -> list[Any]:
    """Return labels as integers or floats if all of them are, else as strings."""
    for kind in (int, float):
        with suppress(ValueError):
            return [kind(word) for word in words]
    return list(words)


def _tu_name(path: Path) -> str | None:
    """Return the name of the TU set in a zip file or folder, or None if there is none."""
    names: list[str] = []
    if path.is_dir():
        places = ("*_A.txt", "*/*_A.txt", "*/*/*_A.txt")
        names = [found.name for place in places for found in path.glob(place)]
    elif path.suffix == ".zip":
        try:
            with BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
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


def _pickled(path: Path, allowed: bool) -> GraphCollection:
    if not allowed:
        raise FileError(
            f"Expected --unsafe-pickle (unsafe_pickle=True) to read {path}: a .pt file is a "
            f"pickle, and reading one runs whatever code is in it. Use it only for files you "
            f"trust, or save the graphs as GraphML instead."
        )

    def items() -> Iterator[Item]:
        try:
            found = torch.load(path, weights_only=False)
        except Exception as error:  # unpickling runs any code, which may raise anything
            raise FileError(
                f"Expected a list of PyG Data in {path}, got {error!r:.200}."
            ) from error
        if not isinstance(found, (list, tuple)) or not all(isinstance(g, Data) for g in found):
            raise FileError(f"Expected a list of PyG Data in {path}, got {type(found).__name__}.")
        for i, graph in enumerate(found):
            y = None if graph.y is None else torch.as_tensor(graph.y).reshape(-1)
            yield f"{path.name}:{i}", graph, y[0].item() if y is not None and len(y) else None

    return GraphCollection(f"pickled graphs in {path.name}", items)
