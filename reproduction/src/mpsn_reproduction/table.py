"""Tables: one value for the terminal, the report, JSON and the documentation."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
DIFFERENCE = 'A row "A minus B" is a mean difference ± its standard error, paired by fold or seed.'


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

    value: float = nan
    spread: float = nan
    runs: int = 0
    kind: Literal["measured", "quoted", "difference"] = "measured"
    best: bool = False

    def having(self, **attributes: Any) -> "Cell":
        """Return the same text with other attributes."""
        cell = Cell(self)
        vars(cell).update(vars(self) | attributes)
        return cell


def plus_minus(
    value: float, spread: float = nan, digits: int = 1, runs: int = 1, sign: str = ""
) -> Cell:
    """Return a figure ± its spread, or the figure alone if that is not a number.

    Example:
        >>> plus_minus(71.84, 6.1), plus_minus(2, 0.5, sign="+"), plus_minus(-0.04, sign="+")
        ('71.8 ± 6.1', '+2.0 ± 0.5', '+0.0')
    """
    text = f"{value:{sign}z.{digits}f}"  # z: no minus before 0.0
    shown = text if isnan(spread) else f"{text} ± {spread:.{digits}f}"
    return Cell(shown).having(value=float(text), spread=spread, runs=runs)


def score(values: Sequence[float], digits: int = 1) -> Cell:
    """Return the mean of runs ± their sample standard deviation; a single run as it is."""
    spread = stdev(values) if len(values) > 1 else nan
    return plus_minus(fmean(values), spread, digits, len(values))


def quoted(text: str) -> Cell:
    """Return the figure of others as they print it, such as 54.3 ± 3.3 or > 3 days."""
    match = re.fullmatch(r"(-?[\d.]+)(?: ± ([\d.]+))?", text)
    value, spread = map(float, match.groups("nan")) if match else (nan, nan)
    return Cell(text).having(value=value, spread=spread, kind="quoted")


def difference(ours: Mapping[K, float], theirs: Mapping[K, float], digits: int = 1) -> Cell:
    """Return the mean difference ± its standard error, paired by fold or seed.

    Empty if fewer than two folds or seeds are in both.

    Example:
        >>> difference({0: 71.0, 1: 74.0, 2: 70.0}, {0: 70.0, 1: 72.0, 3: 9.0})
        '+1.5 ± 0.5'
    """
    apart = [ours[key] - theirs[key] for key in ours if key in theirs]
    if len(apart) < 2:
        return Cell()
    error = stdev(apart) / len(apart) ** 0.5
    return plus_minus(fmean(apart), error, digits, len(apart), "+").having(kind="difference")


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
        """The notes that belong to no group, and one on differences if there are any."""
        groups = tuple(f"{row[0]}: " for row in self.rows if self.grouped)
        cells = (cell for row in self.rows for cell in row if isinstance(cell, Cell))
        apart = [DIFFERENCE] * any(cell.kind == "difference" for cell in cells)
        return [*(note for note in self.notes if not note.startswith(groups)), *apart]

    def groups(self) -> list[Group]:
        """Return the rows by group, the best figures marked, without columns that are empty."""
        first = int(self.grouped)
        by_group: dict[str, list[Sequence[str]]] = {}
        for row in self.rows:
            by_group.setdefault(row[0] if self.grouped else "", []).append(row[first:])
        groups = []
        for name, rows in by_group.items():
            columns = {
                column: self._marked(column, cells)
                for column, cells in zip(self.columns[first:], zip(*rows, strict=True), strict=True)
                if any(cells)
            }
            shown = [list(row) for row in zip(*columns.values(), strict=True)]
            about = [n[len(name) + 2 :] for n in self.notes if n.startswith(f"{name}: ")]
            groups.append(Group(name, list(columns), shown, [n[0].upper() + n[1:] for n in about]))
        return groups or [Group("", self.columns, [], [])]

    def _marked(self, column: str, texts: Sequence[str]) -> list[Cell]:
        """Mark the best figures of a column, unless all are equal."""
        cells = [text if isinstance(text, Cell) else Cell(text) for text in texts]
        values = {c.value for c in cells if c.kind != "difference" and not isnan(c.value)}
        best = [max(values)] if column in self.highest and len(values) > 1 else []
        best += [min(values)] if column in self.lowest and len(values) > 1 else []
        return [c.having(best=c.kind != "difference" and c.value in best) for c in cells]

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
