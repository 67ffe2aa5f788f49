"""Tables: the cells of CSV and TSV files, and labels from them."""

import csv
import io
import math
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpsn._files.limits import open_file
from mpsn.errors import FileError, did_you_mean

GAPS = ("", "na", "n/a", "nan", "none", "null")  # in lower case, as in pandas
MAX_LABEL = 1000  # characters: numpy gives every label of an array the room of the longest


@dataclass(frozen=True)
class Table:
    """The names of columns and the cells, row by row, of a table from a file or data frame."""

    name: str
    """The file, for errors."""
    head: list[str]
    """Names of the columns."""
    rows: list[list[Any]]
    """Cells, as many in each row as there are columns."""

    @classmethod
    def read(cls, path: Path, what: str) -> "Table":
        """Read a CSV or TSV with a header."""
        lines = read_lines(path, what)
        head = lines[0][1] if lines else []
        for number, row in lines:
            if len(row) != len(head):
                raise FileError(
                    f"Expected {len(head)} columns on line {number} of {path}, got {len(row)}."
                )
        return cls(str(path), head, [row for _, row in lines[1:]])

    def position(self, name: str, first: int = 0) -> int:
        """Return the number of a column, which is not one of the ``first``."""
        if name not in self.head[first:]:
            raise FileError(
                f"Expected a column {name!r:.60} in {self.name}, got "
                f"{', '.join(self.head[first:]) or 'none':.200}."
                f"{did_you_mean(name, self.head[first:])}"
            )
        return self.head.index(name, first)

    def column(self, name: str, first: int = 0) -> list[Any]:
        """Return the cells of a column."""
        position = self.position(name, first)
        return [row[position] for row in self.rows]


def read_lines(path: Path, what: str) -> list[tuple[int, list[str]]]:
    """Return number and cells of each line of a CSV or TSV, compressed with gzip or not."""
    with open_file(path, what) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        first = text.readline(1 << 16)
        text.seek(0)
        mark = next((mark for mark in "\t,;" if mark in first), ",")
        reader = csv.reader(text, delimiter=mark, strict=True)
        return [(reader.line_num, row) for row in reader if row]


def read_labels(path: Path, target: str | None) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the targets, and labels by name of graph, as numbers if all of them are.

    The labels of several targets are lists, with None for gaps.
    """
    table = Table.read(path, "a CSV of labels")
    if not table.rows or len(table.head) < 2:
        raise FileError(
            f"Expected a CSV with a header, then a graph and its label on each line, in {path}, "
            f"got {len(table.rows)} such lines."
        )
    choices = table.head[1:]
    if target is None and len(choices) > 1:
        raise FileError(
            f"Expected to know which column of {path} to predict, {', '.join(choices)}; choose it "
            f"with --target (target=...)."
        )
    targets = (choices[0],) if target is None else split_targets(target, choices)
    columns = [table.column(name, first=1) for name in targets]
    graphs: dict[str, None] = {}
    for row in table.rows:
        if row[0] in graphs:
            raise FileError(
                f"Expected each graph once in {path}, got {row[0]!r:.60} again; delete one of the "
                f"lines."
            )
        graphs[row[0]] = None
    if len(columns) == 1:
        for row, label in zip(table.rows, columns[0], strict=True):
            if not label.strip():
                raise FileError(
                    f"Expected a label of {row[0]!r:.60} in {path}, got an empty one; fill it in, "
                    f"or delete the line and its graph."
                )
    return targets, dict(zip(graphs, join_labels(columns), strict=True))


def read_cell_labels(
    path: Path, target: str | None = None, dim: int | None = None
) -> dict[tuple[str, ...], Any]:
    """Read the labels of cells of one complex from a CSV: vertices, then further columns.

    Args:
        path: The file, with a header; the first columns hold the vertices of a cell.
        target: Name of the column of the labels. Defaults to the last.
        dim: Dimension of the cells, which have one more vertex. Defaults to what is before
            ``target``.

    Returns:
        The label of each cell, by its vertices as words; numbers if all are, None for gaps.
    """
    table = Table.read(path, "a CSV of labels of cells")
    column = len(table.head) - 1 if target is None else table.position(target, first=1)
    width = column if dim is None else dim + 1
    if not 1 <= width <= column or not table.rows:
        raise FileError(
            f"Expected a header, then {'' if dim is None else f'{dim + 1} '}vertices of a cell and "
            f"its label on each line of {path}, got columns {', '.join(table.head):.100}; "
            f"--target names the column of the label, and --dim the dimension of the cells."
        )
    cells = [tuple(name.strip() for name in row[:width]) for row in table.rows]
    labels = typed_with_gaps([row[column] for row in table.rows])
    out: dict[tuple[str, ...], Any] = {}
    for cell, label in zip(cells, labels, strict=True):
        check_label(" ".join(cell), label)
        if cell in out:
            raise FileError(f"Expected each cell once in {path}, got {' '.join(cell)} again.")
        out[cell] = label
    return out


def split_targets(target: str | None, columns: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of targets that commas separate, if no column has that very name."""
    if target is None:
        return ()
    words = [target] if target in columns else [word.strip() for word in target.split(",")]
    if len(set(words)) < len(words):
        raise FileError(f"Expected each target once, got {target!r:.100}.")
    return tuple(words)


