"""Known and unknown targets of cells, and cells by their names."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpsn.complexes.complex import Complex
from mpsn.errors import GraphError
from mpsn.estimators._targets import as_targets

Cell = tuple[Hashable, ...]


def cell_names(K: Complex, dim: int, names: Sequence[Hashable] | None) -> list[Cell]:
    """Return the cells of a dimension as tuples of names of vertices."""
    vertex, ptr = (part.tolist() for part in K.cells(dim))
    words = vertex if names is None else [names[v] for v in vertex]
    return [tuple(words[start:end]) for start, end in pairwise(ptr)]


def find_cell(cells: Sequence[Cell], wanted: Sequence[Any]) -> list[int]:
    """Return the positions of cells, given by their vertices in any order."""
    number: dict[frozenset[Hashable], int] = {}
    for i, cell in enumerate(cells):
        if number.setdefault(frozenset(cell), i) != i:
            raise GraphError(f"Expected cells of different vertices, got {cell} twice.")
    out = []
    for cell in wanted:
        listed = isinstance(cell, (tuple, list, set, frozenset))
        position = number.get(frozenset(cell)) if listed else None
        if position is None and isinstance(cell, Hashable):  # a vertex, by its name alone
            position = number.get(frozenset([cell]))
        if position is None:
            raise GraphError(
                f"Expected cells by their vertices, such as {cells[0] if cells else 'none'}, got "
                f"{cell!r:.60}, which the complex does not have."
            )
        out.append(position)
    return out


def targets_of_cells(y: Any, n: int, dim: int, cells: Any) -> NDArray[Any]:
    """Return the targets of the ``n`` cells of a complex, (n,) or (n, T).

    ``y`` is one for each cell, or a mapping from cells, whose names the function ``cells`` returns;
    those that are not in it are None.
    """
    if isinstance(y, Mapping):
        values = np.full(n, None, dtype=object)
        places: dict[int, Any] = {}
        for cell, position in zip(y, find_cell(cells(), list(y)), strict=True):
            if (first := places.setdefault(position, cell)) is not cell:
                raise GraphError(
                    f"Expected each cell once in y, got {first!r:.60} and {cell!r:.60}."
                )
            values[position] = y[cell]
        return values
    rows = as_targets(y)
    if rows.dtype.kind == "U" and not isinstance(y, np.ndarray):  # NaN would be a word
        rows = np.array(y, dtype=object)
    if rows.ndim not in (1, 2) or len(rows) != n:
        raise GraphError(
            f"Expected targets y of the {n} cells of dimension {dim}, one each, got shape "
            f"{rows.shape}; unknown ones are -1 or NaN."
        )
    return rows


def known(y: NDArray[Any], numbers: bool) -> NDArray[np.bool_]:
    """Return which targets are known: not None, NaN or, of classes, -1."""
    plain: Any = y if y.ndim == 2 else y[:, None]  # (n, T)
    gaps: Any = np.zeros(plain.shape, dtype=bool)
    if y.dtype.kind in "fO":
        gaps |= (plain == None) | (plain != plain)  # noqa: E711
    if not numbers and y.dtype.kind in "iufO":
        gaps |= plain == -1
    if (gaps.any(axis=1) != gaps.all(axis=1)).any():
        raise GraphError(
            "Expected targets y that are known or unknown as a whole, got rows with some numbers "
            "only; fit one model for each column."
        )
    whole: NDArray[np.bool_] = ~gaps.any(axis=1)
    return whole
