"""The raw layout of the TU collection: text files with one or two numbers per line."""

import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpsn._files.io import open_zip, read_member
from mpsn._files.limits import explained
from mpsn._rows.compiled import compiled
from mpsn.errors import FileError, LeftOut

MAX_BYTES = 1 << 29  # of all files of a set; those of the largest of the six take some 200 MB
MIXED = "the files are incomplete or belong to different data sets"
NEEDED = ("A", "graph_indicator")
OPTIONAL = (
    *("graph_labels", "graph_attributes", "node_labels"),
    *("node_attributes", "edge_labels", "edge_attributes"),
)
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
    labels: Integers | None = None
    attributes: Numbers | None = None
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
    where = "the download" if isinstance(source, bytes) else str(source)
    found: Members = {}
    content: bytes | bytearray | None
    with explained(where, f"the set {name} in TU layout"):
        if isinstance(source, Path) and source.is_dir():
            for part in (*needed, *optional):
                if (content := _from_folder(source, name, part, max_bytes)) is not None:
                    found[part] = content
                    max_bytes -= len(content)
        else:
            with open_zip(source, max_bytes) as archive:
                for part in (*needed, *optional):
                    if (content := _from_zip(archive, name, part)) is not None:
                        found[part] = content
    missing = [f"{name}_{part}.txt" for part in needed if part not in found]
    if not missing and not {"graph_labels", "graph_attributes"} & found.keys():
        missing = [f"{name}_graph_labels.txt or {name}_graph_attributes.txt"]
    if missing:
        raise FileError(
            f"Expected {', '.join(missing)} in {where}, at the top, in {name}/ or in {name}/raw/, "
            f"found none; get a complete copy."
        )
    return found


def holds(folder: Path, name: str) -> bool:
    """Return whether a folder is that of a data set."""
    return any((folder / place).is_file() for place in _places(name, "A"))


def name_of(path: Path) -> str | None:
    """Return the name of the TU set in a zip file or folder, or None if there is none."""
    names: list[str] = []
    if path.is_dir():
        places = ("*_A.txt", "*/*_A.txt", "*/*/*_A.txt")
        names = [found.name for place in places for found in path.glob(place)]
    elif path.suffix == ".zip":
        with explained(path, "a zip file"), open_zip(path) as archive:
            names = [name.rsplit("/", 1)[-1] for name in archive.namelist()]
        if not any(name.endswith("_A.txt") for name in names):
            raise FileError(f"Expected a TU archive with NAME_A.txt at {path}, got none in it.")
    return next((name.removesuffix("_A.txt") for name in names if name.endswith("_A.txt")), None)


def _places(name: str, part: str) -> list[str]:
    return [f"{folder}{name}_{part}.txt" for folder in ("", "raw/", f"{name}/", f"{name}/raw/")]


def _from_folder(folder: Path, name: str, part: str, most: int) -> bytes | None:
    for path in (folder / place for place in _places(name, part)):
        if path.is_file():
            _check_size(name, path.name, path.stat().st_size, most)
            return path.read_bytes()
    return None


def _from_zip(file: zipfile.ZipFile, name: str, part: str) -> bytearray | None:
    listed = set(file.namelist())
    place = next((place for place in _places(name, part) if place in listed), None)
    return None if place is None else read_member(file, file.getinfo(place))


def _check_size(name: str, place: str, size: int, most: int) -> None:
    if size > most:
        raise FileError(
            f"Expected {place} of at most {most:,} bytes unpacked, got {size:,}; get a good copy "
            f"of {name}, or unpack it into a folder."
        )


def choose_targets(name: str, members: Members, target: str | None) -> Members:
    """Leave out the labels of graphs that have attributes as well, or those if none is named."""
    if not {"graph_labels", "graph_attributes"} <= members.keys():
        return members
    if target is None:
        warnings.warn(
            f"{name}_graph_attributes.txt is not used: the targets are in {name}_graph_labels.txt; "
            f"name one of the attributes, such as --target 0, to predict it.",
            LeftOut,
            stacklevel=2,
        )
    other = "graph_attributes" if target is None else "graph_labels"
    return {part: content for part, content in members.items() if part != other}


