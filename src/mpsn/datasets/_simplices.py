"""Complexes from files: lists of simplices in text or JSON, and attributes of cells as CSV."""

import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpsn._files.limits import MAX_JSON, MAX_PARSED, open_file
from mpsn.complexes import SimplicialComplex
from mpsn.complexes.internal import named_complex
from mpsn.datasets._edge_lists import INTEGER, _without_comments
from mpsn.datasets._tables import Table, is_gap
from mpsn.errors import ComplexError, FileError, MPSNError, warn

Name = str | int


def read_complex(
    path: str | os.PathLike[str],
    attributes: Iterable[str | os.PathLike[str]] = (),
    *,
    max_dim: int | None = None,
) -> SimplicialComplex:
    r"""Read a simplicial complex: a list of simplices, with all their faces.

    =================== ========================================================================
    ``.txt .simplices`` one simplex per line: names of vertices, separated by blanks or commas;
                        ``#`` and ``%`` start comments
    ``.json``           a list of lists of names; or ``{"simplices": [[...], ...], "attributes":
                        [{"vertices": [...], NAME: NUMBER, ...}, ...]}``
    ``.gz``             after any of these: compressed
    =================== ========================================================================

    Names other than 0, 1, ... become ``vertex_labels``, in sorted order.

    Args:
        path: The file.
        attributes: CSV files with a header; the first columns hold the vertices of a cell (as many
            as form a simplex on every line), the others its attributes. Numbers become the features
            ``x`` of that dimension. Cells without a number get the mean of the others, and words
            are left out, both with a warning :class:`mpsn.errors.LeftOut`.
        max_dim: Largest dimension; larger simplices are replaced by their faces. Defaults to none.

    Example:
        >>> _ = (tmp_path / "K.txt").write_text("ann bob cat\ncat dan\n")
        >>> _ = (tmp_path / "x.csv").write_text("who,age\nann,31\nbob,25\ncat,40\ndan,18\n")
        >>> K = mpsn.datasets.read_complex(tmp_path / "K.txt", [tmp_path / "x.csv"])
        >>> K, K.x[0].T
        (SimplicialComplex(dim=2, counts=(4, 4, 1), features=(1, None, None)),
         tensor([[31, 25, 40, 18]]))
    """
    path = Path(path)
    most = MAX_JSON if _suffix(path) == ".json" else MAX_PARSED
    with (
        open_file(path, "a list of simplices", most) as file,
        io.TextIOWrapper(file, "utf-8-sig") as text,
    ):
        is_json = most == MAX_JSON
        rows, table = _json(json.loads(text.read())) if is_json else (_lines(text), [])
        K = named_complex(rows, max_dim)
    collected = _Attributes(K, max_dim)
    for cell, values in table:
        collected.add(cell, values, path)
    for source in map(Path, attributes):
        for vertices, values in _csv(source, collected.cells):
            collected.add(vertices, values, source)
    x = collected.features()
    return K.replace(x=x) if any(part is not None for part in x) else K


