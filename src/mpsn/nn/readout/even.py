"""Orientation invariant readouts."""

from collections.abc import Callable

import torch
from torch import Tensor


class Even(torch.nn.Module):
    r"""Make any function even, :math:`\psi(x) = f(x) + f(-x)` (appendix D of the paper).

    An even function before a sum over cells makes a readout orientation invariant. The simplest one
    is the absolute value, ``torch.abs``.

    Args:
        function: f, on (n, ..., F); a module's parameters are learned.

    Example:
        >>> psi = mpsn.nn.Even(torch.nn.Linear(2, 3))
        >>> x = torch.randn(5, 2)
        >>> torch.equal(psi(x), psi(-x))
        True
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Return f(x) + f(-x)."""
        turned = -x  # before f, which only gets copies as it may be in-place
        return self.function(-turned) + self.function(turned)
