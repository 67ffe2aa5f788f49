"""Tables: the cells of CSV and TSV files, and labels from them."""

import csv
import io
import math
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mpsn._files.limits import open_file
from mpsn.errors import FileError, did_you_mean

GAPS = ("", "na", "n/a", "nan", "none", "null")  # in lower case, as in pandas
MAX_LABEL = 1000  # characters: numpy gives every label of an array the room of the longest


def read_rows(path: Path, what: str = "a CSV of labels") -> list[list[str]]:
    """Read the cells of a CSV or TSV, compressed with gzip or not."""
    with open_file(path, what) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        first = text.readline(1 << 16)
        text.seek(0)
        mark = next((mark for mark in "\t,;" if mark in first), ",")
        return [row for row in csv.reader(text, delimiter=mark, strict=True) if row]


def read_labels(path: Path, target: str | None) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the targets, and labels by name of graph, as numbers if all of them are.

    The labels of several targets are lists, with None for gaps.
    """
    rows = read_rows(path)
    if len(rows) < 2 or len(rows[0]) < 2:
        raise FileError(
            f"Expected a CSV with a header, then a graph and its label on each line, in {path}, "
            f"got {len(rows)} lines."
        )
    head = rows[0]
    if target is None and len(head) > 2:
        raise FileError(
            f"Expected to know which column of {path} to predict, {', '.join(head[1:])}; choose it "
            f"with --target (target=...)."
        )
    targets = (head[1],) if target is None else split_targets(target, head[1:])
    for name in targets:
        if name not in head[1:]:
            raise FileError(
                f"Expected a column {name!r} in {path}, got {', '.join(head[1:])}."
                f"{did_you_mean(name, head[1:])}"
            )
    out: dict[str, list[str]] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(head):
            raise FileError(
                f"Expected {len(head)} columns on line {number} of {path}, got {len(row)}."
            )
        if row[0] in out:
            raise FileError(
                f"Expected each graph once in {path}, got {row[0]!r:.60} again on line {number}; "
                f"delete one of the lines."
            )
        if len(targets) == 1 and not row[head.index(targets[0], 1)].strip():
            raise FileError(
                f"Expected a label on line {number} of {path}, got an empty one; fill it in, or "
                f"delete the line and its graph."
            )
        out[row[0]] = row
    columns = [[row[head.index(name, 1)] for row in out.values()] for name in targets]
    return targets, dict(zip(out, join_labels(columns), strict=True))


def split_targets(target: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the names of targets that commas separate, if there is none with that very name."""
    words = [target] if target in known else [word.strip() for word in target.split(",")]
    if len(set(words)) < len(words):
        raise FileError(f"Expected each target once, got {target!r:.100}.")
    return tuple(words)


def join_labels(columns: Sequence[Sequence[Any]]) -> list[Any]:
    """Return a label for each row of a column of words; of several, a list, with None for gaps."""
    if len(columns) == 1:
        return typed(columns[0])
    parts = []
    for column in columns:
        found = iter(typed([cell for cell in column if not is_gap(cell)]))
        parts.append([None if is_gap(cell) else next(found) for cell in column])
    rows = map(list, zip(*parts, strict=True))
    return [row if any(cell is not None for cell in row) else None for row in rows]


def is_gap(cell: Any) -> bool:
    """Return whether a cell of a table is empty."""
    return cell is None or str(cell).strip().lower() in GAPS


def check_label(name: str, label: Any, several: bool = False) -> None:
    """Refuse labels that are neither classes nor numbers; those of several targets are lists."""
    if several and isinstance(label, list):
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


def one_label(found: list[Any]) -> Any:
    """Return the only label, or those of several targets; None if there is none."""
    known = with_gaps(found)
    return None if isinstance(known, list) and known.count(None) == len(known) else known


def with_gaps(found: list[Any]) -> Any:
    """Return the only label, or those of several targets, None for unknown ones."""
    return found[0] if len(found) == 1 else [None if is_gap(each) else each for each in found]


def choose_columns(width: int, targets: tuple[str, ...], where: str) -> list[int]:
    """Return the numbers of the columns of targets: the only one, or those asked for."""
    if not targets and width == 1:
        return [0]
    wrong = [each for each in targets if not each.isdecimal() or int(each[:9]) >= width]
    if wrong or not targets:
        raise FileError(
            f"Expected the number of one of the {width} targets in {where}, from 0, got "
            f"{wrong[0] if wrong else None}; choose it with --target (target=...)."
        )
    return [int(each) for each in targets]
