"""Collections of labeled graphs: folders, tables, TU archives."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import networkx as nx
import torch

from mpsn._rows.packages import is_pyg
from mpsn.complexes import ComplexDataset
from mpsn.complexes.internal import is_packed, labels_by_complex, open_or_load
from mpsn.convert import find_ends
from mpsn.datasets._files import ENDINGS, graph_suffix, iter_graphs
from mpsn.datasets._molecule_files import MoleculeTable, holds_molecules, read_molecule_table
from mpsn.datasets._molecules import parse_molecule, warn_left_out
from mpsn.datasets._tables import (
    check_label,
    choose_columns,
    is_gap,
    join_labels,
    one_label,
    read_labels,
    read_lines,
    split_targets,
    with_gaps,
)
from mpsn.datasets._tu_raw import choose_targets, name_of, parse, read_members, split_raw
from mpsn.errors import FileError, did_you_mean, warn

Item = tuple[str, Any, Any]  # name, graph, label; None for no label, a list for several targets


@dataclass(frozen=True)
class GraphCollection:
    """Graphs with names and labels, read one by one in each iteration."""

    kind: str  # of the graphs, in words
    items: Callable[[], Iterator[Item]]
    targets: tuple[str, ...] = ()  # names of the targets, where they have any
    table: MoleculeTable | None = None  # of molecules, in the order of the items
    packed: tuple[ComplexDataset[Any], list[Any]] | None = None  # all graphs, and their labels

    def __iter__(self) -> Iterator[Item]:
        for name, graph, label in self.items():
            check_label(name, label, is_row=len(self.targets) > 1)
            yield name, graph, label


def read_collection(
    paths: Sequence[str | os.PathLike[str]],
    *,
    target: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    smiles: str | None = None,
    labeled: bool = True,
    unsafe_pickle: bool = False,
) -> GraphCollection:
    """Find graphs and their labels in files and folders.

    ============================  ================================================================
    two or more folders           one class per folder, named after it
    a folder of such folders      the same
    a folder of graph files       labels from a CSV or TSV (``labels``, or the one in the folder
                                  that names the graphs), or from the graph attribute ``target``
                                  (GraphML, GEXF, GML, JSON)
    a graph file                  the same; graphs of a file are named ``file:0``, ``file:1``, ...
    a TU archive or folder        ``NAME_A.txt`` and so on, with all labels and attributes
    a table of molecules          a CSV or TSV with SMILES in the column ``smiles`` or of that name,
                                  an ``.smi`` or SD file; labels from the column ``target``
    a packed ``.npz``             of ``ComplexDataset.write``; labels from ``y``
    a ``.pt`` of PyG data         ``Data``, a list of it or a data set; only with ``unsafe_pickle``
    ============================  ================================================================

    Args:
        paths: The files or folders.
        target: Column of the CSV, or graph attribute, with the label; of the targets in ``y`` or in
            the ``graph_attributes`` of a TU set, the number from 0. Several are separated by
            commas. Defaults to the only column, the only target, or the ``graph_labels`` of a
            TU set.
        labels: The CSV; its first column holds names of graphs, with or without file extension.
        smiles: The column of SMILES. Defaults to one of that name.
        labeled: Whether labels are needed; if not, none of several targets need be chosen.
        unsafe_pickle: Whether to unpickle ``.pt`` files, which runs any code in them.
    """
    places = [Path(path) for path in paths]
    for path in places:
        if not path.exists():
            near = did_you_mean(path.name, sorted(p.name for p in path.parent.glob("*")))
            raise FileError(f"Expected graphs at {path}, found nothing.{near}")
    molecules = smiles is not None or (len(places) == 1 and holds_molecules(places[0]))
    if molecules and (len(places) > 1 or labels is not None):
        raise FileError(
            "Expected one table of molecules with a column of labels, got several paths or "
            "--labels; join the tables, and name the column with --target (target=...)."
        )
    if len(places) > 1:
        _refuse("a folder per class", target=target, labels=labels)
        return _classes(places)
    (path,) = places
    if path.suffix == ".pt":
        _refuse("a .pt file", labels=labels)
        return _pickled(path, unsafe_pickle, target, labeled)
    if is_packed(path):
        _refuse("a packed file", labels=labels)
        return _packed(path, target, labeled)
    if (name := name_of(path)) is not None:
        _refuse("a TU set", labels=labels)
        return _tu(path, name, target, labeled)
    if molecules:
        return _molecules(path, smiles, target)
    if path.is_dir() and not _graph_files(path):
        inner = sorted(p for p in path.iterdir() if p.is_dir() and _graph_files(p))
        if len(inner) < 2:
            raise FileError(
                f"Expected a folder of graph files ({', '.join(ENDINGS)}), or of one such folder "
                f"per class, at {path}, got neither."
            )
        _refuse("a folder per class", target=target, labels=labels)
        return _classes(inner)
    return _labeled(path, target, labels)


def _refuse(what: str, **options: object) -> None:
    """Refuse options that do not apply to such graphs."""
    for option, value in options.items():
        if value is not None:
            raise FileError(
                f"Expected no --{option} ({option}=...) for {what}, with labels of its own, "
                f"got {str(value)!r:.60}; leave it out."
            )


def _graph_files(folder: Path) -> list[Path]:
    return _graphs_and_tables(folder)[0]


def _graphs_and_tables(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the graph files in a folder, and the tables of labels beside them."""
    files = sorted(p for p in folder.iterdir() if graph_suffix(p) and p.is_file())
    files = [p for p in files if not p.name.lower().startswith(("readme", "license"))]
    texts = [p for p in files if p.suffix.lower() in (".csv", ".tsv")]
    tables = [p for p in texts if _is_table(p, [other for other in files if other != p])]
    if not tables and len(texts) == 1 < len(files):
        tables = texts
    if len(tables) == len(files):
        tables = []
    return [p for p in files if p not in tables], tables


