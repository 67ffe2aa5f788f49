"""Losses and metrics by name, for targets of which some may be missing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.errors import MPSNError, did_you_mean

Loss = Callable[[Tensor, Tensor], Tensor]  # of outputs (B, C) and targets
Metric = Callable[[Tensor, Tensor], float]


def known(y: Tensor) -> Tensor:
    """Return which targets are known: numbers that are not NaN, classes from 0 on."""
    return ~y.isnan() if y.is_floating_point() else y >= 0


def loss_of(loss: str | Loss, class_weight: Sequence[float] | Tensor | None = None) -> "MeanLoss":
    """Return a loss by its name, or of a function: the mean over the targets that are known.

    Args:
        loss: ``"cross_entropy"`` of classes (B,), of which -1 is unknown;
            ``"binary_cross_entropy"`` of tasks (B, T) of 0 and 1, where -1 or NaN is unknown;
            ``"mse"``, ``"mae"`` or ``"huber"`` of numbers (B,) or (B, T), where NaN is unknown; or
            a function from outputs and targets to losses, all of which count.
        class_weight: Weights of the classes, (C,), or of 0 and 1 in each task, (T, 2).

    Example:
        >>> from mpsn.training import loss_of
        >>> loss_of("mae")(torch.tensor([[1.0], [5.0]]), torch.tensor([3.0, torch.nan]))
        tensor(2.)
    """
    if not isinstance(loss, str):
        return MeanLoss(loss)
    if loss not in LOSSES:
        raise MPSNError(
            f"Expected a loss among {', '.join(LOSSES)}, or a function, got {loss!r:.40}."
            f"{did_you_mean(loss, LOSSES)}"
        )
    return NamedLoss(loss, class_weight)


class MeanLoss:
    """The mean of the losses that a function returns for outputs and targets."""

    def __init__(self, each: Loss) -> None:
        self.each = each

    def to(self, device: torch.device) -> Self:
        """Move what it needs to a device."""
        return self

    def __call__(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the mean for outputs (B, C) and targets, (B,) or (B, T)."""
        return self.each(outputs, y).mean()

    def weight(self, y: Tensor) -> Tensor | float:
        """Return what the mean for targets weighs in that of more of them."""
        return float(len(y))


class NamedLoss(MeanLoss):
    """The mean of losses over the targets that are known, by the weights of their classes."""

    def __init__(self, name: str, class_weight: Sequence[float] | Tensor | None) -> None:
        super().__init__(LOSSES[name])
        self.flat, self.weights = name == "cross_entropy", None
        if class_weight is not None:
            self.weights = torch.tensor(np.array(class_weight), dtype=torch.float32)

    def to(self, device: torch.device) -> Self:
        """Move the weights of the classes to a device."""
        self.weights = None if self.weights is None else self.weights.to(device)
        return self

    def _table(self, y: Tensor) -> Tensor:
        """Return classes (B,), or targets of several tasks or one, (B, T)."""
        return y if self.flat else y[:, None] if y.dim() == 1 else y.flatten(1)

    def _shares(self, y: Tensor) -> Tensor:
        """Return the weight of each target, 0 of those that are unknown."""
        shares = known(y).float()
        if self.weights is not None and self.flat:
            shares = shares * self.weights.to(y.device)[torch.where(known(y), y, 0)]
        elif self.weights is not None:
            zero, one = self.weights.to(y.device).unbind(dim=-1)
            shares = shares * torch.where(y == 1, one, zero)
        return shares

    def __call__(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the mean for outputs (B, C) and targets, (B,) or (B, T)."""
        y = self._table(y)
        shares = self._shares(y).to(outputs.dtype)
        losses = self.each(outputs, torch.where(known(y), y, 0))
        return (losses * shares).sum() / shares.sum().clamp(min=1e-6)

    def weight(self, y: Tensor) -> Tensor | float:
        """Return what the mean for targets weighs in that of more of them."""
        return self._shares(self._table(y)).sum()


def _binary(outputs: Tensor, y: Tensor) -> Tensor:
    return nnf.binary_cross_entropy_with_logits(outputs, y.to(outputs.dtype), reduction="none")


LOSSES: Mapping[str, Callable[..., Tensor]] = {
    "cross_entropy": lambda outputs, y: nnf.cross_entropy(outputs, y, reduction="none"),
    "binary_cross_entropy": _binary,
    "mse": lambda outputs, y: (outputs - y).square(),
    "mae": lambda outputs, y: (outputs - y).abs(),
    "huber": lambda outputs, y: nnf.huber_loss(outputs, y, reduction="none"),
}


def metric_of(name: str) -> Metric:
    """Return a metric by its name; the mean over tasks, each where its targets are known."""
    if name not in METRICS:
        raise MPSNError(
            f"Expected a metric among {', '.join(METRICS)}, or a function, got {name!r:.40}."
            f"{did_you_mean(name, METRICS)}"
        )
    return METRICS[name]


def accuracy(outputs: Tensor, y: Tensor) -> float:
    """Return the accuracy of logits (B, C) for classes (B,), or (B, T) for tasks of 0 and 1."""
    if y.dim() == 1 and outputs.dim() == 2 and outputs.shape[1] > 1:
        right = outputs.argmax(dim=1) == y
        return float(right[known(y)].double().mean())
    return _by_task(lambda out, truth: ((out > 0) == (truth > 0.5)).double().mean(), outputs, y)


def auc(outputs: Tensor, y: Tensor) -> float:
    """Return the area under the ROC curve of outputs (B,) or (B, T) for 0 and 1.

    Of the logits (B, 2) of two classes (B,), the outputs are their differences.

    Example:
        >>> from mpsn.training import METRICS
        >>> METRICS["auc"](torch.tensor([0.1, 0.4, 0.3, 0.3]), torch.tensor([0, 1, 0, 1]))
        0.875
    """

    def one(scores: Tensor, truth: Tensor) -> Tensor:
        ranked, positive = scores.sort().values, truth.double()
        below, upto = (torch.searchsorted(ranked, scores, right=right) for right in (False, True))
        ones = positive.sum()
        won = ((below + upto) / 2 * positive).sum()  # with the ties, each half
        return (won - ones * ones / 2) / (ones * (len(truth) - ones))

    if y.dim() == 1 and outputs.dim() == 2 and outputs.shape[1] == 2:
        outputs = outputs[:, 1] - outputs[:, 0]
    return _by_task(one, outputs, y)


def _by_task(one: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, y: Tensor) -> float:
    """Return the mean of a metric over the columns, each where its targets are known."""
    columns = zip(outputs.reshape(len(y), -1).T, y.reshape(len(y), -1).T, strict=True)
    values = [one(out[known(truth)], truth[known(truth)]) for out, truth in columns]
    return float(torch.stack(values).nanmean())


def _r2(outputs: Tensor, y: Tensor) -> Tensor:
    return 1 - (outputs - y).square().sum() / (y - y.mean()).square().sum()


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "auc": auc,
    "mae": lambda outputs, y: _by_task(lambda a, b: (a - b).abs().mean(), outputs, y),
    "rmse": lambda outputs, y: _by_task(lambda a, b: (a - b).square().mean().sqrt(), outputs, y),
    "r2": lambda outputs, y: _by_task(_r2, outputs, y),
}
