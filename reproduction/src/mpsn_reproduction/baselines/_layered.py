"""What the networks that stack layers share: their keywords, the layers, and sums over rows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor

from mpsn.complexes import Complex, Incidence
from mpsn.errors import LayerError
from mpsn.nn.models import Model


class Layered(Model):
    """Layers of one width, and a readout of the last, or of all of them.

    Args:
        in_channels: Width of the features of vertices; it and the others as for GIN.

    Attributes:
        layer: Makes a layer from its two widths, the name of a non-linearity and whether to use
            batch normalization.
        extra: Number of features that each vertex has beside its own.
        dims: How many kinds of features the readout pools, as if they were dimensions.
    """

    layer: ClassVar[type[torch.nn.Module]]
    extra: ClassVar[int] = 0
    dims: ClassVar[int] = 1

    def __init__(
        self,
        in_channels: int = 1,
        hidden: int = 16,
        out_channels: int = 16,
        layers: int = 5,
        act: Literal["elu", "relu", "tanh"] = "elu",
        norm: bool = False,
        jump: bool = False,
        readout: Literal["sum", "mean"] = "sum",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.max_dim, self.hidden = in_channels, 0, hidden
        self.jump, self.mean = jump, readout == "mean"
        widths = [in_channels + self.extra] + [hidden] * layers
        self.layers = torch.nn.ModuleList(self.layer(*w, act, norm) for w in pairwise(widths))
        self.readout = self.new_readout(dims=range(self.dims))

    def through_layers(self, h: Tensor, graph: object) -> Tensor:
        """Return the features after the last layer, or after all of them side by side."""
        outs = []
        for layer in self.layers:
            h = layer(h, graph)
            outs.append(h)
        return torch.cat(outs, dim=-1) if self.jump else h


def vertex_features(model: Model, K: Complex, xs: Sequence[Tensor | None] | None) -> Tensor:
    """Return the features of the vertices, those of the complex or those passed beside it."""
    x = model.features_of(K, xs)[0]
    if x is None:
        raise LayerError("Expected features of the vertices, got none; set them with replace(x=).")
    return x


def offsets_of(sizes: Tensor) -> Tensor:
    """Return where groups of consecutive rows begin, and where the last one ends, (n + 1,)."""
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def summing(items: Tensor, sizes: Tensor, count: int) -> Incidence:
    """Return the sums of groups of rows: the first ``sizes[0]`` items, then the next, and so on."""
    return Incidence.unchecked(items, count, ptr=offsets_of(sizes))


def ranges(starts: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers of ranges one after another: which range each is from, and the number.

    Example:
        >>> from mpsn_reproduction.baselines._layered import ranges
        >>> ranges(torch.tensor([5, 0]), torch.tensor([2, 3]))
        (tensor([0, 0, 1, 1, 1]), tensor([5, 6, 0, 1, 2]))
    """
    which = torch.repeat_interleave(sizes)
    shift = starts - offsets_of(sizes)[:-1]
    return which, torch.arange(len(which), device=sizes.device) + shift[which]