def _is_table(path: Path, graphs: list[Path]) -> bool:
    """Return whether a CSV has a header, and names at least half of the graphs, each once."""
    try:
        (_, head), *lines = read_lines(path, "a CSV of labels")
    except (FileError, ValueError):
        return False
    if len(head) < 2 or find_ends(head) or any(c.replace(".", "").isdigit() for c in head):
        return False
    named = [row[0] for _, row in lines]
    graph_names = {name for p in graphs for name in (p.name, _stem(p))}
    enough = 2 * len(graph_names.intersection(named)) >= max(len(graphs), 1)
    return enough and len(set(named)) == len(named)


def _stem(path: Path) -> str:
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def _graphs(
    path: Path, labels: str | os.PathLike[str] | None = None
) -> Iterator[tuple[str, str, Any]]:
    """Yield graphs with names, with and without extension, of a file or of all in a folder."""
    files = [path]
    if path.is_dir():
        files, tables = _graphs_and_tables(path)
        files = [p for p in files if labels is None or p != Path(labels)]
        others = [p.name for p in path.iterdir() if p not in files + tables and p.name[0] != "."]
        if others:
            warn(
                f"{len(others)} of the entries of {path} are not read, being no graph files: "
                f"{', '.join(sorted(others)[:3]):.100}{' ...' * (len(others) > 3)}.",
            )
    for file in files:
        graphs = iter_graphs(file)
        start = list(islice(graphs, 2))
        if len(start) == 1:
            yield file.name, _stem(file), start[0]
        else:
            for number, graph in enumerate(chain(start, graphs)):
                yield f"{file.name}:{number}", f"{_stem(file)}:{number}", graph


def _classes(folders: Sequence[Path]) -> GraphCollection:
    for folder in folders:
        if not folder.is_dir() or not _graph_files(folder):
            raise FileError(
                f"Expected folders of graph files ({', '.join(ENDINGS)}), one per class, got "
                f"{folder}, which {'holds none' if folder.is_dir() else 'is a file'}."
            )

    def items() -> Iterator[Item]:
        for folder in folders:
            for name, _, graph in _graphs(folder):
                yield f"{folder.name}/{name}", graph, folder.resolve().name

    names = ", ".join(folder.resolve().name for folder in folders)
    return GraphCollection(f"folders of graph files, one per class: {names}", items)


def _labeled(
    path: Path, target: str | None, labels: str | os.PathLike[str] | None
) -> GraphCollection:
    tables = _graphs_and_tables(path)[1] if path.is_dir() else []
    if labels is None and len(tables) > 1:
        raise FileError(
            f"Expected one table of labels in {path}, got {', '.join(p.name for p in tables)}; "
            f"choose one with --labels (labels=...)."
        )
    labels = tables[0] if labels is None and tables else labels
    targets, table = split_targets(target), None
    if labels is not None:
        targets, table = read_labels(Path(labels), target)

    def items() -> Iterator[Item]:
        unused = set(table or ())
        for name, short, graph in _graphs(path, labels):
            label = None
            if table is not None:
                key = name if name in table else short
                label = table.get(key)
                unused.discard(key)
            elif targets and isinstance(graph, nx.Graph):
                label = one_label([graph.graph.get(each) for each in targets])
            yield name, graph, label
        if unused:
            names = ", ".join(sorted(unused)[:3])
            warn(
                f"{len(unused)} labels are not used: there are no graphs named {names:.100}"
                f"{' ...' * (len(unused) > 3)}.",
            )

    kind = f"graph file{'s' * path.is_dir()} in {path.name}"
    kind += f", labels in {Path(labels).name}" if labels is not None else ""
    return GraphCollection(kind, items, targets)