def join_labels(columns: Sequence[Sequence[Any]]) -> list[Any]:
    """Return a label for each row of a column of words; of several, a list, with None for gaps."""
    if len(columns) == 1:
        return typed(columns[0])
    rows = map(list, zip(*map(typed_with_gaps, columns), strict=True))
    return [row if any(cell is not None for cell in row) else None for row in rows]


def is_gap(cell: Any) -> bool:
    """Return whether a cell of a table is empty."""
    return cell is None or str(cell).strip().lower() in GAPS


def check_label(name: str, label: Any, is_row: bool = False) -> None:
    """Refuse labels that are neither classes nor numbers; those of several targets are lists."""
    if is_row and isinstance(label, list):
        for part in label:
            check_label(name, part)
        return
    right = label is None or isinstance(label, (bool, float, int, str))
    if isinstance(label, str):
        right = bool(label.strip()) and len(label) <= MAX_LABEL
        right = right and not any("\ud800" <= c <= "\udfff" for c in label)
    elif isinstance(label, (int, float)):
        right = math.isfinite(label) if isinstance(label, float) else abs(label) < 1 << 63
    if not right:
        raise FileError(
            f"Expected a word of at most {MAX_LABEL} characters or a finite number as the label of "
            f"{name}, got {label!a:.60}."
        )


def typed(words: Sequence[str]) -> list[Any]:
    """Return labels as integers or floats if all of them are, else as strings."""
    if all(re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", word) for word in words):
        return [int(word) for word in words]
    with suppress(ValueError):
        return [float(word.replace("_", "no number")) for word in words]
    return list(words)


def typed_with_gaps(words: Sequence[Any]) -> list[Any]:
    """Return labels as :func:`typed` does, and None for gaps."""
    labels = iter(typed([word for word in words if not is_gap(word)]))
    return [None if is_gap(word) else next(labels) for word in words]


def one_label(parts: list[Any]) -> Any:
    """Return the only label, or those of several targets; None if there is none."""
    label = with_gaps(parts)
    return None if isinstance(label, list) and label.count(None) == len(label) else label


def with_gaps(parts: list[Any]) -> Any:
    """Return the only label, or those of several targets, None for unknown ones."""
    return parts[0] if len(parts) == 1 else [None if is_gap(part) else part for part in parts]


def choose_columns(width: int, targets: tuple[str, ...], source: str) -> list[int]:
    """Return the numbers of the columns of targets: the only one, or those asked for."""
    if not targets and width == 1:
        return [0]
    wrong = [name for name in targets if not name.isdecimal() or int(name[:9]) >= width]
    if wrong or not targets:
        raise FileError(
            f"Expected the number of one of the {width} targets in {source}, from 0, got "
            f"{wrong[0] if wrong else None}; choose it with --target (target=...)."
        )
    return [int(name) for name in targets]
