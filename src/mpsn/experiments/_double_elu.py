"""ELU in double precision on a CPU, in a quarter of the time of torch's."""

import copy
import math
from typing import TypeVar

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

M = TypeVar("M", bound=torch.nn.Module)
LOG2_E = 1 / math.log(2)
# ln 2 in two parts, the first of so few digits that its multiples are exact
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
TO_INTEGER = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer
LEAST = -40.0  # where e^x - 1 is -1 in double precision
TAYLOR = tuple(1 / math.factorial(i) for i in range(13, 1, -1))


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def elu(x: NDArray[np.float64]) -> None:
    """Replace x <= 0 by e^x - 1, with an error of at most two units in the last place.

    With x = n ln 2 + r it is 2^n (e^r - 1) + (2^n - 1), and e^r - 1 is a Taylor series. There are
    no branches, so that the compiler computes several numbers at a time.
    """
    for i in range(x.size):
        v = x[i]
        w = min(max(v, LEAST), 0.0)
        n = (w * LOG2_E + TO_INTEGER) - TO_INTEGER
        r = (w - n * LN2_HIGH) - n * LN2_LOW
        series = 0.0
        for term in TAYLOR:
            series = series * r + term
        power = np.int64((np.int64(n) + 1023) << 52).view(np.float64)  # 2^n, by its bits
        below = power * (series * r * r + r) + (power - 1.0)
        x[i] = v if v > 0.0 else below


class DoubleELU(torch.nn.Module):
    """ELU in place, without gradients, of contiguous doubles on a CPU.

    Example:
        >>> from mpsn.experiments._double_elu import DoubleELU
        >>> x = torch.linspace(-50, 5, 1000, dtype=torch.float64)
        >>> torch.allclose(DoubleELU()(x.clone()), torch.nn.functional.elu(x), rtol=1e-15)
        True
    """

    def forward(self, x: Tensor) -> Tensor:
        """Overwrite x, and return it."""
        elu(x.view(-1).numpy())
        return x


def with_double_elu(network: M) -> M:
    """Return a copy with these in place of torch's, or the network itself if they do not apply."""
    weight = next(network.parameters())
    if not weight.is_cpu or weight.dtype != torch.float64:
        return network
    network = copy.deepcopy(network)
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, torch.nn.ELU):
                setattr(module, name, DoubleELU())
    return network
