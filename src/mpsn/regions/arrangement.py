r"""Exact counts of the regions of hyperplane arrangements.

The regions of a central arrangement number :math:`\sum_k w_k`, where w_k are the absolute
coefficients of its characteristic polynomial (Zaslavsky). Taking the hyperplanes in one after
another, each new one, h, cuts as many regions in two as the earlier ones leave in h, so

.. math:: w(A) = 1 + t \sum_i w(\{h_1, ..., h_{i-1}\}^{h_i}),

with the restriction to h_i living in one dimension less. Hyperplanes that coincide there are
merged, and two dimensions need no recursion. The work follows the number of regions, not 2^M.
"""

import warnings
from collections.abc import Callable
from fractions import Fraction
from math import comb, gcd, lcm
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from mpsn.errors import MPSNError, TooLargeError

TOLERANCE = 1e-10
MAX_STEPS = 10**8
SECONDS_PER_STEP = 4e-5

Rows = Any  # float64 array (m, n), or list of m integer tuples


class CloseCallWarning(UserWarning):
    """A decision between equal and different rows was near the tolerance."""


def count(W: ArrayLike, b: ArrayLike | None = None, *, exact: bool = False) -> int:
    r"""Return the number of linear regions of x ↦ relu(W x + b), exactly.

    Lemma "whitney" of the paper, computed in time that follows the number of regions. Zero rows
    cut nothing; parallel rows cut once.

    Args:
        W: Normals of the hyperplanes, (M, N).
        b: Biases (M,); none for a central arrangement.
        exact: Compute with rational numbers: every float is taken for the fraction it is. In
            floating point, rows (of length one) that differ by less than 1e-10 are taken for equal,
            and a :class:`CloseCallWarning` tells when a difference came near that.

    Example:
        >>> mpsn.regions.count([[1, 0], [0, 1], [1, 1]])
        6
        >>> mpsn.regions.count([[1, 0], [0, 1], [1, 1]], b=[0, 0, 1])
        7
    """
    return sum(_whitney_numbers(W, b, exact))


def characteristic_polynomial(
    W: ArrayLike, b: ArrayLike | None = None, *, exact: bool = False
) -> tuple[int, ...]:
    r"""Return the coefficients of :math:`\chi(t)`, that of t^N first.

    The number of regions is :math:`(-1)^N \chi(-1)`.

    Example:
        >>> mpsn.regions.characteristic_polynomial([[1, 0], [0, 1], [1, 1]])  # t^2 - 3 t + 2
        (1, -3, 2)
    """
    whitney = _whitney_numbers(W, b, exact)
    signed = [(-1) ** k * w for k, w in enumerate(whitney)]
    return (*signed, *[0] * (np.shape(W)[1] + 1 - len(signed)))


def _whitney_numbers(W: ArrayLike, b: ArrayLike | None, exact: bool) -> list[int]:
    rows = _read(W, b)
    arithmetic = _Exact() if exact else _Float()
    parts = arithmetic.components(rows)
    for part in parts:
        _refuse_endless(part)
    numbers = [1]
    for part in parts:
        numbers = _multiply(numbers, _recurse(part, arithmetic.restrict))
    if isinstance(arithmetic, _Float) and arithmetic.closest is not None:
        warnings.warn(
            f"the count rests on a difference of {arithmetic.closest:.1e}, near the tolerance "
            f"{TOLERANCE:.0e}; use exact=True to be sure",
            CloseCallWarning,
            stacklevel=3,
        )
    if b is None:
        return numbers
    # The cone over an affine arrangement has one hyperplane more: w(cone) = (1 + t) w.
    affine = [1]
    for number in numbers[1:-1]:
        affine.append(number - affine[-1])
    return affine


def _read(W: ArrayLike, b: ArrayLike | None) -> NDArray[Any]:
    rows = np.array(W, dtype=object)
    if rows.ndim != 2 or rows.size == 0:
        raise MPSNError(
            f"Expected a matrix W of shape (M, N) with entries, got shape {rows.shape}."
        )
    if b is not None:
        column = np.array(b, dtype=object)
        if column.shape != (len(rows),):
            raise MPSNError(f"Expected biases b of shape ({len(rows)},), got {column.shape}.")
        infinity = np.array([[0] * rows.shape[1] + [1]], dtype=object)
        rows = np.concatenate([np.column_stack([rows, column]), infinity])
    try:
        finite = np.isfinite(rows.astype(float)).all()
    except (TypeError, ValueError, OverflowError) as error:
        raise MPSNError(f"Expected numbers in W and b, got {error}.") from error
    if not finite:
        raise MPSNError("Expected finite numbers in W and b, got NaN or infinity.")
    return rows


def _recurse(rows: Rows, restrict: Callable[[Rows, Any], Rows]) -> list[int]:
    m = len(rows)
    if m <= 1:
        return [1] * (m + 1)
    if m == 2 or len(rows[0]) == 2:
        return [1, m, m - 1]
    total = [0] * len(rows[0])
    for i in range(m):
        for k, w in enumerate(_recurse(restrict(rows[:i], rows[i]), restrict)):
            total[k] += w
    while total[-1] == 0:
        total.pop()
    return [1, *total]


