"""Small perceptrons that do not mind a dimension without cells."""

from itertools import pairwise

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.nn._checks import Activation, activation


class RowNorm(torch.nn.Module):
    """Batch normalization over all rows of (n, ..., F).

    A batch may hold no cell of some dimension, or one; neither has a variance. There the running
    statistics serve, in training too, and they are left alone.

    Args:
        channels: Width F.

    Example:
        >>> from mpsn.nn.conv._mlp import RowNorm
        >>> RowNorm(2)(torch.zeros(0, 2)).shape
        torch.Size([0, 2])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize; shapes stay."""
        rows = x.reshape(-1, x.shape[-1])
        if rows.shape[0] > 1:
            return self.norm(rows).view(x.shape)  # type: ignore[no-any-return]
        n = self.norm
        out = nnf.batch_norm(rows, n.running_mean, n.running_var, n.weight, n.bias, eps=n.eps)
        return out.view(x.shape)


class Function(torch.nn.Module):
    """A function as a module, to stand in a sequence."""

    def __init__(self, function: Activation) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Return f(x)."""
        return self.function(x)


def mlp(
    widths: list[int],
    act: str | Activation,
    norm: bool = False,
    first: type[torch.nn.Linear] = torch.nn.Linear,
) -> torch.nn.Sequential:
    """Build Linear, [RowNorm,] activation once per step of ``widths``.

    Args:
        widths: Widths of the input and of every dense layer's output.
        act: The activation, by name or itself.
        norm: Whether to normalize before it.
        first: Kind of the first dense layer.

    Example:
        >>> from mpsn.nn.conv._mlp import mlp
        >>> mlp([3, 8, 2], "relu")(torch.zeros(5, 3)).shape
        torch.Size([5, 2])
    """
    layers: list[torch.nn.Module] = []
    for n_in, n_out in pairwise(widths):
        layers.append((torch.nn.Linear if layers else first)(n_in, n_out))
        if norm:
            layers.append(RowNorm(n_out))
        # What RowNorm returns is a view, which would have to be copied first.
        function = activation(act, inplace=not norm)
        layers.append(function if isinstance(function, torch.nn.Module) else Function(function))
    return torch.nn.Sequential(*layers)
