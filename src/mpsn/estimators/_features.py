"""Vertex features: found in the graphs of a fit, and made the same way for other graphs."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.errors import GraphError

MAX_KINDS = 64  # different values up to which words and integers are one-hot encoded
MAX_DEGREES = 128  # different degrees up to which they are one-hot encoded

Source = Literal["x", "attributes", "degree", "constant"]


class Vertices(NamedTuple):
    """The features (n, F) of a graph's vertices, and the attributes that all of them have."""

    x: Tensor | None = None
    attributes: dict[str, list[Any]] = {}  # noqa: RUF012


@dataclass(frozen=True)
class Column:
    """How one column becomes features: one-hot over kinds, or, without any, as a number.

    Attributes:
        name: Name of the attribute, or number of the column of x.
        kinds: Values with a feature of their own; for others all features are 0.
        mean: What is subtracted from a number.
        scale: What it is then divided by.
    """

    name: str
    kinds: tuple[bool | int | str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0

    @property
    def width(self) -> int:
        """Number of features."""
        return max(1, len(self.kinds))


@dataclass(frozen=True)
class FeatureRule:
    """Where vertex features come from; plain values only, so that JSON can hold them.

    The source defaults to the features ``x`` that all graphs have (PyG, complexes, TU labels); else
    the attributes that all vertices of all graphs have (networkx, GraphML, JSON); else the degree,
    one-hot; else, with more than 128 different degrees, the constant 1. Integers and words with at
    most 64 different values are one-hot encoded; other numbers are standardized, unless they are
    all 0 or 1; words with more values are taken for names and left out.

    Attributes:
        source: ``"x"``, ``"attributes"``, ``"degree"`` or ``"constant"``.
        columns: How each column of x, or attribute, becomes features.
        degrees: Degrees with a feature of their own; others count as the nearest of them.
        left_out: Attributes that are not used.
    """

    source: Source
    columns: tuple[Column, ...] = ()
    degrees: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of features of a vertex."""
        if self.source in ("x", "attributes"):
            return sum(column.width for column in self.columns)
        return len(self.degrees) if self.source == "degree" else 1

    @property
    def steady(self) -> bool:
        """Whether all vertices have the same features."""
        if self.source in ("x", "attributes"):
            return all(len(column.kinds) == 1 for column in self.columns)
        return self.source == "constant" or len(self.degrees) == 1

    @property
    def names(self) -> list[str]:
        """Name of each feature."""
        if self.source == "constant":
            return ["constant"]
        if self.source == "degree":
            return [f"degree {degree}" for degree in self.degrees]
        return [
            name
            for column in self.columns
            for name in [f"{column.name} = {kind}" for kind in column.kinds] or [column.name]
        ]

    def describe(self) -> str:
        """Return a description of the features."""
        if self.source == "constant":
            return "the constant 1"
        if self.source == "degree":
            return f"the degree, one-hot over the {len(self.degrees)} that occur"
        where = "x" if self.source == "x" else "attributes"
        if self.source == "x" and not any(column.kinds for column in self.columns):
            return f"x, {self.width} numbers"
        parts = [
            f"{c.name} ({f'one-hot, {len(c.kinds)} kinds' if c.kinds else 'a number'})"
            for c in self.columns
        ]
        omitted = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"{where}: {', '.join(parts)}{omitted}"

    def apply(self, K: SimplicialComplex, vertices: Sequence[Vertices]) -> Tensor:
        """Return the features (n_0, width) of the vertices of a union of graphs."""
        if self.source == "constant":
            return torch.ones(K.num_nodes, 1)
        if self.source == "degree":
            degree = _degrees(K)
            known = torch.tensor(self.degrees)
            return torch.eye(len(known))[(degree[:, None] - known).abs().argmin(dim=1)]
        if self.source == "x":
            x = _stack(vertices)
            if x.shape[1] != len(self.columns):
                raise GraphError(
                    f"Expected vertex features x of width {len(self.columns)}, as in the fit, got "
                    f"{x.shape[1]}."
                )
            values: list[Any] = list(x.T)
        else:
            values = [_gather(vertices, column.name) for column in self.columns]
        parts = [_encode(c, v) for c, v in zip(self.columns, values, strict=True)]
        return torch.cat(parts, dim=1) if parts else torch.zeros(K.num_nodes, 0)


def find_rule(
    K: SimplicialComplex, vertices: Sequence[Vertices], wanted: str | Sequence[str]
) -> FeatureRule:
    """Return the rule for the union of the graphs of a fit.

    ``wanted`` is ``"auto"``, ``"x"``, ``"degree"``, ``"constant"``, or names of attributes.
    """
    if not isinstance(wanted, str):
        columns = [_learn(str(name), _gather(vertices, str(name)), True) for name in wanted]
        return FeatureRule("attributes", tuple(c for c in columns if c is not None))
    if wanted not in ("auto", "x", "degree", "constant"):
        raise GraphError(
            f"Expected features 'auto', 'x', 'degree', 'constant' or a list of vertex attributes, "
            f"got {wanted!r}; for one attribute, write [{wanted!r}]."
        )
    given = vertices and all(v.x is not None and v.x.shape[1] for v in vertices)
    if wanted == "x" or (wanted == "auto" and given):
        x = _stack(vertices)
        columns = [_learn(str(i), column, True) for i, column in enumerate(x.T)]
        return FeatureRule("x", tuple(c for c in columns if c is not None))
    if wanted == "auto" and (rule := _attributes(vertices)).columns:
        return rule
    if wanted in ("auto", "degree"):
        degrees = torch.unique(_degrees(K)).tolist()
        if wanted == "degree" or 0 < len(degrees) <= MAX_DEGREES:
            return FeatureRule("degree", degrees=tuple(degrees))
    return FeatureRule("constant")


def _attributes(vertices: Sequence[Vertices]) -> FeatureRule:
    names = Counter(name for v in vertices for name in v.attributes)
    common = sorted(name for name, count in names.items() if count == len(vertices))
    found = {name: _learn(name, _gather(vertices, name), False) for name in common}
    return FeatureRule(
        "attributes",
        tuple(column for column in found.values() if column is not None),
        left_out=tuple(name for name, column in found.items() if column is None),
    )


def _degrees(K: SimplicialComplex) -> Tensor:
    return torch.bincount(K.faces(1).reshape(-1).cpu(), minlength=K.num_nodes)


def _stack(vertices: Sequence[Vertices]) -> Tensor:
    rows = [v.x for v in vertices if v.x is not None]
    if len(rows) < len(vertices) or len({row.shape[1] for row in rows}) > 1:
        raise GraphError(
            "Expected vertex features x of one width in all graphs, got some without x or of other "
            "widths; use features='degree', or give x to all."
        )
    return torch.cat([row.cpu() for row in rows]) if rows else torch.zeros(0, 0)


def _gather(vertices: Sequence[Vertices], name: str) -> list[Any]:
    values = []
    for i, v in enumerate(vertices):
        if name not in v.attributes:
            there = ", ".join(v.attributes) or "none"
            raise GraphError(
                f"Expected the attribute {name!r} on all vertices, as in the fit, got graph {i} "
                f"where not all have it; those that all have: {there}."
            )
        values += v.attributes[name]
    return values


def _learn(name: str, values: Any, needed: bool) -> Column | None:
    """Return how a column becomes features; None for one that is of no use."""
    if isinstance(values, Tensor) and values.is_floating_point():
        return _number(name, values.double())
    plain = values.tolist() if isinstance(values, Tensor) else values
    if all(isinstance(value, (str, int)) for value in plain):
        kinds = sorted(set(plain), key=lambda kind: (isinstance(kind, str), kind))
        if len(kinds) <= MAX_KINDS:
            return Column(name, tuple(kinds))
    if all(isinstance(value, (int, float)) and math.isfinite(value) for value in plain):
        return _number(name, torch.tensor(plain, dtype=torch.float64))
    if needed:
        raise GraphError(
            f"Expected numbers, or at most {MAX_KINDS} different words, in the vertex attribute "
            f"{name!r}, got {plain[0]!r:.40} and others."
        )
    return None


def _number(name: str, values: Tensor) -> Column:
    if len(values) == 0 or bool(((values == 0) | (values == 1)).all()):
        return Column(name)
    scale = float(values.std(correction=0))
    return Column(name, mean=float(values.mean()), scale=scale if scale > 0 else 1.0)


def _encode(column: Column, values: Any) -> Tensor:
    if not column.kinds:
        try:
            numbers = torch.as_tensor(values, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise GraphError(
                f"Expected numbers in the vertex attribute {column.name!r}, as in the fit, got "
                f"{error}."
            ) from error
        if not bool(torch.isfinite(numbers).all()):
            raise GraphError(f"Expected finite numbers in {column.name!r}, got NaN or infinity.")
        return ((numbers - column.mean) / column.scale).float()[:, None]
    number = {kind: i for i, kind in enumerate(column.kinds)}
    plain = values.tolist() if isinstance(values, Tensor) else values
    try:
        at = torch.tensor([number.get(value, len(number)) for value in plain], dtype=torch.int64)
    except TypeError as error:
        raise GraphError(f"Expected words or numbers in {column.name!r}, got {error}.") from error
    return torch.eye(len(number) + 1, len(number))[at]
