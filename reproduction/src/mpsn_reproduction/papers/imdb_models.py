"""Variants of SIN and GIN for the study on the IMDB sets."""

from typing import Any, Literal

import torch
from torch import Tensor

from mpsn.complexes import Incidence
from mpsn.nn import RowNorm
from mpsn.nn.conv import CINConv
from mpsn.nn.models import GIN, SIN
from mpsn_reproduction.settings import Network

Messages = Literal["sum", "sqrt", "mean"]
Norm = Literal["batch", "layer"]
POWERS = {"sqrt": 0.5, "mean": 1.0}


class ScaledConv(CINConv):
    """SIN's layer, where sums of upper messages are divided by a power of their number."""

    def __init__(self, power: float, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.power = power

    def upper(self, k: int, h: Tensor, coface: Tensor, incidence: Incidence) -> Tensor:
        """Return the scaled sums of messages from the upper neighbors of the k-cells."""
        number = incidence.upper(h.new_ones(h.shape[0], 1))  # (n_k, 1)
        return super().upper(k, h, coface, incidence) / number.clamp(min=1) ** self.power


def network(config: Network[SIN] | Network[GIN], messages: Messages, norm: Norm) -> SIN | GIN:
    """Build a network.

    Args:
        config: The network, with sums.
        messages: How SIN reduces messages of upper neighbors.
        norm: Where batch normalization is set, whether it stays, or each cell is normalized over
            its features, without weights.

    Example:
        >>> from mpsn_reproduction.papers.imdb_models import network
        >>> K = mpsn.clique_complex(nx.complete_graph(4), max_dim=2)
        >>> K = K.replace(x=[torch.ones(n, 1) for n in K.counts])
        >>> network(Network(mpsn.nn.models.SIN, norm=True), "mean", "layer")(K).shape
        torch.Size([1, 16])
    """
    model = config()
    if isinstance(model, SIN) and messages != "sum":
        model.convs = torch.nn.ModuleList(
            ScaledConv(
                POWERS[messages],
                config.hidden if i else config.in_channels,
                config.hidden,
                config.max_dim,
                coface_message=config.coface_message,
                act=config.act,
                norm=config.norm,
            )
            for i in range(config.layers)
        )
    for part in list(model.modules()) if norm == "layer" else ():
        if isinstance(part, torch.nn.Sequential):
            for i, layer in enumerate(part):
                if isinstance(layer, RowNorm):
                    width = layer.norm.num_features
                    part[i] = torch.nn.LayerNorm(width, elementwise_affine=False)
    return model
