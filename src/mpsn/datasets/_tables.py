"""Tables: the cells of CSV and TSV files, and labels from them."""

import csv
import io
import math
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from mpsn.datasets._files import MAX_PARSED, check_file, open_file
from mpsn.errors import UNREADABLE, FileError, TooLargeError, did_you_mean

MAX_LABEL = 1000  # characters: numpy gives every label of an array the room of the longest


def read_rows(path: Path, what: str = "a CSV of labels") -> list[list[str]]:
    """Read the cells of a CSV or TSV, compressed with gzip or not."""
    check_file(path, MAX_PARSED, what)
    try:
        with io.TextIOWrapper(open_file(path, MAX_PARSED), "utf-8-sig", newline="") as file:
            first = file.readline(1 << 16)
            file.seek(0)
            mark = next((mark for mark in "\t,;" if mark in first), ",")
            return [row for row in csv.reader(file, delimiter=mark, strict=True) if row]
    except TooLargeError:
        raise
    except (*UNREADABLE, csv.Error) as error:
        raise FileError(f"Expected {what} at {path}, got {error}.") from error


def read_labels(path: Path, target: str | None) -> dict[str, Any]:
    """Return labels by name of graph, as numbers if all of them are."""
    rows = read_rows(path)
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
    if target is None and len(head) > 2:
        raise FileError(
            f"Expected to know which column of {path} to predict, {', '.join(head[1:])}; choose it "
            f"with --target (target=...)."
        )
    column = 1 if target is None else head.index(target, 1)
    out: dict[str, str] = {}
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
        if not row[column].strip():
            raise FileError(
                f"Expected a label on line {number} of {path}, got an empty one; fill it in, or "
                f"delete the line and its graph."
            )
        out[row[0]] = row[column]
    return dict(zip(out, typed(list(out.values())), strict=True))


def check_label(name: str, label: Any) -> None:
    """Refuse labels that are neither classes nor numbers."""
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


def typed(words: list[str]) -> list[Any]:
    """Return labels as integers or floats if all of them are, else as strings."""
    if all(re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", word) for word in words):
        return [int(word) for word in words]
    with suppress(ValueError):
        return [float(word.replace("_", "no number")) for word in words]
    return list(words)
