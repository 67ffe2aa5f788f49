"""How one column of values becomes features: as a number, or as one of several kinds."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpsn.errors import GraphError
from mpsn.estimators._given import Notes, Values

MAX_WORDS = 64  # different words up to which they are kinds, not names
MAX_INTEGERS = 16  # different integers up to which they are kinds, not numbers
MAX_CODES = 128  # the same for matrices of integers from 0 or 1 on, without large gaps
MAX_KINDS = 1024  # kinds where they are asked for
FAR = 10.0  # standard deviations from which on numbers grow like a logarithm

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """How one column becomes features: one-hot over kinds, or, without any, as a number.

    Words with at most 64 different values are kinds, and so are integers with at most 16 (in
    matrices of features also codes from 0 or 1 up to 128); other numbers are standardized, robust
    to outliers, unless they are all 0 or 1. A missing value (None or NaN) has a feature of its own,
    where the fit had any, and stands for the mean.

    Attributes:
        name: Name of the attribute; of a matrix, with the number of the column.
        kinds: Values with a feature of their own; for others all features are 0.
        mean: What is subtracted from a number.
        scale: What it is then divided by; 0 for the same number everywhere, which becomes 0.
        missing: Whether there is a feature for missing values.
        nearest: Whether other numbers count as the nearest kind.
    """

    name: str
    kinds: tuple[bool | int | float | str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0
    missing: bool = False
    nearest: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and 0 <= self.scale < math.inf):
            raise GraphError(
                f"Expected numbers of finite mean and deviation in {self.name!r:.40}, got "
                f"{self.mean:.3g} and {self.scale:.3g}; use other units, or leave it out."
            )

    @property
    def width(self) -> int:
        """Number of features."""
        return max(1, len(self.kinds)) + self.missing

    @property
    def names(self) -> list[str]:
        """Name of each feature."""
        found = [f"{self.name} = {kind}" for kind in self.kinds] or [self.name]
        return found + [f"{self.name} missing"] * self.missing

    def __str__(self) -> str:
        many = len(self.kinds)
        how = f"one-hot, {many} kind{'s' * (many > 1)}" if many else "a number"
        return f"{self.name} ({how}{', or missing' * self.missing})"

    def encode(self, values: Values, what: str, notes: Notes) -> Numbers:
        """Return features (rows, width); values without any are counted."""
        lacking = _missing(values)
        if not self.missing and lacking.any():
            notes[f"missing values of {what}", "the fit had none"] += int(lacking.sum())
        out = np.zeros((len(values), self.width))
        if self.missing:
            out[lacking, -1] = 1.0
        rows = np.flatnonzero(~lacking)
        if self.kinds:
            at = self._kinds(values[rows])
            if len(odd := rows[at < 0]):
                seen = f"not seen in the fit, such as {values[odd[0]]!r:.40}"
                notes[f"values of {what}", f"{seen}; taken as none of its kinds"] += len(odd)
            out[rows[at >= 0], at[at >= 0]] = 1.0
        else:
            out[rows, 0] = self._numbers(values[rows], what)
        return out

    def _kinds(self, values: Values) -> NDArray[np.int64]:
        if self.nearest:
            away: Numbers = np.abs(values[:, None] - np.array(self.kinds))
            nearest: NDArray[np.int64] = away.argmin(axis=1)
            return nearest
        number = {kind: i for i, kind in enumerate(self.kinds)}
        found = [number.get(value, -1) if _simple(value) else -1 for value in values.tolist()]
        return np.array(found, dtype=np.int64)

    def _numbers(self, values: Values, what: str) -> Numbers:
        numbers = as_numbers(values, what)
        if numbers is None:
            raise GraphError(f"Expected numbers in {what}, as in the fit, got others.")
        if not self.scale:
            return np.zeros(len(values))
        with np.errstate(over="ignore"):
            z = (numbers / 2 - self.mean / 2) / (self.scale / 2)  # the difference might overflow
        far = np.clip(np.abs(z), FAR, np.finfo(np.float64).max)
        out: Numbers = np.clip(z, -FAR, FAR) * (1 + np.log(far / FAR))
        return out


def learn(
    name: str, values: Values, what: str, kind: Literal["number", "category"] | None, needed: bool
) -> Column | str:
    """Return how a column becomes features, or why it does not; ``"constant"`` if it does not vary.

    One that is ``needed`` always does, or an error says why not. ``kind`` defaults to what the
    values look like.
    """
    lacking = _missing(values)
    present, missing = values[~lacking], bool(lacking.any())
    numbers = as_numbers(present, what)
    if not len(present):
        return Column(name) if needed else "constant"
    if numbers is None and not all(isinstance(value, (str, int)) for value in present):
        if needed:
            raise GraphError(f"Expected numbers or words in {what}, got {present[0]!r:.40}.")
        return "neither numbers nor words"
    if numbers is None and kind == "number":
        word = next(value for value in present if isinstance(value, str))
        raise GraphError(f"Expected numbers in {what}, got {word!r:.40}; use kind 'category'.")
    limit = MAX_KINDS if kind == "category" else MAX_WORDS
    if numbers is None or kind == "category" or (kind is None and _are_kinds(present)):
        kinds = _distinct(present)
        if len(kinds) == 1 and not (needed or missing):
            return "constant"
        if len(kinds) <= max(limit, MAX_CODES * (numbers is not None)):
            return Column(name, kinds, missing=missing)
        if needed:
            raise GraphError(
                f"Expected at most {limit} different values in {what}, got {len(kinds)}."
            )
        return f"{len(kinds)} different words, taken for names"
    mean, scale = _scale(numbers, present.dtype)
    if (not scale or numbers.min() == numbers.max()) and not (needed or missing):
        return "constant"
    return Column(name, mean=mean, scale=scale, missing=missing)


def as_numbers(values: Values, what: str) -> Numbers | None:
    """Return values, none of them missing, as numbers; None if some are no numbers."""
    if values.dtype == object and not all(isinstance(v, (int, float)) for v in values):
        return None
    try:
        numbers = values.astype(np.float64)
    except (OverflowError, ValueError, TypeError):
        return None
    if not np.isfinite(numbers).all():
        raise GraphError(f"Expected finite numbers in {what}, got infinity.")
    return numbers


def _missing(values: Values) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([value is None or value != value for value in values], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _simple(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _distinct(values: Values) -> tuple[bool | int | float | str, ...]:
    found = set(values.tolist())
    return tuple(sorted(found, key=lambda kind: (isinstance(kind, str), kind)))


def _are_kinds(values: Values) -> bool:
    """Return whether numbers look like kinds: few integers."""
    if values.dtype != object:
        if values.dtype.kind not in "iub":
            return False
        kinds = np.unique(values)
        dense = kinds[0] in (0, 1) and kinds[-1] <= 2 * len(kinds) <= 2 * MAX_CODES
        return len(kinds) <= MAX_INTEGERS or bool(dense)
    return all(isinstance(v, int) for v in values) and len(set(values)) <= MAX_INTEGERS


def _scale(numbers: Numbers, dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the mean and standard deviation without outliers; a deviation of 0 for noise."""
    if ((numbers == 0) | (numbers == 1)).all():
        return 0.0, 1.0
    numbers = np.sort(numbers)  # so that their order does not matter, to the last bit
    center = float(np.median(numbers / 2))  # halves, whose differences do not overflow
    away = numbers / 2 - center
    noise = 4 * np.finfo(dtype if dtype.kind == "f" else np.float64).eps * abs(center)
    far = np.abs(away) > noise
    if not far.any():
        return 2 * center, 0.0
    typical = float(np.median(np.abs(away[far])))
    with np.errstate(over="ignore"):
        kept = np.clip(away / typical, -FAR, FAR)
    mean, scale = center + typical * kept.mean(), typical * kept.std()
    most = np.finfo(np.float64).max / 2
    return 2 * float(np.clip(mean, -most, most)), 2 * float(min(scale, most))
