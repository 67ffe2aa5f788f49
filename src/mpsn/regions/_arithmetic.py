"""Merging and restricting hyperplanes: in floating point with a tolerance, or in integers."""

from collections.abc import Iterator
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

TOLERANCE = 1e-10
NEAR = 30 * TOLERANCE  # differences below cause a warning,
ROUNDING = 1e-14  # unless they are rounding errors of the rows as given,
ROUNDED = 1e-12  # or of rows that were computed
MAX_SPREAD = 1e6  # of the sizes of biases; above, rounding errors may look like differences
MAX_TABLE = 2**12  # largest table of all pairs of rows; above, sorting is faster


def _at_infinity(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the cone over an affine arrangement: its rows and the hyperplane at infinity."""
    infinity = np.zeros((1, rows.shape[1]), dtype=rows.dtype)
    infinity[0, -1] = 1
    return np.concatenate([rows, infinity])


def _blocks(coordinates: NDArray[Any], nonzero: NDArray[np.bool_]) -> Iterator[NDArray[Any]]:
    """Yield the connected blocks of a matrix with this pattern of nonzero entries."""
    m, n = nonzero.shape
    i, j = np.nonzero(nonzero)
    pattern = scipy.sparse.coo_array((np.ones(len(i), bool), (i, m + j)), shape=(m + n, m + n))
    parts, label = scipy.sparse.csgraph.connected_components(pattern, directed=False)
    for part in range(parts):
        rows = label[:m] == part
        if rows.any():
            yield coordinates[np.ix_(rows, nonzero[rows].any(axis=0))]


class Float:
    """Floating-point rows of length one, with a tolerance."""

    def __init__(self) -> None:
        self.closest, self.spread, self.merged = np.inf, 1.0, 0

    def components(self, rows: NDArray[Any], affine: bool) -> list[NDArray[np.float64]]:
        """Return the arrangement's direct summands, each in coordinates of its own rank."""
        scaled = self._scale(rows.astype(float), affine)
        kept = self._distinct(scaled, ROUNDING)
        if len(kept) == 0:
            return []
        if len(kept) < len(scaled) and not any(map(_is_rounded, rows.flat)):
            self.merged = Exact.count_distinct(rows, affine) - len(kept)
        _, R, order = scipy.linalg.qr(kept.T, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(R))
        self._note(sizes)
        basis = order[: int((sizes > TOLERANCE).sum())]
        coordinates = np.linalg.lstsq(kept[basis].T, kept.T, rcond=None)[0].T  # (m, rank)
        self._note(np.abs(coordinates))
        blocks = _blocks(coordinates, np.abs(coordinates) > TOLERANCE)
        return [self._distinct(block) for block in blocks]

    def restrict(self, rows: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distinct traces of the rows in the hyperplane h, in one dimension less."""
        p = int(np.argmax(np.abs(h)))
        traces = rows - np.outer(rows[:, p] / h[p], h)
        return self._distinct(np.delete(traces, p, axis=1))

    def _scale(self, rows: NDArray[np.float64], affine: bool) -> NDArray[np.float64]:
        """Scale normals and biases to near 1, without rounding; drop rows that cut nothing."""
        n = rows.shape[1] - affine
        rows = rows[rows[:, :n].any(axis=1)]
        size = np.frexp(np.abs(rows[:, :n]).max(axis=1, keepdims=True))[1]
        normals: NDArray[np.float64] = np.ldexp(rows[:, :n], -size)
        if not affine:
            return normals
        mantissa, power = np.frexp(rows[:, n:])
        power = np.where(mantissa == 0, 0, power - size)
        power -= int(np.median(power[mantissa != 0])) if mantissa.any() else 0
        biases = np.ldexp(mantissa, power.clip(-400, 400))
        sizes = np.abs(biases[mantissa != 0])
        self.spread = float(sizes.max() / sizes.min()) if sizes.size else 1.0
        return _at_infinity(np.column_stack([normals, biases]))

    def _distinct(
        self, rows: NDArray[np.float64], rounding: float = ROUNDED
    ) -> NDArray[np.float64]:
        length = np.linalg.norm(rows, axis=1)
        self._note(length)
        kept = length > TOLERANCE
        rows = rows[kept] / length[kept, None]
        if len(rows) * rows.size > MAX_TABLE:
            return rows[~self._repeated(rows, rounding)]
        side = np.where(rows @ rows.T < 0, -1.0, 1.0)
        apart = np.abs(rows[:, None] - side[:, :, None] * rows).max(axis=2)  # (m, m)
        apart[np.triu_indices(len(rows))] = np.inf  # compare with earlier rows only
        self._note(apart, rounding)
        repeated: NDArray[np.bool_] = (apart <= TOLERANCE).any(axis=1)
        return rows[~repeated]

    def _repeated(self, rows: NDArray[np.float64], rounding: float) -> NDArray[np.bool_]:
        """Return which rows repeat an earlier one, comparing only rows close on a random line."""
        line = np.random.default_rng(0).standard_normal(rows.shape[1])
        place = rows @ line
        cell = np.rint(np.where(place < 0, -1, 1)[:, None] * rows * (100 / TOLERANCE))
        first = np.unique(cell.astype(np.int64), axis=0, return_index=True)[1]
        repeated = np.ones(len(rows), dtype=bool)
        repeated[first] = False
        place = np.abs(place)
        order = first[np.argsort(place[first])]
        reach = NEAR * np.abs(line).sum()
        for k in range(1, len(order)):
            near = np.flatnonzero(place[order[k:]] - place[order[:-k]] <= reach)
            if not near.size:
                break
            a, b = order[near], order[near + k]
            side = np.where((rows[a] * rows[b]).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
            apart = np.abs(rows[a] - side * rows[b]).max(axis=1)
            self._note(apart, rounding)
            repeated[np.maximum(a, b)[apart <= TOLERANCE]] = True
        return repeated

    def _note(self, sizes: NDArray[np.float64], rounding: float = ROUNDED) -> None:
        near = sizes[(sizes > rounding) & (sizes < NEAR)]
        self.closest = min(self.closest, float(near.min(initial=np.inf)))

    @property
    def doubt(self) -> str | None:
        """Why the count may be wrong, if there is a reason."""
        if self.spread > MAX_SPREAD:
            return f"biases whose sizes differ by a factor of {self.spread:.0e}"
        if self.merged:
            return f"rows, {self.merged} of them parallel to others only within the tolerance"
        if self.closest < NEAR:
            return f"a difference of {self.closest:.1e}, near the tolerance {TOLERANCE:.0e}"
        return None


class Exact:
    """Rows of coprime integers, the first of them positive."""

    def components(self, rows: NDArray[Any], affine: bool) -> list[list[tuple[int, ...]]]:
        """Return the arrangement's direct summands, each in coordinates of its own rank."""
        rows = _at_infinity(rows) if affine else rows
        fractions = [[_fraction(entry) for entry in row] for row in rows]
        kept = self._distinct([self._integers(row) for row in fractions])
        if not kept:
            return []
        columns = [list(map(Fraction, column)) for column in zip(*kept, strict=True)]
        coordinates = np.array(_reduced(columns)).T
        blocks = _blocks(coordinates, coordinates != 0)
        return [self._distinct([self._integers(row) for row in block]) for block in blocks]

    def restrict(self, rows: list[tuple[int, ...]], h: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the distinct traces of the rows in the hyperplane h, in one dimension less."""
        p = next(i for i, entry in enumerate(h) if entry)
        kept = [i for i in range(len(h)) if i != p]
        return self._distinct([[row[i] * h[p] - row[p] * h[i] for i in kept] for row in rows])

    @classmethod
    def count_distinct(cls, rows: NDArray[Any], affine: bool) -> int:
        """Return the number of hyperplanes, the one at infinity included if there are biases."""
        kept = rows[rows[:, : rows.shape[1] - affine].astype(bool).any(axis=1)]
        kept = _at_infinity(kept) if affine else kept
        return len(cls._distinct([cls._integers(list(map(_fraction, row))) for row in kept]))

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


def _is_rounded(entry: Any) -> bool:
    """Return whether a number may be the result of rounding: a float other than a small integer."""
    return isinstance(entry, float) and not (entry.is_integer() and abs(entry) < 2**53)


def _fraction(entry: Any) -> Fraction:
    # Before Python 3.12, Fraction takes only Python's own floats.
    ratio = hasattr(entry, "as_integer_ratio")
    return Fraction(*entry.as_integer_ratio()) if ratio else Fraction(entry)


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
