"""Small perceptrons that do not mind a dimension without simplices."""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.nn.checks import activation
from mpsn.nn.functional.dense import split_linear
from mpsn.nn.functional.transposes import add_into


class RowNorm(torch.nn.Module):
    """Batch normalisation over all rows of (n, ..., F).

    A batch may hold no simplex of some dimension, or one; neither has a variance. There the running
    statistics serve, in training too, and they are left alone.

    Args:
        channels: Width F.

    Example:
        >>> from mpsn.nn.conv.mlp import RowNorm
        >>> RowNorm(2)(torch.zeros(0, 2)).shape
        torch.Size([0, 2])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise; shapes stay."""
        rows = x.reshape(-1, x.shape[-1])
        if rows.shape[0] > 1:
            return self.norm(rows).view(x.shape)  # type: ignore[no-any-return]
        n = self.norm
        out = nnf.batch_norm(rows, n.running_mean, n.running_var, n.weight, n.bias, eps=n.eps)
        return out.view(x.shape)


class SplitLinear(torch.nn.Linear):
    """A dense layer that takes the concatenation of two tensors (n, ..., F_i), or both as they are.

    Then the concatenation is not formed, nor kept for the derivative beside the tensors themselves.

    Example:
        >>> from mpsn.nn.conv.mlp import SplitLinear
        >>> SplitLinear(5, 2)([torch.zeros(7, 3), torch.zeros(7, 2)]).shape
        torch.Size([7, 2])
    """

    def forward(self, x: Tensor | Sequence[Tensor]) -> Tensor:
        """Return (n, ..., G)."""
        if isinstance(x, Tensor):
            return super().forward(x)
        left, right = split_linear(x, self.weight, self.bias)
        return add_into(left, right)


def mlp(
    widths: list[int], act: str, norm: bool = False, first: type[torch.nn.Linear] = torch.nn.Linear
) -> torch.nn.Sequential:
    """Build Linear, [RowNorm,] activation once per step of ``widths``.

    Args:
        widths: Widths of the input and of every dense layer's output.
        act: Name of the activation.
        norm: Whether to normalise before it.
        first: Kind of the first dense layer, :class:`SplitLinear` for an input in parts.

    Example:
        >>> from mpsn.nn.conv.mlp import mlp
        >>> mlp([3, 8, 2], "relu")(torch.zeros(5, 3)).shape
        torch.Size([5, 2])
    """
    layers: list[torch.nn.Module] = []
    for n_in, n_out in pairwise(widths):
        layers.append((torch.nn.Linear if layers else first)(n_in, n_out))
        if norm:
            layers.append(RowNorm(n_out))
        # What RowNorm returns is a view, which would have to be copied first.
        layers.append(activation(act, inplace=not norm))  # type: ignore[arg-type]
    return torch.nn.Sequential(*layers)
