"""GIN, the baseline that uses vertices and edges only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.nn import GINConv

from mpsn.complexes.complex import Complex
from mpsn.nn._checks import cochains
from mpsn.nn.conv._mlp import mlp
from mpsn.nn.models._model import Config, Model, features_of
from mpsn.nn.readout import ComplexReadout, jump


@dataclass(frozen=True)
class GINConfig(Config):
    """Settings of GIN; comparable to those of SIN on the strongly regular graphs."""

    in_channels: int = 1
    """Width of the features of vertices."""
    hidden: int = 16
    """Width of all layers; twice that in the dense layer of the readout."""
    out_channels: int = 16
    """Width of the embedding, or number of classes."""
    layers: int = 5
    """Number of message passing layers."""
    act: Literal["elu", "relu", "tanh"] = "elu"
    """Non-linearity throughout."""
    norm: bool = False
    """Whether to use batch normalization in the layers."""
    train_eps: bool = False
    """Whether the extra weight of a vertex's own features is learned."""
    jump: bool = False
    """Whether the readout uses the features of all layers (jumping knowledge)."""
    readout: Literal["sum", "mean"] = "sum"
    """How to pool the vertices."""
    dropout: float = 0.0
    """Dropout rate, before the last dense layer."""


class GIN(Model):
    """The graph isomorphism network of Xu et al. 2019, as a baseline on the same complexes.

    Args:
        config: The settings.

    Shapes:
        Reads K.x[0], or [x] passed beside K; returns (C, out_channels) for a union of C complexes.
        Of (n_0, B, F) on one complex it makes (B, out_channels).

    Example:
        >>> from mpsn.nn.models import GIN, GINConfig
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> GIN(GINConfig())(K).shape
        torch.Size([1, 16])
    """

    max_dim = 0

    def __init__(self, config: GINConfig) -> None:
        super().__init__(config)
        self.in_channels = config.in_channels
        widths = [config.in_channels] + [config.hidden] * config.layers
        self.convs = torch.nn.ModuleList(
            GINConv(
                mlp([n, config.hidden, config.hidden], config.act, config.norm),
                train_eps=config.train_eps,
            )
            for n in widths[:-1]
        )
        self.readout = ComplexReadout(
            config.hidden * (config.layers if config.jump else 1),
            2 * config.hidden,
            config.out_channels,
            dims=(0,),
            reduce=config.readout,
            act=config.act,
            bias=not config.jump,
            dropout=config.dropout,
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        (h,) = cochains(K, features_of(K, xs, 0), 0, self.in_channels, self.readout.last.weight)
        ends = K.incidence(1).table.T  # (2, n_1)
        edge_index = torch.cat([ends, ends.flip(0)], dim=1)
        h = h.transpose(0, -2)  # (n, F), or (n, B, F) to (B, n, F), the layout of PyG
        layers = []
        for conv in self.convs:
            h = conv(h, edge_index)
            layers.append([h.transpose(0, -2)])
        out: Tensor = self.readout(K, jump(layers) if self.config.jump else layers[-1])
        return out
