"""The raw layout of the TU collection: a few text files with a number or two on each line."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from mpsn.errors import UNREADABLE, FileError

MAX_BYTES = 1 << 28  # of a file, unpacked; the largest of the six sets takes some 200 MB
Integers = NDArray[np.int64]


class RawGraphs(NamedTuple):
    """Graphs as listed, vertices and graphs numbered from 0, the vertices of a graph in one run."""

    edges: Integers  # (listings, 2)
    owner: Integers  # (vertices,), ascending
    classes: Integers  # (graphs,), as in the file
    labels: Integers | None  # (vertices,), as in the file


def read_members(name: str, source: Path | bytes, labeled: bool) -> dict[str, bytes]:
    """Return the files of a data set that matter, from a folder, a zip file or its content.

    They lie at the top, in ``NAME`` or in ``NAME/raw``. Nothing else is read, and nothing is
    unpacked to the disk.

    Args:
        name: Name of the data set.
        source: The folder, the zip file, or the content of one.
        labeled: Whether vertex labels are wanted too.
    """
    wanted = ["A", "graph_indicator", "graph_labels"] + ["node_labels"] * labeled
    where = "the download" if isinstance(source, bytes) else str(source)
    try:
        if isinstance(source, Path) and source.is_dir():
            found = {part: _from_folder(source, name, part) for part in wanted}
        else:
            with zipfile.ZipFile(BytesIO(source) if isinstance(source, bytes) else source) as file:
                found = {part: _from_zip(file, name, part) for part in wanted}
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
    """Tell whether a folder is that of a data set."""
    return any((folder / place).is_file() for place in _places(name, "A"))


def _places(name: str, part: str) -> list[str]:
    return [f"{folder}{name}_{part}.txt" for folder in ("", "raw/", f"{name}/", f"{name}/raw/")]


def _from_folder(folder: Path, name: str, part: str) -> bytes | None:
    paths = [folder / place for place in _places(name, part)]
    return next((path.read_bytes() for path in paths if path.is_file()), None)


def _from_zip(file: zipfile.ZipFile, name: str, part: str) -> bytes | None:
    listed = set(file.namelist())
    for place in _places(name, part):
        if place in listed:
            if (size := file.getinfo(place).file_size) > MAX_BYTES:
                raise FileError(
                    f"Expected {place} of at most {MAX_BYTES:,} bytes unpacked, got {size:,}; "
                    f"this is not the {name} of the collection."
                )
            return file.read(place)  # never more than the size just checked
    return None


def parse(name: str, members: dict[str, bytes]) -> RawGraphs:
    """Read the numbers and check that they fit together."""
    edges = _numbers(name, "A", members, 2) - 1
    owner = _numbers(name, "graph_indicator", members, 1)[:, 0] - 1
    classes = _numbers(name, "graph_labels", members, 1)[:, 0]
    labels = _numbers(name, "node_labels", members, 1)[:, 0] if "node_labels" in members else None
    n, graphs = len(owner), len(classes)
    if not graphs:
        raise FileError(f"Expected graphs in {name}_graph_labels.txt, got none.")
    if n and (owner.min() < 0 or owner.max() >= graphs):
        wrong = int(np.argmax((owner < 0) | (owner >= graphs)))
        raise FileError(
            f"Expected graph numbers 1..{graphs} in {name}_graph_indicator.txt, as many as "
            f"{name}_graph_labels.txt has lines, got {owner[wrong] + 1} for vertex {wrong + 1}; "
            f"the files are of different data sets, or cut."
        )
    empty = np.bincount(owner, minlength=graphs) == 0
    if empty.any():
        raise FileError(
            f"Expected a vertex of every graph 1..{graphs} in {name}_graph_indicator.txt, got none "
            f"of graph {np.argmax(empty) + 1}; the file is cut, or the labels are of other graphs."
        )
    if labels is not None and len(labels) != n:
        raise FileError(
            f"Expected a label for each of {n} vertices in {name}_node_labels.txt, "
            f"got {len(labels)}; the files are of different data sets, or cut."
        )
    _check_edges(name, edges, owner)
    if (np.diff(owner) < 0).any():  # the layout allows any order of vertices
        order = np.argsort(owner, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(n)
        edges, owner, labels = rank[edges], owner[order], None if labels is None else labels[order]
    return RawGraphs(edges, owner, classes, labels)


def _check_edges(name: str, edges: Integers, owner: Integers) -> None:
    n = len(owner)
    if len(edges) and (edges.min() < 0 or edges.max() >= n):
        wrong = int(np.argmax(((edges < 0) | (edges >= n)).any(axis=1)))
        raise FileError(
            f"Expected vertices 1..{n} in {name}_A.txt, as many as {name}_graph_indicator.txt has "
            f"lines, got the edge {(edges[wrong] + 1).tolist()}; the files are of different data "
            f"sets, or cut."
        )
    ends = owner[edges]  # (listings, 2)
    across = ends[:, 0] != ends[:, 1]
    if across.any():
        wrong = int(np.argmax(across))
        raise FileError(
            f"Expected edges inside graphs in {name}_A.txt, got {(edges[wrong] + 1).tolist()} "
            f"between graphs {(ends[wrong] + 1).tolist()}; the files are of different data sets."
        )


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
    """Fill the table with whole numbers parted by commas or blanks; skip lines without any.

    Returns:
        The number of rows, and 0 or the number, from 1, of the first line that does not fit.
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
