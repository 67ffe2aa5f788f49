"""Features: found in the graphs of a fit, and made the same way for other graphs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mpsn.errors import GraphError, did_you_mean
from mpsn.estimators._columns import Column, learn
from mpsn.estimators._given import Notes, Tables

Kind = Literal["number", "category"]
Wanted = str | Sequence[str] | Mapping[str, Kind]

MAX_WIDTH = 1 << 16  # of the features of a cell
MAX_DEGREES = 128  # different degrees up to which they are one-hot encoded
STRUCTURE = ("constant", "degree", "out_degree", "both_ways", "multiplicity", "ring_size")
CELLS = ("vertices", "edges")


def cells(k: int) -> str:
    """Return what the k-cells are called."""
    return CELLS[k] if k < len(CELLS) else f"{k}-cells"


@dataclass(frozen=True)
class Encoding:
    """How cells get their features; plain values only, so that JSON can hold them.

    All attributes are used, see :class:`Column`, and beside them the structure: the degree of a
    vertex, one-hot for up to 128 different ones; out-degrees, and whether edges go both ways, where
    edges have directions; the multiplicity of edges, where there are multiple ones; the sizes of
    rings, one-hot, where they differ. Edges and higher cells have the means of their vertices'
    features, and then their own.

    Attributes:
        columns: How each column of values of the k-cells becomes features, for each k.
        steady: Whether all vertices had the same features in the fit.
        constant: Attributes that were the same everywhere in the fit, and are not used.
        left_out: What else of the data of the fit is not used, and why.
        seen: All attributes in the fit; those that come later are left out.
    """

    columns: tuple[tuple[Column, ...], ...]
    steady: bool = False
    constant: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if max(self.widths) > MAX_WIDTH:
            raise GraphError(f"Expected at most {MAX_WIDTH} features, got {max(self.widths)}.")

    @property
    def widths(self) -> tuple[int, ...]:
        """Numbers of features of the cells of each dimension."""
        own = [sum(column.width for column in columns) for columns in self.columns] or [0]
        return (own[0], *(own[0] + width for width in own[1:]))

    @property
    def names(self) -> list[list[str]]:
        """Names of the features of the cells of each dimension."""
        own = [[name for column in columns for name in column.names] for columns in self.columns]
        more = [[f"{name} of {cells(k)}" for name in names] for k, names in enumerate(own)]
        return [own[0], *(own[0] + names for names in more[1:])]

    @property
    def categories(self) -> list[int]:
        """Positions of the features of vertices that are kinds, and not of the structure."""
        ends = np.cumsum([0, *(column.width for column in self.columns[0])])
        return [
            position
            for column, start, stop in zip(self.columns[0], ends, ends[1:], strict=False)
            if column.kinds and not (column.nearest or column.name in STRUCTURE)
            for position in range(start, stop)
        ]

    @property
    def directed(self) -> bool:
        """Whether directions of edges are used."""
        return any(column.name in ("out_degree", "both_ways") for c in self.columns for column in c)

    def describe(self) -> dict[str, str]:
        """Return descriptions: the features of vertices, edges, ..., and what is left out."""
        lines = {}
        for k, columns in enumerate(self.columns):
            parts = ["the mean over vertices"] * (k > 0) + [str(column) for column in columns]
            lines[cells(k)] = ", ".join(parts)
        if self.constant:
            lines["constant"] = f"{', '.join(self.constant)}; not used"
        if self.left_out:
            lines["left out"] = "\n".join(self.left_out)
        return lines

    def encode(self, given: Tables, counts: Sequence[int], notes: Notes) -> list[Tensor]:
        """Return the features (n_k, F_k) of each dimension, without means over vertices."""
        out = []
        for k, columns in enumerate(self.columns):
            table = given.columns[k] if k < len(given.columns) else {}
            lacking = given.lacking[k] if k < len(given.lacking) else {}
            rows = len(given.edge) if k == 1 else counts[k]
            parts = [np.zeros((rows, 0))]
            for column in columns if rows else ():
                values = table.get(column.name, np.full(rows, None))
                if not column.missing and (column.name not in table or column.name in lacking):
                    there = ", ".join(name for name in table if name not in STRUCTURE)
                    raise GraphError(
                        f"Expected the attribute {column.name!r} of {cells(k)}, as in the fit, in "
                        f"all graphs, got graph {lacking.get(column.name, 0)} without; there are: "
                        f"{there or 'none'}."
                    )
                what = f"{column.name!r} of {cells(k)}"
                parts.append(column.encode(values, what, notes))
            own = (name for name in table if name not in STRUCTURE)
            for what in attributes(k, own) if rows and self.seen else ():
                if what not in self.seen:
                    notes[f"values of {what}", "the fit had no such attribute"] += rows
            x = torch.from_numpy(np.concatenate(parts, axis=1)).float()
            x = x if rows else x.new_zeros(0, sum(column.width for column in columns))
            out.append(_mean(x, given.edge, counts[1], notes) if k == 1 else x)
        if given.one_way and not self.directed:
            notes["edges with a direction", "the features have none"] += given.one_way
        if given.parallel and not any(c.name == "multiplicity" for c in sum(self.columns[1:2], ())):
            notes["multiple edges", "each counts once"] += given.parallel
        return out


def attributes(k: int, table: Iterable[str]) -> tuple[str, ...]:
    """Return what the columns of the k-cells are called."""
    return tuple(f"{name!r} of {cells(k)}" for name in table)


def find_encoding(
    given: Tables, counts: Sequence[int], wanted: Wanted, notes: Notes
) -> tuple[Encoding, list[Tensor]]:
    """Return the encoding for the graphs of a fit, with ``counts`` of cells, and their features.

    ``wanted`` is ``"auto"``, names of attributes, ``"x"``, ``"degree"`` or ``"constant"``, or the
    kinds of some attributes.
    """
    kinds = _asked(wanted, given)
    every = wanted == "auto" or isinstance(wanted, Mapping)
    many = len(np.unique(given.columns[0]["degree"])) > MAX_DEGREES
    adds = {"constant": many, "degree": True, "ring_size": True}
    adds["multiplicity"] = given.parallel > 0
    adds |= dict.fromkeys(("out_degree", "both_ways"), given.one_way > 0)
    columns: list[tuple[Column, ...]] = []
    constant = []
    for k in range(len(counts)):
        own = []
        table = given.columns[k] if k < len(given.columns) else {}
        for name in sorted(table, key=lambda name: (name in STRUCTURE, _base(name))):
            values, what = table[name], f"{name!r} of {cells(k)}"
            asked = name in kinds or _base(name) in kinds
            kind, needed = kinds.get(name, kinds.get(_base(name))), asked
            derived = name in STRUCTURE and values.dtype != object
            if not asked and not (every and (adds[name] if derived else True)):
                continue
            if derived:
                needed = needed or name in ("degree", "constant")
                few = name == "ring_size" or (name == "degree" and not many)
                kind = kind or ("category" if few else "number")
            found = learn(name, values, what, kind, needed)
            if isinstance(found, Column):
                own.append(replace(found, nearest=derived and bool(found.kinds)))
            elif found != "constant":
                notes[f"values of {what}", found] += len(values)
            elif not derived:
                constant.append(what)
        columns.append(tuple(own))
    columns[0] = columns[0] or (Column("constant"),)
    encoding = Encoding(tuple(columns))
    if encoding.directed and given.one_way:
        how = "used for out-degrees and for whether edges go both ways, not edge by edge"
        notes["edges with a direction", how] += given.one_way
    xs = encoding.encode(given, counts, notes)
    steady = bool((xs[0] == xs[0][:1]).all())
    return replace(encoding, steady=steady, constant=tuple(constant), left_out=lines(notes)), xs


def lines(notes: Notes) -> tuple[str, ...]:
    """Return what was left out, and why, in words."""
    return tuple(f"{what} ({n:,}): {why}" for (what, why), n in notes.items())


def _asked(wanted: Wanted, given: Tables) -> dict[str, Kind | None]:
    """Return the names that are asked for, with their kinds."""
    plain = isinstance(wanted, str)
    if not isinstance(wanted, Iterable) or (
        plain and wanted not in ("auto", "x", "degree", "constant")
    ):
        raise GraphError(
            f"Expected features 'auto', 'x', 'degree', 'constant', a list of attributes, or a "
            f"dictionary of their kinds, got {wanted!r}; for one attribute, write [{wanted!r}]."
        )
    names = [] if wanted == "auto" else [wanted] if plain else wanted
    kinds: dict[str, Kind | None] = (
        dict(wanted) if isinstance(wanted, Mapping) else {str(name): None for name in names}
    )
    known = {name for table in given.columns for name in table}
    known |= {_base(name) for name in known}
    for name, kind in kinds.items():
        if kind not in (None, "number", "category"):
            raise GraphError(f"Expected {name!r} as 'number' or 'category', got {kind!r}.")
        if name not in known:
            there = ", ".join(sorted(known - set(STRUCTURE))) or "none"
            raise GraphError(
                f"Expected the attribute {name!r} in the graphs, got none."
                f"{did_you_mean(name, known)} There are: {there}."
            )
    return kinds


def _base(name: str) -> str:
    """Return the name of the matrix that a column is of, or of the attribute itself."""
    matrix, _, number = name.rpartition(".")
    return matrix if number.isdigit() and matrix else name


def _mean(x: Tensor, edge: Tensor, n: int, notes: Notes) -> Tensor:
    """Return the means (n, F) of the rows of each edge."""
    if len(edge) == n and bool((edge == torch.arange(n)).all()):
        return x
    many = torch.bincount(edge, minlength=n).clamp(min=1)
    mean = x.new_zeros(n, x.shape[1]).index_add(0, edge, x) / many[:, None]
    differ = ~torch.isclose(x, mean[edge], rtol=1e-4, atol=1e-5).all(dim=1)
    if odd := len(torch.unique(edge[differ])):
        why = "in both directions, or in parallel; the mean is used"
        notes["edges with several different values", why] += odd
    return mean
