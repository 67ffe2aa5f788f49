"""Tables: one value for the terminal, the report, JSON and the documentation."""

import re
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import isnan, nan
from statistics import fmean, stdev
from typing import Literal, NamedTuple, Self, TypeVar

Kind = Literal["measured", "quoted", "difference"]
K = TypeVar("K", bound=Hashable)


class Cell(str):
    """The text of a cell, and the figure behind it.

    It prints, compares and is written to JSON as its text.

    Attributes:
        value: The figure, rounded as it is shown; NaN if the cell has none.
        spread: Its standard deviation, or its standard error.
        runs: The number of runs, folds or pairs behind it; 0 if unknown.
        kind: Whether it was measured here, is quoted from others, or is a difference of two rows.
        best: Whether it is the best of its column.
    """

    value: float
    spread: float
    runs: int
    kind: Kind
    best: bool

    def __new__(
        cls,
        text: str,
        value: float = nan,
        spread: float = nan,
        runs: int = 0,
        kind: Kind = "measured",
        best: bool = False,
    ) -> Self:
        """Make a cell."""
        cell = super().__new__(cls, text)
        cell.value, cell.spread, cell.runs, cell.kind, cell.best = value, spread, runs, kind, best
        return cell


def plus_minus(
    value: float,
    spread: float = nan,
    digits: int = 1,
    runs: int = 1,
    kind: Kind = "measured",
) -> Cell:
    """Return a figure ± its spread, or the figure alone if that is not a number.

    Example:
        >>> plus_minus(71.84, 6.1), plus_minus(2, 0.5, kind="difference"), plus_minus(2 / 3)
        ('71.8 ± 6.1', '+2.0 ± 0.5', '0.7')
    """
    text = f"{value:{'+' * (kind == 'difference')}.{digits}f}"
    shown = text if isnan(spread) else f"{text} ± {spread:.{digits}f}"
    return Cell(shown, float(text), spread, runs, kind)


def score(values: Sequence[float], digits: int = 1) -> Cell:
    """Return the mean of runs ± their sample standard deviation; a single run as it is."""
    spread = stdev(values) if len(values) > 1 else nan
    return plus_minus(fmean(values), spread, digits, len(values))


def quoted(text: str) -> Cell:
    """Return the figure of others as they print it, such as 54.3 ± 3.3 or > 3 days."""
    value, spread = [
        float(part) if re.fullmatch(r"[-+]?[\d.]+", part) else nan
        for part in map(str.strip, f"{text}±".split("±")[:2])
    ]
    return Cell(text, value, spread, kind="quoted")


def difference(ours: Mapping[K, float], theirs: Mapping[K, float], digits: int = 1) -> Cell:
    """Return the mean difference ± its standard error, paired by fold or seed.

    Empty if fewer than two folds or seeds are in both.

    Example:
        >>> difference({0: 71.0, 1: 74.0, 2: 70.0}, {0: 70.0, 1: 72.0, 3: 9.0})
        '+1.5 ± 0.5'
    """
    apart = [ours[key] - theirs[key] for key in ours if key in theirs]
    if len(apart) < 2:
        return Cell("", kind="difference")
    error = stdev(apart) / len(apart) ** 0.5
    return plus_minus(fmean(apart), error, digits, len(apart), "difference")


class Group(NamedTuple):
    """The rows of a table that belong together, such as those of a data set, and their notes."""

    name: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: list[str]


@dataclass(frozen=True)
class Table:
    """A table to print, or to put into a report or a document.

    Attributes:
        title: What it shows.
        columns: Headings.
        rows: Cells: text, or figures that know where they come from.
        notes: What a reader has to know; one that begins with a group and a colon belongs to it.
        highest: Columns whose highest figure is the best, to be marked.
        lowest: Columns whose lowest figure is the best.
        grouped: Whether the first column is that of the groups, such as data sets.
    """

    title: str
    columns: list[str]
    rows: Sequence[Sequence[str]]
    notes: list[str] = field(default_factory=list)
    highest: Sequence[str] = ()
    lowest: Sequence[str] = ()
    grouped: bool = False

    @property
    def remarks(self) -> list[str]:
        """The notes that belong to no group."""
        groups = tuple(f"{row[0]}: " for row in self.rows if self.grouped)
        return [note for note in self.notes if not note.startswith(groups)]

    def groups(self) -> list[Group]:
        """Return the rows by group, the best figures marked, without columns that are empty."""
        if not self.rows:
            return [Group("", self.columns, [], [])]
        first = int(self.grouped)
        found: dict[str, list[list[Cell]]] = {}
        for row in self.rows:
            line = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row[first:]]
            found.setdefault(row[0] if self.grouped else "", []).append(line)
        groups = []
        for name, rows in found.items():
            columns = {
                column: self._marked(column, list(cells))
                for column, cells in zip(self.columns[first:], zip(*rows, strict=True), strict=True)
                if any(cells)
            }
            shown = [list(row) for row in zip(*columns.values(), strict=True)]
            about = [n[len(name) + 2 :] for n in self.notes if n.startswith(f"{name}: ")]
            groups.append(Group(name, list(columns), shown, [n[0].upper() + n[1:] for n in about]))
        return groups

    def _marked(self, column: str, cells: list[Cell]) -> list[Cell]:
        """Mark the best figures of a column, unless all are equal."""
        values = {c.value for c in cells if c.kind != "difference" and not isnan(c.value)}
        if column not in {*self.highest, *self.lowest} or len(values) < 2:
            return cells
        best = max(values) if column in self.highest else min(values)
        marked = []
        for cell in map(copy, cells):
            cell.best = cell.value == best and cell.kind != "difference"
            marked.append(cell)
        return marked

    def markdown(self) -> str:
        """Return the table as Markdown: the best figures in bold, quoted ones in italics."""
        parts = [f"**{self.title}**", *self.remarks]
        for group in self.groups():
            rows = [[_markdown(cell) for cell in row] for row in group.rows]
            lines = [group.columns, ["---"] * len(group.columns), *rows]
            parts += [f"**{group.name}**"] if group.name else []
            parts += ["\n".join("| " + " | ".join(line) + " |" for line in lines), *group.notes]
        return "\n\n".join(parts)


def _markdown(cell: Cell) -> str:
    mark = "**" * cell.best + "*" * (cell.kind == "quoted" and cell != "")
    return mark + cell.replace("|", "\\|") + mark
