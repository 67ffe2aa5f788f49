"""A network of general message passing layers, as the experiments on single complexes use it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import MPSNConv


class GeneralNet(torch.nn.Module):
    """Layers of messages from faces, co-faces, lower and upper neighbors.

    Messages are dense layers, averaged over the senders; the update is a perceptron of the cell and
    the four means, added to the cell. Each dimension has its own weights.

    Args:
        widths: Width of the input per dimension.
        hidden: Width of the layers.
        layers: Number of layers.

    Shapes:
        (n_k, widths[k]) per dimension in, (n_k, hidden) out.
    """

    def __init__(self, widths: Sequence[int], hidden: int, layers: int) -> None:
        super().__init__()
        self.project = torch.nn.ModuleList(torch.nn.Linear(n, hidden) for n in widths)
        self.layers = torch.nn.ModuleList(_layer(len(widths), hidden) for _ in range(layers))

    def forward(self, K: Complex, xs: Sequence[Tensor]) -> list[Tensor]:
        """Return features of the cells of each dimension."""
        hs = [project(x) for project, x in zip(self.project, xs, strict=True)]
        for layer in self.layers:
            hs = [h + new for h, new in zip(hs, layer(K, hs), strict=True)]
        return hs


def _layer(dims: int, hidden: int) -> MPSNConv:
    def dense() -> list[torch.nn.Module]:
        return [torch.nn.Linear(hidden, hidden, bias=False) for _ in range(dims)]

    return MPSNConv(
        [_Update(hidden) for _ in range(dims)],
        boundary=dense(),
        coboundary=dense(),
        lower=dense(),
        upper=dense(),
        aggr="mean",
    )


class _Update(torch.nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.own = torch.nn.Linear(hidden, hidden)
        self.out = torch.nn.Linear(hidden, hidden)

    def forward(
        self, receiver: Tensor, boundary: Tensor, coboundary: Tensor, lower: Tensor, upper: Tensor
    ) -> Tensor:
        total = self.own(receiver) + boundary + coboundary + lower + upper
        out: Tensor = self.out(total.relu())
        return out
