"""Perceptrons and projections that also work for dimensions without cells."""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn._checks import Activation, activation


class RowNorm(torch.nn.Module):
    """Batch normalization over all rows of (n, ..., F).

    Fewer than two rows have no variance: the running statistics are used, and not updated, then.

    Args:
        channels: Width F of the features.

    Example:
        >>> mpsn.nn.RowNorm(2)(torch.zeros(0, 2)).shape
        torch.Size([0, 2])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return normalized features of the same shape."""
        rows = x.reshape(-1, x.shape[-1])
        if rows.shape[0] > 1:
            return self.norm(rows).view(x.shape)  # type: ignore[no-any-return]
        n = self.norm
        out = nnf.batch_norm(rows, n.running_mean, n.running_var, n.weight, n.bias, eps=n.eps)
        return out.view(x.shape)


class Function(torch.nn.Module):
    """A function as a module."""

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
    """Build a perceptron: Linear, [RowNorm,] activation for each step of ``widths``.

    Args:
        widths: Width of the input, and of each layer.
        act: Non-linearity, such as ``"relu"``, or a function.
        norm: Whether to use :class:`RowNorm`. Defaults to False.
        first: Kind of the first dense layer. Defaults to :class:`torch.nn.Linear`.

    Example:
        >>> mpsn.nn.mlp([3, 8, 2], "relu")(torch.zeros(5, 3)).shape
        torch.Size([5, 2])
    """
    layers: list[torch.nn.Module] = []
    for n_in, n_out in pairwise(widths):
        layers.append((torch.nn.Linear if layers else first)(n_in, n_out))
        if norm:
            layers.append(RowNorm(n_out))
        # RowNorm returns a view, which would have to be copied before in-place activation.
        function = activation(act, inplace=not norm)
        layers.append(function if isinstance(function, torch.nn.Module) else Function(function))
    return torch.nn.Sequential(*layers)


class Project(torch.nn.ModuleList):
    """Dense layers without biases that bring features of several widths to one.

    Cells without features get the mean over their faces; or zeros, if ``odd``: the mean would
    depend on the orientation.

    Args:
        widths: The width of each dimension, 0 for none.
        width: Width F of the result.
        odd: Whether features change sign with the orientation. Defaults to False.

    Shapes:
        One tensor (n_k, ..., F_k) per dimension in; F instead of F_k out.
    """

    def __init__(self, widths: Sequence[int], width: int, odd: bool = False) -> None:
        super().__init__(
            torch.nn.Linear(n, width, bias=False) if n else torch.nn.Identity() for n in widths
        )
        self.width, self.odd = width, odd

    def forward(self, K: Complex, hs: Sequence[Tensor]) -> list[Tensor]:
        """Return features of one width."""
        out: list[Tensor] = []
        for k, (dense, h) in enumerate(zip(self, hs, strict=True)):
            if h.shape[-1]:
                out.append(dense(h))
            elif self.odd:
                out.append(h.new_zeros(*h.shape[:-1], self.width))
            else:
                out.append(K.incidence(k).from_faces(out[k - 1], reduce="mean"))
        return out
