"""What estimators of graphs predict: classes, labels of several tasks, or numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from mpsn.errors import FileError, MPSNError
from mpsn.estimators._tasks import (
    Weights,
    as_table,
    by_task,
    check_names,
    class_weights,
    listed,
    probability,
    task_names,
    task_number,
)

LARGEST = 1e150  # mean and deviation of targets: squares, and predictions, do not overflow

Units = Callable[[Tensor], Tensor]


class Explained(NamedTuple):
    """The output to explain: its number and name; the runner-up, and the margin, if any."""

    output: int
    name: str
    runner_up: str | None = None
    margin: float | None = None


@dataclass(frozen=True)
class Classes:
    """The targets of a classifier: the classes, sorted, and the number of graphs of each."""

    classes: tuple[bool | int | float | str, ...]
    sizes: tuple[int, ...]
    names: ClassVar[tuple[str, ...]] = ()
    losses: ClassVar[tuple[str, ...]] = ("cross_entropy",)
    flat: ClassVar[bool] = True
    metric: ClassVar[str] = "accuracy"
    guess: ClassVar[str] = "majority class"

    def __post_init__(self) -> None:
        if not len(self.classes) == len(self.sizes) == len(set(self.classes)) >= 2:
            raise FileError("expected at least two different classes and their sizes")

    @classmethod
    def learn(cls, y: ArrayLike) -> Self:
        """Find the classes of a fit."""
        classes, numbers = learn_classes(y)
        return cls(tuple(classes.tolist()), tuple(np.bincount(numbers).tolist()))

    def encode(self, y: ArrayLike) -> Tensor:
        """Return the number of each class, (n,)."""
        number = {name: i for i, name in enumerate(self.classes)}
        return torch.tensor([number[name] for name in np.asarray(y).reshape(-1).tolist()])

    @property
    def width(self) -> int:
        """Number of outputs of the network."""
        return len(self.classes)

    @property
    def prior(self) -> tuple[float, ...]:
        """Outputs by which the most frequent class is guessed."""
        return tuple(map(float, self.sizes))

    def weigh(self, given: Weights) -> NDArray[Any] | None:
        """Return the weights of the classes, (classes,)."""
        return class_weights(given, self.classes, np.array(self.sizes))

    def scores(self, outputs: Tensor, y: Tensor) -> NDArray[np.float64]:
        """Return the accuracy, (1,)."""
        return by_task(accuracy_score, y[:, None], outputs.argmax(dim=1)[:, None])

    def explained(self, rows: Tensor, target: object) -> Explained:
        """Return which output to explain; the most probable class if no target is given."""
        chances = rows.softmax(dim=1)[0]
        name = self.classes[int(chances.argmax())] if target is None else target
        where = [i for i, one in enumerate(self.classes) if one == name or str(one) == name]
        if not where:
            known = ", ".join(map(str, self.classes))
            raise MPSNError(f"Expected a class among {known}, got {name!r}.")
        others = chances.clone()
        others[where[0]] = -1.0
        margin = float(chances[where[0]] - others.max())
        return Explained(where[0], str(name), str(self.classes[int(others.argmax())]), margin)

    def units(self, output: int) -> Units:
        """Return the function from outputs (C, G) to probabilities (C,)."""

        def chance(rows: Tensor) -> Tensor:
            others = torch.cat([rows[:, :output], rows[:, output + 1 :]], dim=1)
            return probability(rows[:, output] - others.logsumexp(dim=1))

        return chance

    def __str__(self) -> str:
        sizes = zip(self.classes, self.sizes, strict=True)
        return "classes " + ", ".join(f"{name} ({n})" for name, n in sizes)


@dataclass(frozen=True)
class Labels:
    """The targets of a classifier of several tasks: for how many graphs each is known, and 1."""

    names: tuple[str, ...]
    known: tuple[int, ...]
    positive: tuple[int, ...]
    classes: ClassVar[tuple[int, ...]] = (0, 1)
    losses: ClassVar[tuple[str, ...]] = ("binary_cross_entropy",)
    flat: ClassVar[bool] = False
    metric: ClassVar[str] = "accuracy"
    guess: ClassVar[str] = "majority class"

    def __post_init__(self) -> None:
        check_names(self.names, len(self.known))
        if not 1 <= len(self.known) == len(self.positive):
            raise FileError("expected how often each task is known, and 1")

    @classmethod
    def learn(cls, y: ArrayLike, names: Sequence[object]) -> Self:
        """Find the tasks of a fit, the columns of y: 0, 1, or NaN where not known."""
        table = _labels(y)
        words = task_names(names, table)
        known, positive = (~np.isnan(table)).sum(axis=0), (table == 1).sum(axis=0)
        return cls(words, tuple(known.tolist()), tuple(positive.tolist()))

    def encode(self, y: ArrayLike) -> Tensor:
        """Return the labels, (n, tasks) int8; -1 where they are not known."""
        return torch.from_numpy(np.nan_to_num(_labels(y, self.width), nan=-1).astype(np.int8))

    @property
    def width(self) -> int:
        """Number of outputs of the network."""
        return len(self.names)

    @property
    def prior(self) -> tuple[float, ...]:
        """Outputs by which the most frequent label is guessed."""
        pairs = zip(self.known, self.positive, strict=True)
        return tuple(float(2 * positive - known) for known, positive in pairs)

    def weigh(self, given: Weights) -> NDArray[Any] | None:
        """Return the weights of 0 and of 1, (tasks, 2)."""
        known, positive = np.array(self.known), np.array(self.positive)
        return class_weights(given, self.classes, np.stack([known - positive, positive], axis=1))

    def scores(self, outputs: Tensor, y: Tensor) -> NDArray[np.float64]:
        """Return the accuracy of each task, (tasks,); NaN where no label is known."""
        return by_task(accuracy_score, y, outputs > 0)

    def explained(self, rows: Tensor, target: object) -> Explained:
        """Return which task to explain: by name or number, the first if no target is given."""
        output = task_number(target, self.names)
        name, margin = self.names[output], 2 * float(rows[0, output].sigmoid()) - 1
        return Explained(output, name, f"not {name}", margin)

    def units(self, output: int) -> Units:
        """Return the function from outputs (C, G) to probabilities (C,)."""
        return lambda rows: probability(rows[:, output])

    def __str__(self) -> str:
        each = zip(self.names, self.positive, self.known, strict=True)
        return listed("tasks", [f"{name} ({one} of {n} are 1)" for name, one, n in each])


@dataclass(frozen=True)
class Numbers:
    """The targets of a regressor: how they were standardized, and whether graphs have just one."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    flat: bool
    names: tuple[str, ...] = ()
    known: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    losses: ClassVar[tuple[str, ...]] = ("mse", "mae", "huber")
    metric: ClassVar[str] = "R²"
    guess: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        if not 1 <= len(self.mean) == len(self.scale) or (self.flat and len(self.mean) > 1):
            raise FileError("expected a mean and a scale for each target")
        for mean, scale in zip(self.mean, self.scale, strict=True):
            if not (abs(mean) < LARGEST and 0 < scale < LARGEST):
                raise MPSNError(
                    f"Expected targets y of size up to {LARGEST:.0e}, got mean {mean:.3g} and "
                    f"standard deviation {scale:.3g}; use other units."
                )
        if not self.names:  # a file of an earlier version
            object.__setattr__(self, "names", tuple(f"output {i}" for i in range(self.width)))
        check_names(self.names, self.width)

    @classmethod
    def learn(cls, y: ArrayLike, names: Sequence[object]) -> Self:
        """Find mean and deviation of the numbers that are known."""
        table = as_table(y)
        flat = np.ndim(y) == 1
        words = task_names(names, table)
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused
            mean, scale = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
        scale = np.where(scale == 0, 1.0, scale)
        many = (~np.isnan(table)).sum(axis=0)
        found = (mean, scale, many, np.nanmin(table, axis=0), np.nanmax(table, axis=0))
        center, spread, counts, low, high = (tuple(each.tolist()) for each in found)
        return cls(center, spread, flat, words, counts, low, high)

    def encode(self, y: ArrayLike) -> Tensor:
        """Return standardized numbers, (n, targets) float32; NaN where they are not known."""
        scaled = (as_table(y, self.width) - np.array(self.mean)) / np.array(self.scale)
        return torch.from_numpy(scaled.astype(np.float32))

    def decode(self, outputs: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return outputs (n, targets) in the units of the targets; (n,) of just one."""
        found: NDArray[np.float64] = outputs * np.array(self.scale) + np.array(self.mean)
        return found[:, 0] if self.flat else found

    def bound(self, outputs: NDArray[Any], growth: NDArray[Any]) -> NDArray[np.float32]:
        """Return outputs (n, targets) that are not far beyond the targets of the fit.

        A new target falls outside their range with probability 2 / (n + 1), if graphs are of one
        kind. Targets may grow as graphs do, from zero or from their mean: so the range is that of
        the fit and a tenth more, where ``growth`` (n,) is 1, and in proportion to it above.
        """
        if not self.low:  # a file of an earlier version
            return outputs
        mean, scale, low, high = map(np.array, (self.mean, self.scale, self.low, self.high))
        times, more = growth[:, None], 0.1 * (high - low)
        lowest = np.minimum(mean + times * (low - mean), times * low) - more
        highest = np.maximum(mean + times * (high - mean), times * high) + more
        found = np.clip(outputs, (lowest - mean) / scale, (highest - mean) / scale)
        return np.asarray(found, dtype=np.float32)

    @property
    def width(self) -> int:
        """Number of outputs of the network."""
        return len(self.mean)

    @property
    def prior(self) -> tuple[float, ...]:
        """Outputs by which the mean is guessed."""
        return (0.0,) * self.width

    def weigh(self, given: Weights) -> None:
        """Return no weights: there are no classes."""

    def scores(self, outputs: Tensor, y: Tensor) -> NDArray[np.float64]:
        """Return R² of each target, (targets,); NaN where less than two are known."""
        return by_task(r2_score, y, outputs)

    def explained(self, rows: Tensor, target: object) -> Explained:
        """Return which target to explain: by name or number, the first if none is given."""
        output = task_number(target, self.names)
        return Explained(output, self.names[output])

    def units(self, output: int) -> Units:
        """Return the function from outputs (C, G) to numbers (C,) in the units of the target."""
        return lambda rows: rows[:, output] * self.scale[output] + self.mean[output]

    def __str__(self) -> str:
        rows = zip(self.names, self.mean, self.scale, self.known or (0,) * self.width, strict=True)
        each = [
            f"{'' if name.startswith('output ') else f'{name} '}{mean:.4g} ± {scale:.4g}"
            f"{f' ({n} known)' if n and not self.flat else ''}"
            for name, mean, scale, n in rows
        ]
        return f"{listed('numbers', each)} in the fit"


Targets = Classes | Labels | Numbers


def compare(
    targets: Targets, rows: dict[str, Tensor], y: Tensor
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return the mean scores of models, by their outputs, and of the guess; and those of each task.

    Tasks of which too few targets are known are left out.
    """
    rows = {**rows, targets.guess: torch.tensor(targets.prior).expand(len(y), -1)}
    every = {name: targets.scores(row, y) for name, row in rows.items()}
    there = np.flatnonzero(~np.isnan(every[targets.guess]))
    if not len(there):
        return {}, {}
    means = {name: float(each[there].mean()) for name, each in every.items()}
    return means, {
        targets.names[task]: {name: float(each[task]) for name, each in every.items()}
        for task in (() if targets.flat else there)
    }


def _labels(y: ArrayLike, width: int | None = None) -> NDArray[np.float64]:
    """Return labels, (n, tasks): 0, 1, or NaN where not known."""
    cells = np.asarray(y, dtype=object).ravel().tolist()
    wrong = [cell for cell in cells if cell is not None and cell == cell and cell not in (0, 1)]
    if wrong:
        raise MPSNError(
            f"Expected 0, 1 or NaN as targets y of several tasks, got {wrong[0]!r:.60}; for other "
            f"classes fit one model per task, for numbers use a regressor."
        )
    return as_table(y, width)


def as_targets(y: Any) -> NDArray[Any]:
    """Return targets as an array: one, or a row of equally many, for each graph, cell, ..."""
    try:
        rows = np.asarray(y.detach().cpu().to_dense() if isinstance(y, Tensor) else y)
    except (TypeError, ValueError, RuntimeError) as error:
        raise MPSNError(
            f"Expected targets y, one or a row of equally many for each, got {error!s:.200}."
        ) from error
    if rows.ndim == 0:
        raise MPSNError(f"Expected a list of targets y, got one {type(y).__name__}; list them.")
    if rows.dtype.kind in "Sc" or any(isinstance(label, bytes) for label in rows.flat[:1]):
        raise MPSNError(
            f"Expected targets y as real numbers or text, got {rows.flat[0]!r:.40}; convert them."
        )
    return rows


def learn_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes among targets, sorted, and the number of each target's class."""
    try:
        y = column_or_1d(as_targets(y))
        with np.errstate(invalid="ignore"):  # NaN, which is refused next
            check_classification_targets(y)
    except (TypeError, ValueError) as error:
        raise MPSNError(
            f"Expected targets y that are classes, got {error!s:.200} For numbers, use a regressor."
        ) from error
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise MPSNError(f"Expected at least two classes in y, got only {classes[0]!r}.")
    return classes, numbers.astype(np.int64)
