"""Targets of several tasks, with gaps: which are known, their scores, names and weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from torch import Tensor

from mpsn.errors import MPSNError, did_you_mean
from mpsn.training.internal import known

NUMBERS = (int, float, np.integer, np.floating)
SHOWN = 8  # tasks that are described one by one

Weights = str | Mapping[Any, float] | None


def by_task(
    metric: Callable[..., float], y: Tensor, found: Tensor, weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the score of each column, where y is known; NaN where too few are."""
    there, truth, guess = known(y).numpy(), y.numpy(), found.numpy()
    least = 2 if metric is r2_score else 1
    out = np.full(y.shape[1], np.nan)
    for task, rows in enumerate(there.T):
        if rows.sum() >= least:
            each = None if weight is None else np.asarray(weight)[rows]
            out[task] = metric(truth[rows, task], guess[rows, task], sample_weight=each)
    return out


def as_table(y: ArrayLike, width: int | None = None) -> NDArray[np.float64]:
    """Return targets as numbers, (n, tasks); several may have gaps, which are NaN.

    ``width`` is the number of tasks there must be.
    """
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise MPSNError(f"Expected numbers as targets y, got {error}.") from error
    wrong = np.isinf(numbers) if numbers.ndim == 2 else ~np.isfinite(numbers)
    if numbers.ndim not in (1, 2) or wrong.any():
        raise MPSNError(
            f"Expected finite targets y, a number or row per graph, got shape {numbers.shape}"
            f"{' with NaN or infinity' if wrong.any() else ''}; of several targets, those that are "
            f"not known may be NaN."
        )
    table = numbers.reshape(len(numbers), -1 if numbers.size else 1)
    if width not in (None, table.shape[1]):
        raise MPSNError(f"Expected {width} targets per graph, got {table.shape[1]}.")
    return table


def task_names(names: Sequence[object], table: NDArray[np.float64]) -> tuple[str, ...]:
    """Return the names of the columns, of which each has a known target."""
    words = tuple(map(str, names)) or tuple(f"output {i}" for i in range(table.shape[1]))
    check_names(words, table.shape[1])
    for name, column in zip(words, table.T, strict=True):
        if np.isnan(column).all():
            raise MPSNError(f"Expected a known target of task {name!r:.60}, got none; drop it.")
    return words


def check_names(names: tuple[str, ...], width: int) -> None:
    """Refuse names that are not as many as there are targets, or not different."""
    if len(names) != width or len(set(names)) != width:
        raise MPSNError(f"Expected {width} different names of tasks, got {names!r:.100}.")


def task_number(target: object, names: tuple[str, ...]) -> int:
    """Return the number of a task, given by name or number; 0 by default."""
    if target is None or (isinstance(target, int) and 0 <= target < len(names)):
        return target or 0
    if isinstance(target, str) and target not in names and target.isdecimal():
        return task_number(int(target), names)
    if target not in names:
        raise MPSNError(
            f"Expected a target among {', '.join(names):.200}, or its number, got {target!r}."
            f"{did_you_mean(str(target), names)}"
        )
    return names.index(str(target))


def check_weights(given: Weights, classes: Sequence[Any]) -> None:
    """Raise unless these are weights of some of the classes."""
    right = given is None or (isinstance(given, str) and given == "balanced")
    if isinstance(given, Mapping):
        right = set(given) <= set(classes) and all(
            isinstance(weight, NUMBERS) and 0 < weight < np.inf for weight in given.values()
        )
    if not right:
        raise MPSNError(
            f"Expected class_weight as 'balanced', None, or a dictionary from classes in y to "
            f"finite weights above 0, got {given!r:.100}."
        )


def weights_from_words(given: Weights, classes: Sequence[Any]) -> Weights:
    """Return weights by class; JSON made words of the classes."""
    if not isinstance(given, Mapping):
        return given
    known = {str(name): name for name in classes}
    return {known.get(key, key): weight for key, weight in given.items()}


def class_weights(
    given: Weights, classes: Sequence[Any], sizes: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return weights of classes, (..., classes), as scikit-learn computes them."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return np.broadcast_to([float(given.get(name, 1.0)) for name in classes], sizes.shape)
    balanced: NDArray[np.float64] = sizes.sum(axis=-1, keepdims=True) / (
        len(classes) * np.maximum(sizes, 1)
    )
    return balanced


def probability(odds: Tensor) -> Tensor:
    """Return probabilities of log-odds; their slope is the mean one from even odds, never near 0.

    Gradients of it attribute a probability to what makes it differ from one half.
    """
    found, fixed = odds.sigmoid().detach(), odds.detach()
    slope = torch.where(fixed.abs() < 1e-3, 0.25, (found - 0.5) / fixed)
    return found + slope * (odds - fixed)


def listed(what: str, each: list[str]) -> str:
    """Return the first of some descriptions, and how many there are."""
    rest = f", and {len(each) - SHOWN} more" if len(each) > SHOWN else ""
    return f"{what}{':' * (len(each) > 1)} {', '.join(each[:SHOWN])}{rest}"
