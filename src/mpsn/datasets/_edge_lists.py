"""Edge lists: text with an edge on each line, with or without a header and further columns."""

import ast
import csv
import io
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from mpsn._files.limits import Limit
from mpsn.convert import Graph, find_ends
from mpsn.errors import GraphError, warn

INTEGER = re.compile(r"[+-]?\d{1,18}")
Row = tuple[int, Sequence[str]]  # number of the line, cells
Layout = tuple[tuple[int, int], list[int]]  # columns of the two ends, and further ones


def read_edge_list(file: IO[bytes], limit: Limit) -> Iterator[Graph]:
    """Yield the graph of a file of edges, if it has any line.

    Columns after the two ends become ``edge_attr`` if they are numbers on all lines.
    """
    rows = _rows(file)
    start = list(islice(rows, 2))
    if not start:
        return
    number, first = start[0][0], [cell.strip() for cell in start[0][1]]
    layout = _by_names(first, len(start) > 1) or _guessed(first, start[-1][1])
    ends, more = layout or ((0, 1), list(range(2, len(first))))
    names = [first[i] if layout else f"{i + 1}" for i in more]
    builder = _Builder(names)
    for line, row in chain(start[bool(layout) :], rows):
        cells = [cell.strip() for cell in row] + [""] * (len(first) - len(row))
        rest = [cells[i] for i in more] + cells[max(len(first), 2) :]
        builder.add(line, cells[ends[0]], cells[ends[1]] if len(cells) > 1 else "", rest)
    if layout and ends == (0, 1) and not builder.confirms(first):  # it was an edge
        builder.add(number, first[0], first[1], first[2:])
    if builder.index:
        yield builder.graph()


def _rows(file: IO[bytes]) -> Iterator[Row]:
    """Yield the cells of each line that has any; tabs, commas, semicolons or blanks part them."""
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        yield from _cells(_without_comments(text))


def _cells(lines: Iterator[tuple[int, str, bool]]) -> Iterator[Row]:
    first = next(lines, None)
    if first is None:
        return
    every = chain([first], lines)
    mark = next((mark for mark in "\t,;" if mark in first[1].partition("{")[0]), None)
    seen = [0, True]  # number of the last line read, and whether it has an end

    def watched() -> Iterator[str]:
        for seen[0], line, seen[1] in every:
            yield line

    last: list[str] = []
    widest = 0
    rows = (
        csv.reader(watched(), delimiter=mark, skipinitialspace=True)
        if mark
        else (line.split(None, 2 if "{" in line else -1) for line in watched())
    )
    try:
        for last in rows:
            if any(cell.strip() for cell in last):
                widest = max(widest, len(last))
                if len(last) == 1 and len(last[0].split()) > 1:
                    raise GraphError(f"expected cells parted by {mark!r} on line {seen[0]}")
                yield seen[0], last
    except csv.Error as error:
        raise GraphError(f"line {seen[0]}: {error}") from error
    if len(last) < widest and (not seen[1] or (mark and len(last) == 1)):
        raise GraphError(
            f"line {seen[0]}, the last, is cut off after {len(last)} of {widest} cells"
        )


