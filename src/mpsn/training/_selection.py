"""Which epoch a protocol reports: the one that is best in validation."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpsn.errors import MPSNError

Curve = Sequence[float] | NDArray[np.float64]


class Selected(NamedTuple):
    """The selected epoch, and the values of both curves there."""

    epoch: int
    validation: float
    test: float


def best_epoch(curve: Curve, *, highest: bool = True) -> int:
    """Return the first epoch with the best value of a curve.

    NaN is worse than any number; if there is nothing else, it is the first epoch.

    Args:
        curve: A value for each epoch.
        highest: Whether the best value is the highest. Defaults to True.

    Example:
        >>> from mpsn.training import best_epoch
        >>> best_epoch([float("nan"), 0.5, 0.7, 0.7])
        2
    """

    def rank(epoch: int) -> tuple[bool, float]:
        value = float(curve[epoch])
        return (False, 0.0) if math.isnan(value) else (True, value if highest else -value)

    return max(range(len(curve)), key=rank)


def select(validation: Curve, test: Curve, *, highest: bool = True) -> Selected:
    """Select an epoch by the validation curve alone; report the test curve there.

    Args:
        validation: The value in validation after each epoch.
        test: The value in testing after each epoch, of the same length.
        highest: Whether high values are good. Defaults to True.

    Example:
        >>> from mpsn.training import select
        >>> select([0.5, 0.7, 0.7], [0.9, 0.4, 0.6])
        Selected(epoch=1, validation=0.7, test=0.4)
    """
    if len(validation) != len(test):
        raise MPSNError(
            f"Expected two curves over the same epochs, got {len(validation)} and {len(test)}."
        )
    epoch = best_epoch(validation, highest=highest)
    return Selected(epoch, float(validation[epoch]), float(test[epoch]))
