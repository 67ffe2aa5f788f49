"""The raw layout of the TU collection: text files with one or two numbers per line."""

import itertools
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._io import BoundedFile, check_member
from mpsn.complexes._graphs import Graph
from mpsn.errors import UNREADABLE, FileError

MAX_BYTES = 1 << 28  # the largest file of the six sets takes some 200 MB
MIXED = "the files are incomplete or belong to different data sets"
Integers = NDArray[np.int64]


class RawGraphs(NamedTuple):
    """Graphs as listed; vertices and graphs count from 0, vertices of a graph are consecutive."""

    edges: Integers  # (listings, 2)
    owner: Integers  # (vertices,), ascending
    classes: Integers  # (graphs,), as in the file
    labels: Integers | None  # (vertices,), as in the file


def read_members(
    name: str, source: Path | bytes, labeled: bool, max_bytes: int = MAX_BYTES
) -> dict[str, bytes]:
    """Return the files of a data set that are used, from a folder, a zip file or its content.

    They lie at the top, in ``NAME`` or in ``NAME/raw``. Nothing else is read, and nothing is
    unpacked to the disk. Files of more than ``max_bytes`` are refused before they are unpacked.
    """
    wanted = ["A", "graph_indicator", "graph_labels"] + ["node_labels"] * labeled
    where = "the download" if isinstance(source, bytes) else str(source)
    try:
        if isinstance(source, Path) and source.is_dir():
            found = {part: _from_folder(source, name, part) for part in wanted}
        else:
            content = BytesIO(source) if isinstance(source, bytes) else BoundedFile(source)
            with content, zipfile.ZipFile(content) as file:
                found = {part: _from_zip(file, name, part, max_bytes) for part in wanted}
    except FileError:
        raise
    except UNREADABLE as error:
        raise FileError(
            f"Expected a zip file or folder of {name} in TU layout, got {where}, which is damaged "
            f"or of another kind ({error}); get a good copy."
        ) from error
    missing = [f"{name}_{part}.txt" for part, content in found.items() if content is None]
    if missing:
        raise FileError(
            f"Expected {', '.join(missing)} in {where}, at the top, in {name}/ or in {name}/raw/, "
            f"found none; get a complete copy."
        )
    return {part: content for part, content in found.items() if content is not None}


def holds(folder: Path, name: str) -> bool:
    """Return whether a folder is that of a data set."""
    return any((folder / place).is_file() for place in _places(name, "A"))


def _places(name: str, part: str) -> list[str]:
    return [f"{folder}{name}_{part}.txt" for folder in ("", "raw/", f"{name}/", f"{name}/raw/")]


def _from_folder(folder: Path, name: str, part: str) -> bytes | None:
    paths = [folder / place for place in _places(name, part)]
    return next((path.read_bytes() for path in paths if path.is_file()), None)


def _from_zip(file: zipfile.ZipFile, name: str, part: str, max_bytes: int) -> bytes | None:
    listed = set(file.namelist())
    for place in _places(name, part):
        if place in listed:
            check_member(file.getinfo(place), name)
            if (size := file.getinfo(place).file_size) > max_bytes:
                raise FileError(
                    f"Expected {place} of at most {max_bytes:,} bytes unpacked, got {size:,}; "
                    f"get a good copy of {name}."
                )
            return file.read(place)  # never more than the size just checked
    return None


def parse(name: str, members: dict[str, bytes]) -> RawGraphs:
    """Parse the files of a data set and check that they fit together."""
    edges = _numbers(name, "A", members, 2) - 1
    owner = _numbers(name, "graph_indicator", members, 1)[:, 0] - 1
    classes = _numbers(name, "graph_labels", members, 1)[:, 0]
    labels = _numbers(name, "node_labels", members, 1)[:, 0] if "node_labels" in members else None
    n, graphs = len(owner), len(classes)
    if not graphs:
        raise FileError(f"Expected graphs in {name}_graph_labels.txt, got none.")
    _check(
        (owner >= 0) & (owner < graphs),
        f"graph numbers 1..{graphs} in {name}_graph_indicator.txt, as many as "
        f"{name}_graph_labels.txt has lines",
        lambda i: f"{owner[i] + 1} for vertex {i + 1}",
    )
    _check(
        np.bincount(owner, minlength=graphs) > 0,
        f"a vertex of every graph 1..{graphs} in {name}_graph_indicator.txt",
        lambda i: f"none of graph {i + 1}",
    )
    if labels is not None and len(labels) != n:
        raise FileError(
            f"Expected a label for each of {n} vertices in {name}_node_labels.txt, got "
            f"{len(labels)}; {MIXED}."
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
    if (np.diff(owner) < 0).any():  # the layout allows any order of vertices
        order = np.argsort(owner, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(n)
        edges, owner, labels = rank[edges], owner[order], None if labels is None else labels[order]
    return RawGraphs(edges, owner, classes, labels)


def _check(right: NDArray[np.bool_], expected: str, got: Callable[[int], str]) -> None:
    if not right.all():
        raise FileError(f"Expected {expected}, got {got(int(np.argmin(right)))}; {MIXED}.")


def split_raw(raw: RawGraphs) -> Iterator[Graph]:
    """Yield the graphs of a set one by one; vertex labels become x, (n, 1) int64."""
    numbers = np.arange(len(raw.classes) + 1)
    starts = np.searchsorted(raw.owner, numbers).tolist()
    owner = raw.owner[raw.edges[:, 0]]
    order = np.argsort(owner, kind="stable")
    edges = torch.from_numpy(raw.edges[order])
    cuts = np.searchsorted(owner[order], numbers).tolist()
    labels = None if raw.labels is None else torch.from_numpy(raw.labels)[:, None]
    for i, (start, stop) in enumerate(itertools.pairwise(starts)):
        own = edges[cuts[i] : cuts[i + 1]].T - start
        yield Graph(own, stop - start, None if labels is None else labels[start:stop].clone())


def _numbers(name: str, part: str, members: dict[str, bytes], columns: int) -> Integers:
    content = members[part]
    text = np.frombuffer(content, np.uint8)
    lines = content.count(b"\n") + 1
    table = np.empty((lines, columns), np.int64)
    rows, bad = _read_table(text, table)
    if bad:
        line = content.split(b"\n", bad)[bad - 1].decode(errors="replace").strip()
        what = "two numbers" if columns == 2 else "one number"
        raise FileError(
            f"Expected {what} on each line of {name}_{part}.txt, got {line!r:.40} on line {bad}."
        )
    return table[:rows]


@numba.njit(cache=True, nogil=True)
def _read_table(text: NDArray[np.uint8], table: Integers) -> tuple[int, int]:
    """Fill the table with integers separated by commas or blanks; skip empty lines.

    Returns:
        The number of rows, and the number of the first bad line, from 1, or 0.
    """
    columns = table.shape[1]
    row, column, line = 0, 0, 1
    value, digits, sign = 0, 0, 0  # of the number being read; sign 0 before it begins
    for i in range(text.size + 1):
        c = text[i] if i < text.size else 10
        if 48 <= c <= 57:
            if digits == 18 or column == columns:
                return row, line
            value, digits, sign = value * 10 + (c - 48), digits + 1, sign if sign else 1
            continue
        if c == 45 and sign == 0:  # -
            sign = -1
            continue
        if sign and not digits:
            return row, line
        if digits:
            table[row, column] = sign * value
            column += 1
        value, digits, sign = 0, 0, 0
        if c == 10:
            if column not in (0, columns):
                return row, line
            row, column, line = row + (column == columns), 0, line + 1
        elif c not in (9, 13, 32, 44):
            return row, line
    return row, 0