def _without_comments(text: IO[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield number and content of each line, and whether it ends with a newline."""
    for number, line in enumerate(text, start=1):
        if "\0" in line:
            raise GraphError(f"line {number} is not text")
        content = re.split(r"(?:^|\s)[#%]", line, maxsplit=1)[0]
        if content.strip():
            yield number, content, line[-1] in "\r\n"


def _by_names(cells: Sequence[str], has_rows: bool) -> Layout | None:
    """Return the columns of the two ends and further ones if the names of columns are usual."""
    ends = find_ends(cells)
    if ends is None or not (has_rows or len(cells[ends[0]]) > 1):
        return None
    # pandas writes the numbers of the rows first, without a name
    return ends, [i for i, name in enumerate(cells) if i not in ends and (i or name)]


def _guessed(first: Sequence[str], second: Sequence[str]) -> Layout | None:
    """Return the columns if the first line has words only and the second some numbers."""
    if any(map(_is_number, first)) or not any(_is_number(cell.strip()) for cell in second):
        return None
    skip = int(not first[0])
    if len(first) < skip + 2:
        return None
    return (skip, skip + 1), list(range(skip + 2, len(first)))


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


class _Builder:
    """Collects edges in flat arrays: 16 bytes per edge, 8 per number of it."""

    def __init__(self, names: Sequence[str]) -> None:
        self.index: dict[str, int] = {}
        self.ends = array("q")
        self.columns = {name: array("d") for name in names}
        self.whole = True
        self.left_out: dict[str, None] = {}

    def add(self, number: int, one: str, two: str, rest: Sequence[str]) -> None:
        """Add an edge, or a vertex without edges."""
        if not one or (not two and any(rest)):
            raise GraphError(f"line {number} has no name where a vertex is expected")
        start = self.index.setdefault(one, len(self.index))
        if not two:
            return
        self.ends.extend((start, self.index.setdefault(two, len(self.index))))
        if len(rest) == 1 and rest[0].startswith("{"):
            self._add_dict(number, rest[0])
            return
        for name, word in zip(self.columns, rest, strict=False):
            self._add(name, word)
        for extra in range(len(self.columns), len(rest)):
            self.left_out[f"{extra + 3}"] = None

    def confirms(self, header: Sequence[str]) -> bool:
        """Return whether what came after a presumed header fits it."""
        if self.index.keys() & set(header[:2]):
            return False
        edges = len(self.ends) // 2
        full = any(len(column) == edges for column in self.columns.values())
        usual = _by_names(header, True) is not None
        return usual or full or all(map(INTEGER.fullmatch, self.index))

    def _add_dict(self, number: int, text: str) -> None:
        """Add what ``networkx.write_edgelist`` writes: the attributes of an edge as a dict."""
        try:
            data = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise GraphError(
                f"line {number}: expected attributes as a dict, got {error}"
            ) from error
        if not isinstance(data, dict):
            raise GraphError(f"line {number}: expected attributes as a dict, got {text:.40}")
        if len(self.ends) == 2:
            self.columns = {str(name): array("d") for name in data}
        for name, value in data.items():
            self._add(str(name), repr(value))

    def _add(self, name: str, word: str) -> None:
        column = self.columns.get(name)
        if column is not None and len(column) == len(self.ends) // 2 - 1 and _is_number(word):
            column.append(float(word))
            self.whole = self.whole and INTEGER.fullmatch(word) is not None
        else:
            self.left_out[name] = None

    def graph(self) -> Graph:
        """Return the graph; names that are all integers are in their order, others sorted."""
        names: Sequence[Any] = list(self.index)
        if all(INTEGER.fullmatch(name) for name in names):
            names = [int(name) for name in names]
        labels = tuple(sorted(set(names)))
        position = {name: i for i, name in enumerate(labels)}
        rank = np.fromiter((position[name] for name in names), np.int64, len(names))
        ends = np.frombuffer(self.ends, np.int64) if self.ends else np.empty(0, np.int64)
        edges = torch.from_numpy(np.ascontiguousarray(rank[ends].reshape(-1, 2).T))
        plain = labels == tuple(range(len(labels)))
        attr = self._attributes(edges.shape[1])
        return Graph(edges, len(labels), edge_attr=attr, labels=None if plain else labels)

    def _attributes(self, edges: int) -> Tensor | None:
        full = {name: c for name, c in self.columns.items() if len(c) == edges}
        left = [name for name in {**self.columns, **self.left_out} if name not in full]
        if left and edges:
            warn(
                f"Columns {', '.join(left):.200} of an edge list are not used: they are not "
                f"numbers on all lines.",
            )
        if not full or not edges:
            return None
        table = np.stack([np.frombuffer(column) for column in full.values()], axis=1)
        return torch.from_numpy(table.astype(np.int64 if self.whole else np.float32))