def _molecules(path: Path, smiles: str | None, target: str | None) -> GraphCollection:
    """Return RDKit's molecules; None, with a warning, for rows without molecule or label."""
    table = read_molecule_table(path, smiles)
    targets = split_targets(target, table.head)
    columns = [table.column(each) for each in targets]
    rows = [i for i, cells in enumerate(zip(*columns, strict=True)) if not all(map(is_gap, cells))]
    labels: dict[int, Any] = {}
    if columns:
        joined = join_labels([[column[row] for row in rows] for column in columns])
        labels = dict(zip(rows, joined, strict=True))

    def items() -> Iterator[Item]:
        left_out: dict[int, str] = {}
        for row, item in enumerate(table.molecules):
            molecule = parse_molecule(item)
            if isinstance(molecule, str):
                left_out[row], molecule = molecule, None
            elif target is not None and row not in labels:
                left_out[row], molecule = f"there is no {' nor '.join(targets):.100}", None
            yield f"{path.name}:{row}", molecule, labels.get(row)
        warn_left_out(left_out, len(table.molecules))

    return GraphCollection(f"molecules in {path.name}", items, targets, table)


def _tu(path: Path, name: str, target: str | None, labeled: bool) -> GraphCollection:
    targets = split_targets(target)

    def items() -> Iterator[Item]:
        members = read_members(name, path)
        raw = parse(name, choose_targets(name, members, target) if labeled else members)
        file = f"{name}_graph_attributes.txt"
        columns = choose_columns(raw.targets.shape[1], targets, file) if labeled else []
        for i, (graph, row) in enumerate(zip(split_raw(raw), raw.targets.tolist(), strict=True)):
            yield f"{name}:{i}", graph, one_label([row[column] for column in columns])

    return GraphCollection(f"the TU set {name}", items, targets)


def _packed(path: Path, target: str | None, labeled: bool) -> GraphCollection:
    targets = split_targets(target)
    data = open_or_load(path)
    names = [f"{path.name}:{i}" for i in range(len(data))]
    labels: list[Any] = [None] * len(data)
    if labeled:
        y = labels_by_complex(data)
        if y is None or not y.shape[1]:
            raise FileError(
                f"Expected labels y in {path}, as many for each complex, got "
                f"{'none' if data.y is None else 'others'}; write it with K.replace(y=...)."
            )
        columns = choose_columns(y.shape[1], targets, "y")
        labels = [with_gaps(row) for row in y[:, columns].tolist()]
        for name, label in zip(names, labels, strict=True):
            check_label(name, label, is_row=len(columns) > 1)
    items = partial(zip, names, data, labels, strict=True)
    return GraphCollection(f"complexes in {path.name}", items, targets, packed=(data, labels))


def _pickled(path: Path, allowed: bool, target: str | None, labeled: bool) -> GraphCollection:
    targets = split_targets(target)
    if not allowed:
        raise FileError(
            f"Expected --unsafe-pickle (unsafe_pickle=True) to read {path}: a .pt file is a "
            f"pickle, and reading one runs whatever code is in it. Use it only for files you "
            f"trust, or save the graphs as GraphML instead."
        )

    def items() -> Iterator[Item]:
        try:
            content = torch.load(path, weights_only=False)
        except Exception as error:  # unpickling runs any code, which may raise anything
            raise FileError(
                f"Expected a list of PyG Data in {path}, got {error!r:.200}."
            ) from error
        is_list = isinstance(content, (list, tuple)) or is_pyg(content, "Dataset")
        graphs = list(content) if is_list else [content]
        if not all(is_pyg(graph, "Data") for graph in graphs):
            raise FileError(f"Expected a list of PyG Data in {path}, got {type(content).__name__}.")
        for i, graph in enumerate(graphs):
            y = torch.zeros(0) if graph.y is None else torch.as_tensor(graph.y).reshape(-1)
            columns = choose_columns(len(y), targets, "y") if len(y) and labeled else []
            yield f"{path.name}:{i}", graph, one_label([y[each].item() for each in columns])

    return GraphCollection(f"pickled graphs in {path.name}", items, targets)
