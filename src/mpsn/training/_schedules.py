"""Learning rates: functions of the epoch, and of the losses in validation so far."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpsn.errors import MPSNError

Schedule = str | Callable[[int], float]
SCHEDULES = ("constant", "cosine", "plateau")


@dataclass(frozen=True)
class StepDecay:
    """Multiply the learning rate by a factor every so many epochs.

    Args:
        every: Number of epochs.
        factor: The factor. Defaults to 0.5.

    Example:
        >>> from mpsn.training import StepDecay
        >>> [StepDecay(every=20)(epoch) for epoch in (0, 19, 20, 40)]
        [1.0, 1.0, 0.5, 0.25]
    """

    every: int
    factor: float = 0.5

    def __post_init__(self) -> None:
        if self.every < 1 or not 0 < self.factor < math.inf:
            raise MPSNError(f"Expected every >= 1 and factor > 0, got {self}.")

    def __call__(self, epoch: int) -> float:
        """Return what the learning rate of an epoch is multiplied by."""
        return float(self.factor ** (epoch // self.every))


def factor(
    schedule: Schedule, epoch: int, epochs: int, warmup: int, patience: int, losses: Sequence[float]
) -> float:
    """Return what the learning rate of an epoch is multiplied by.

    It rises linearly in the first ``warmup`` epochs. ``losses`` are those in validation so far.

    Example:
        >>> from mpsn.training._schedules import factor
        >>> [round(factor("cosine", epoch, 4, 2, 10, []), 3) for epoch in range(4)]
        [0.5, 0.854, 0.5, 0.146]
    """
    warm = min(1.0, (epoch + 1) / warmup) if warmup else 1.0
    if schedule == "cosine":
        return warm * (1 + math.cos(math.pi * epoch / epochs)) / 2
    if schedule == "plateau":
        return warm * plateau(losses[warmup:], max(1, patience // 3))
    return warm if isinstance(schedule, str) else warm * float(schedule(epoch))


def plateau(losses: Sequence[float], patience: int) -> float:
    """Return 1, halved whenever the loss had not fallen for more than ``patience`` epochs.

    As ``torch.optim.lr_scheduler.ReduceLROnPlateau`` does.
    """
    least, waited, rate = math.inf, 0, 1.0
    for loss in losses:
        if loss < least * (1 - 1e-4):
            least, waited = loss, 0
        else:
            waited += 1
        if waited > patience:
            rate, waited = rate / 2, 0
    return rate
