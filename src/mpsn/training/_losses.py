"""Losses and metrics by name, for targets of which some may be missing."""

from collections.abc import Callable, Mapping, Sequence

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


def loss_of(loss: str | Loss, class_weight: Sequence[float] | Tensor | None = None) -> Loss:
    """Return a loss by its name: the mean over the targets that are known; functions pass.

    Args:
        loss: ``"cross_entropy"`` of classes (B,), of which -1 is unknown;
            ``"binary_cross_entropy"`` of tasks (B, T) of 0 and 1, where -1 or NaN is unknown; or
            ``"mse"``, ``"mae"`` or ``"huber"`` of numbers (B,) or (B, T), where NaN is unknown.
        class_weight: Weights of the classes, (C,), or of 0 and 1 in each task, (T, 2).

    Example:
        >>> from mpsn.training import loss_of
        >>> loss_of("mae")(torch.tensor([[1.0], [5.0]]), torch.tensor([3.0, torch.nan]))
        tensor(2.)
    """
    if not isinstance(loss, str):
        return lambda outputs, y: loss(outputs, y).mean()
    if loss not in LOSSES:
        raise MPSNError(
            f"Expected a loss among {', '.join(LOSSES)}, or a function, got {loss!r:.40}."
            f"{did_you_mean(loss, LOSSES)}"
        )
    each, weights = LOSSES[loss], None
    if class_weight is not None:
        weights = torch.as_tensor(np.asarray(class_weight), dtype=torch.float32)

    def mean(outputs: Tensor, y: Tensor) -> Tensor:
        shaped = y if loss == "cross_entropy" else y.reshape(len(y), -1)
        share = known(shaped).to(outputs.dtype)
        target = torch.where(known(shaped), shaped, 0)
        if weights is not None and loss == "cross_entropy":
            share = share * weights.to(outputs.device)[target]
        elif weights is not None:
            zero, one = weights.to(outputs.device).unbind(dim=-1)
            share = share * torch.where(target == 1, one, zero)
        return (each(outputs, target) * share).sum() / share.sum().clamp(min=1e-6)

    return mean


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