def parse(name: str, members: Members) -> RawGraphs:
    """Parse the files of a data set and check that they fit together."""
    edges = _integers(name, "A", members, 2)
    edges -= 1
    owner = _integers(name, "graph_indicator", members, 1)[:, 0]
    owner -= 1
    classes = _integers(name, "graph_labels", members, None) if "graph_labels" in members else None
    targets = _floats(name, "graph_attributes", members) if classes is None else classes
    n, graphs = len(owner), len(targets)
    if not graphs:
        part = "attributes" if classes is None else "labels"
        raise FileError(f"Expected graphs in {name}_graph_{part}.txt, got none.")
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
    for part, field, rows in (
        ("node_labels", "labels", n),
        ("node_attributes", "attributes", n),
        ("edge_labels", "edge_labels", len(edges)),
        ("edge_attributes", "edge_attributes", len(edges)),
    ):
        if part in members:
            read = _integers(name, part, members, None) if "labels" in part else None
            extra[field] = found = _floats(name, part, members) if read is None else read
            if len(found) != rows:
                each = f"{rows} vertices" if rows == n else f"{rows} lines of {name}_A.txt"
                raise FileError(
                    f"Expected a line for each of {each} in {name}_{part}.txt, got {len(found)}; "
                    f"{MIXED}."
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
        rank = np.empty_like(order)
        rank[order] = np.arange(n)
        edges, owner = rank[edges], owner[order]
        extra |= {key: extra[key][order] for key in ("labels", "attributes") if key in extra}
    return RawGraphs(name, edges, owner, targets, **extra, size=sum(map(len, members.values())))


def _check_directions(name: str, edges: Integers, n: int) -> None:
    """Refuse edges of which some are listed in both directions and others in one.

    Sums of mixed keys tell at once that all are listed in both.
    """
    low, high = edges.min(axis=1), edges.max(axis=1)
    keys = (low.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ high.astype(np.uint64)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    keys ^= keys >> np.uint64(29)
    up, down = edges[:, 0] < edges[:, 1], edges[:, 0] > edges[:, 1]
    if keys[up].sum() == keys[down].sum():
        return
    flat = low * n + high
    paired = np.intersect1d(flat[up], flat[down])
    single = np.setxor1d(flat[up], flat[down])
    if len(paired) and len(single):
        u, v = divmod(int(single[0]), n)
        raise FileError(
            f"Expected all edges of {name}_A.txt in both directions, or all in one, got "
            f"{len(paired)} in both and {len(single)} in one, such as {[u + 1, v + 1]}; it may be "
            f"cut off: get a complete copy."
        )


def _check(right: NDArray[np.bool_], expected: str, got: Callable[[int], str]) -> None:
    if not right.all():
        raise FileError(f"Expected {expected}, got {got(int(np.argmin(right)))}; {MIXED}.")


def _integers(name: str, part: str, members: Members, columns: int | None) -> Integers:
    content = members[part]
    start = content.lstrip().partition(b"\n")[0]
    width = columns or max(1, len(re.split(rb"[\s,]+", start.strip())))
    lines = content.count(b"\n") + 1
    rows, bad, table = 0, 1, np.empty((0, width), np.int64)
    if width <= 2 or lines * width <= len(content):  # a number takes two characters at least
        table = np.empty((lines, width), np.int64)
        rows, bad = _read_table(np.frombuffer(content, np.uint8), table)
    if bad:
        line = _line(content, bad)
        what = "two numbers" if width == 2 else "one number" if width == 1 else f"{width} numbers"
        raise FileError(
            f"Expected {what} on each line of {name}_{part}.txt, got {line!r:.40} on line {bad}."
        )
    return table[:rows]


def _line(content: bytes | bytearray, number: int) -> str:
    start = 0
    for _ in range(number - 1):
        start = content.index(b"\n", start) + 1
    return content[start : start + 100].partition(b"\n")[0].decode(errors="replace").strip()


def _floats(name: str, part: str, members: Members) -> Numbers:
    content = members[part].replace(b",", b" ")
    try:
        table = np.loadtxt(BytesIO(content), ndmin=2, comments=None) if content.strip() else None
    except ValueError as error:
        raise FileError(
            f"Expected numbers, equally many on each line, in {name}_{part}.txt, got {error}."
        ) from error
    table = np.empty((0, 1)) if table is None else table
    if not np.isfinite(table).all():
        raise FileError(f"Expected finite numbers in {name}_{part}.txt, got NaN or infinity.")
    return table


@compiled
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