def _refuse_endless(rows: Rows) -> None:
    m, rank = len(rows), len(rows[0])
    steps = sum(comb(m, k) for k in range(max(1, rank - 1)))
    if steps > MAX_STEPS:
        hours = steps * SECONDS_PER_STEP / 3600
        raise TooLargeError(
            f"Expected an arrangement that can be counted, got {m} hyperplanes of rank {rank}: up "
            f"to {steps:.1e} steps, {hours:.1e} hours; count a smaller layer, or a 2-D slice of it."
        )


def _multiply(a: list[int], b: list[int]) -> list[int]:
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def _connected(coordinates: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Return the rows of each connected part of a matrix's pattern of nonzero entries."""
    m, n = coordinates.shape
    pattern = np.zeros((m + n, m + n), dtype=bool)
    pattern[:m, m:] = coordinates
    parts, label = scipy.sparse.csgraph.connected_components(pattern, directed=False)
    found = [np.flatnonzero(label[:m] == part) for part in range(parts)]
    return [rows for rows in found if len(rows)]


class _Float:
    """Floating-point rows of length one, with a tolerance."""

    def __init__(self) -> None:
        self.closest: float | None = None

    def components(self, rows: NDArray[Any]) -> list[NDArray[np.float64]]:
        """Return the arrangement's direct summands, each in coordinates of its own rank."""
        kept = self._distinct(rows.astype(float))
        if len(kept) == 0:
            return []
        _, R, order = scipy.linalg.qr(kept.T, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(R))
        self._note(sizes)
        basis = order[: int((sizes > TOLERANCE).sum())]
        coordinates = np.linalg.lstsq(kept[basis].T, kept.T, rcond=None)[0].T  # (m, rank)
        self._note(np.abs(coordinates))
        nonzero = np.abs(coordinates) > TOLERANCE
        parts = []
        for part in _connected(nonzero):
            columns = nonzero[part].any(axis=0)
            parts.append(self._distinct(coordinates[np.ix_(part, columns)]))
        return parts

    def restrict(self, rows: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distinct traces of the rows in the hyperplane h, in one dimension less."""
        p = int(np.argmax(np.abs(h)))
        traces = rows - np.outer(rows[:, p] / h[p], h)
        return self._distinct(np.delete(traces, p, axis=1))

    def _distinct(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        length = np.linalg.norm(rows, axis=1)
        self._note(length)
        kept = length > TOLERANCE
        rows = rows[kept] / length[kept, None]
        side = np.where(rows @ rows.T < 0, -1.0, 1.0)
        apart = np.abs(rows[:, None] - side[:, :, None] * rows).max(axis=2)  # (m, m)
        apart = apart[np.tril_indices(len(rows), -1)]
        self._note(apart)
        repeated = np.zeros((len(rows), len(rows)), dtype=bool)
        repeated[np.tril_indices(len(rows), -1)] = apart <= TOLERANCE
        return rows[~repeated.any(axis=1)]

    def _note(self, sizes: NDArray[np.float64]) -> None:
        near = sizes[(sizes > TOLERANCE / 100) & (sizes < TOLERANCE * 30)]
        if near.size:
            size = float(near.min())
            self.closest = size if self.closest is None else min(self.closest, size)


class _Exact:
    """Rows of coprime integers, the first of them positive."""

    def components(self, rows: NDArray[Any]) -> list[list[tuple[int, ...]]]:
        """Return the arrangement's direct summands, each in coordinates of its own rank."""
        fractions = [[Fraction(entry) for entry in row] for row in rows]
        kept = self._distinct([self._integers(row) for row in fractions])
        if not kept:
            return []
        coordinates = np.array(
            _reduced([list(map(Fraction, c)) for c in zip(*kept, strict=True)])
        ).T
        nonzero = coordinates != 0
        parts = []
        for part in _connected(nonzero):
            columns = nonzero[part].any(axis=0)
            block = coordinates[np.ix_(part, columns)]
            parts.append(self._distinct([self._integers(row) for row in block]))
        return parts

    def restrict(self, rows: list[tuple[int, ...]], h: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the distinct traces of the rows in the hyperplane h, in one dimension less."""
        p = next(i for i, entry in enumerate(h) if entry)
        return self._distinct(
            [
                [
                    w * h[p] - row[p] * v
                    for i, (w, v) in enumerate(zip(row, h, strict=True))
                    if i != p
                ]
                for row in rows
            ]
        )

    @staticmethod
    def _integers(row: Any) -> list[int]:
        scale = lcm(*(entry.denominator for entry in row))
        return [int(entry * scale) for entry in row]

    @staticmethod
    def _distinct(rows: list[list[int]]) -> list[tuple[int, ...]]:
        out: dict[tuple[int, ...], None] = {}
        for row in rows:
            divisor = gcd(*row)
            if divisor:
                first = next(entry for entry in row if entry)
                divisor = divisor if first > 0 else -divisor
                out[tuple(entry // divisor for entry in row)] = None
        return list(out)


def _reduced(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return the nonzero rows of the reduced row echelon form."""
    rank = 0
    for column in range(len(matrix[0])):
        pivot = next((i for i in range(rank, len(matrix)) if matrix[i][column]), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        matrix[rank] = [entry / matrix[rank][column] for entry in matrix[rank]]
        for i, row in enumerate(matrix):
            if i != rank and row[column]:
                factor = row[column]
                matrix[i] = [a - factor * b for a, b in zip(row, matrix[rank], strict=True)]
        rank += 1
    return matrix[:rank]
