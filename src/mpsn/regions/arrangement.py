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
from math import comb
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from mpsn.errors import MPSNError, TooLargeError
from mpsn.regions.arithmetic import Exact, Float

MAX_STEPS = 10**8
SECONDS_PER_STEP = 4e-5

Rows = Any  # float64 array (m, n), or list of m integer tuples


class CloseCallWarning(UserWarning):
    """Rows so near each other, or biases so different in size, that rounding may decide."""


def count(W: ArrayLike, b: ArrayLike | None = None, *, exact: bool = False) -> int:
    r"""Return the number of linear regions of x ↦ relu(W x + b), exactly.

    Lemma "whitney" of the paper, computed in time that follows the number of regions. Zero rows
    cut nothing; parallel rows cut once; the scale of a row does not matter.

    Args:
        W: Normals of the hyperplanes, (M, N).
        b: Biases (M,); none for a central arrangement.
        exact: Compute with rational numbers: every float is taken for the fraction it is. In
            floating point, rows (of length one) that differ by less than 1e-10 are taken for equal,
            and a :class:`CloseCallWarning` tells when a difference came near that, or when
            biases, each beside its row, differ in size by a factor above 1e6.

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
    arithmetic = Exact() if exact else Float()
    parts = arithmetic.components(rows, affine=b is not None)
    for part in parts:
        _refuse_endless(part)
    numbers = [1]
    for part in parts:
        numbers = _multiply(numbers, _recurse(part, arithmetic.restrict))
    if isinstance(arithmetic, Float) and arithmetic.doubt:
        warnings.warn(
            f"the count rests on {arithmetic.doubt}; use exact=True to be sure",
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


def plain(values: Any) -> Any:
    """Return a torch tensor as a numpy array, anything else as it is."""
    if not isinstance(values, torch.Tensor):
        return values
    dense = values.detach().to_dense().cpu()
    return (dense.double() if dense.is_floating_point() else dense).numpy()


def _read(W: ArrayLike, b: ArrayLike | None) -> NDArray[Any]:
    """Return the rows as Python numbers; with biases, these are the last column."""
    rows = np.array(plain(W), dtype=object)
    if rows.ndim != 2 or rows.size == 0:
        raise MPSNError(
            f"Expected a matrix W of shape (M, N) with entries, got shape {rows.shape}."
        )
    if b is not None:
        column = np.array(plain(b), dtype=object)
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
