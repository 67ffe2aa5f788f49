r"""Exact counts of the regions of hyperplane arrangements.

A central arrangement has :math:`\sum_k w_k` regions, where w_k are the absolute coefficients of
its characteristic polynomial (Zaslavsky). If hyperplanes are added one by one, each new one, h,
cuts as many regions in two as the earlier ones leave in h, so

.. math:: w(A) = 1 + t \sum_i w(\{h_1, ..., h_{i-1}\}^{h_i}),

where the restriction to h_i has one dimension less. Hyperplanes that coincide there are merged, and
two dimensions need no recursion. The cost grows with the number of regions, not with 2^M.
"""

from collections.abc import Callable
from itertools import accumulate
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpsn._rows.checks import as_array
from mpsn.errors import MPSNError, TooLargeError, warn
from mpsn.regions._arithmetic import Exact, Float

MAX_STEPS = 10**8
SECONDS_PER_STEP = 4e-5

Rows = Any  # float64 array (m, n), or list of m integer tuples


class CloseCallWarning(UserWarning):
    """Rows are so close, or biases so different in size, that rounding may decide the count."""


def count(W: ArrayLike, b: ArrayLike | None = None, *, exact: bool = False) -> int:
    r"""Return the number of linear regions of x ↦ relu(W x + b), exactly.

    Lemma 17 of the paper; the time grows with the number of regions. Zero rows cut nothing,
    parallel rows cut once, and the scale of a row does not matter.

    Args:
        W: Normals of the hyperplanes, (M, N).
        b: Biases (M,). Defaults to none, a central arrangement.
        exact: Whether to compute with rational numbers. In floating point, normalized rows that
            differ by less than 1e-10 count as equal, and a :class:`CloseCallWarning` is issued if
            that is more than a rounding error, or if biases, relative to their rows, differ in
            size by a factor above 1e6. Integers and fractions have no rounding errors.

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
    r"""Return the coefficients of the characteristic polynomial :math:`\chi(t)`, from t^N down.

    The number of regions is :math:`(-1)^N \chi(-1)`. Arguments as for :func:`count`.

    Example:
        >>> mpsn.regions.characteristic_polynomial([[1, 0], [0, 1], [1, 1]])  # t^2 - 3 t + 2
        (1, -3, 2)
    """
    signed = [(-1) ** k * w for k, w in enumerate(_whitney_numbers(W, b, exact))]
    return (*signed, *[0] * (np.shape(W)[1] + 1 - len(signed)))


def _whitney_numbers(W: ArrayLike, b: ArrayLike | None, exact: bool) -> list[int]:
    rows = _read(W, b)
    arithmetic = Exact() if exact else Float()
    parts = arithmetic.components(rows, affine=b is not None)
    for part in parts:
        m, rank = len(part), len(part[0])
        steps = sum(comb(m, k) for k in range(max(1, rank - 1)))
        if steps > MAX_STEPS:
            raise TooLargeError(
                f"Expected an arrangement that can be counted, got {m} hyperplanes of rank {rank}: "
                f"up to {steps:.1e} steps, {steps * SECONDS_PER_STEP / 3600:.1e} hours; count a "
                f"smaller layer, or a 2-D slice of it."
            )
    numbers = [1]
    for part in parts:
        factor = np.array(_recurse(part, arithmetic.restrict), dtype=object)  # exact integers
        numbers = np.convolve(numbers, factor).tolist()
    if isinstance(arithmetic, Float) and arithmetic.doubt:
        warn(
            f"the count depends on {arithmetic.doubt}; use exact=True to be sure", CloseCallWarning
        )
    if b is None:
        return numbers
    # The cone over an affine arrangement has one more hyperplane: w(cone) = (1 + t) w.
    return list(accumulate(numbers[1:-1], lambda w, cone: cone - w, initial=1))


def _read(W: ArrayLike, b: ArrayLike | None) -> NDArray[Any]:
    """Return the rows as Python numbers; biases are the last column."""
    rows = np.array(as_array(W), dtype=object)
    if rows.ndim != 2 or rows.size == 0:
        raise MPSNError(
            f"Expected a matrix W of shape (M, N) with entries, got shape {rows.shape}."
        )
    if b is not None:
        column = np.array(as_array(b), dtype=object)
        if column.shape != (len(rows),):
            raise MPSNError(f"Expected biases b of shape ({len(rows)},), got {column.shape}.")
        rows = np.column_stack([rows, column])
    try:
        finite = np.isfinite(rows.astype(float)).all()
    except (TypeError, ValueError, OverflowError) as error:
        raise MPSNError(f"Expected numbers in W and b, got {error}.") from error
    if not finite:
        raise MPSNError("Expected finite numbers in W and b, got NaN or infinity.")
    item = np.frompyfunc(lambda e: e.item() if isinstance(e, np.generic) else e, 1, 1)
    python: NDArray[Any] = item(rows)
    return python


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