def is_simplices(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a list of simplices, by its name, or by how its JSON begins."""
    path = Path(path)
    if _suffix(path) != ".json":
        return _suffix(path) == ".simplices"
    try:
        with open_file(path, "a list of simplices") as file:
            start = file.read(1000).decode("utf-8", "ignore")
    except MPSNError:
        return False
    return re.match(r'\s*(\[\s*\[|\{.*"simplices"\s*:)', start, re.DOTALL) is not None


def vertex_columns(rows: Sequence[Sequence[str]], cells: Any) -> int:
    """Return how many of the first cells of each row name a simplex, at least one fewer than all.

    ``cells`` holds the sets of names, as words, of all simplices.
    """
    for width in range(min(map(len, rows), default=1) - 1, 0, -1):
        if all(frozenset(row[:width]) in cells and len({*row[:width]}) == width for row in rows):
            return width
    return 0


def _suffix(path: Path) -> str:
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def _lines(text: IO[str]) -> Iterator[Sequence[Name]]:
    """Yield the names on each line; all of them are integers if they look so."""
    numbers = all(INTEGER.fullmatch(word) for row in _words(text) for word in row)
    text.seek(0)
    yield from ([int(word) for word in row] for row in _words(text)) if numbers else _words(text)


def _words(text: IO[str]) -> Iterator[list[str]]:
    for _, line, _ in _without_comments(text):
        if row := [word for word in re.split(r"[\s,;]+", line) if word]:
            yield row


def _json(content: Any) -> tuple[Iterable[Sequence[Name]], list[tuple[list[Name], dict[str, Any]]]]:
    simplices = content.get("simplices") if isinstance(content, dict) else content
    table = content.get("attributes", []) if isinstance(content, dict) else []
    rows: Any = simplices if isinstance(simplices, list) else [None]
    right = isinstance(table, list) and all(
        isinstance(row, dict) and _is_simplex(row.get("vertices")) for row in table
    )
    if not right or not all(map(_is_simplex, rows)):
        raise ComplexError(
            'expected [[...], ...], or {"simplices": [[...], ...], "attributes": [{"vertices": '
            "[...], ...}, ...]}, with words or integers as names."
        )
    return rows, [
        (row["vertices"], {name: v for name, v in row.items() if name != "vertices"})
        for row in table
    ]


def _is_simplex(row: object) -> bool:
    return isinstance(row, list) and len(row) > 0 and all(type(v) in (str, int) for v in row)


def _csv(path: Path, cells: Any) -> Iterable[tuple[Sequence[Name], dict[str, Any]]]:
    table = Table.read(path, "a CSV of attributes")
    rows = [[cell.strip() for cell in row] for row in table.rows]
    width, head = vertex_columns(rows, cells), table.head
    if not width or len({*head[width:]}) != len(head) - width:
        raise FileError(
            f"Expected a header, then the vertices of a cell of the complex and its attributes on "
            f"each line of {path}, got columns {', '.join(head):.100}."
        )
    for row in rows:
        yield row[:width], dict(zip(head[width:], row[width:], strict=True))


class _Attributes:
    """Attributes of the cells of a complex by name, NaN where there is none."""

    def __init__(self, K: SimplicialComplex, max_dim: int | None) -> None:
        self.K, self.max_dim = K, max_dim
        self.columns: list[dict[str, NDArray[np.float64]]] = [{} for _ in range(K.dim + 1)]
        self.left_out: dict[str, None] = {}

    @cached_property
    def cells(self) -> dict[frozenset[str], tuple[int, int]]:
        """Dimension and number of each simplex, by the names of its vertices."""
        names = [str(name) for name in self.K.vertex_labels or range(self.K.num_nodes)]
        return {
            frozenset(names[v] for v in row): (k, i)
            for k in range(self.K.dim + 1)
            for i, row in enumerate(self.K.simplices(k).tolist())
        }

    def add(self, vertices: Sequence[Name], values: dict[str, Any], source: Path) -> None:
        """Note the attributes of one cell."""
        cell = self.cells.get(frozenset(map(str, vertices)))
        if cell is None:
            if self.max_dim is not None and len(vertices) > self.max_dim + 1:
                return
            raise FileError(f"Expected cells of the complex in {source}, got {vertices!r:.60}.")
        k, i = cell
        for name, value in values.items():
            column = self.columns[k].setdefault(name, np.full(self.K.count(k), math.nan))
            if is_gap(value):
                continue
            try:
                column[i] = float(value)
            except (TypeError, ValueError, OverflowError):
                self.left_out[name] = None

    def features(self) -> list[torch.Tensor | None]:
        """Return the features (n_k, F) of each dimension, None for none."""
        if self.left_out:
            warn(
                f"Attributes {', '.join(self.left_out):.200} of cells are not used: they are not "
                f"numbers."
            )
        return [self._features(k) for k in range(len(self.columns))]

    def _features(self, k: int) -> torch.Tensor | None:
        """Return the features of the k-cells: integers if all of them are."""
        columns = {n: c for n, c in self.columns[k].items() if n not in self.left_out}
        if not columns:
            return None
        table = np.stack(list(columns.values()), axis=1)
        if not np.isfinite(table[~np.isnan(table)]).all():
            raise FileError(f"Expected finite attributes of cells of dimension {k}, got infinity.")
        for name, column in zip(columns, table.T, strict=True):
            if lacking := int(np.isnan(column).sum()):
                warn(
                    f"Cells of dimension {k} without {name!r:.40} ({lacking:,}): the mean of the "
                    f"others is used."
                )
                column[np.isnan(column)] = np.nanmean(column) if lacking < len(column) else 0.0
        whole = bool((np.abs(table) < 1 << 53).all() and (table == np.round(table)).all())
        return torch.from_numpy(table.astype(np.int64 if whole else np.float32))
