"""GIN, the baseline that uses vertices and edges only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.nn import GINConv, GINEConv

from mpsn.complexes.complex import Complex
from mpsn.nn._checks import cochains
from mpsn.nn.conv._mlp import mlp
from mpsn.nn.models._model import Config, Model, features_of, readout_of
from mpsn.nn.readout import jump


@dataclass(frozen=True)
class GINConfig(Config):
    """Settings of GIN; comparable to those of SIN on the strongly regular graphs."""

    edge_channels = 0  # not a field: records of experiments are named after all fields

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


@dataclass(frozen=True)
class GINEConfig(GINConfig):
    """Settings of GIN with features of edges."""

    edge_channels: int = 1
    """Width of the features of edges."""


class GIN(Model):
    """The graph isomorphism network of Xu et al. 2019, as a baseline on the same complexes.

    With ``edge_channels``, see :class:`GINEConfig`, the features of vertices are projected to
    ``hidden``, and neighbors send relu(h + W e + c), where e are the features of the edge, as in
    GINE (Hu et al. 2020).

    Args:
        config: The settings.

    Shapes:
        Reads K.x[0], and K.x[1] with ``edge_channels``, or features passed beside K; returns
        (C, out_channels) for a union of C complexes. Of (n_0, B, F) on one complex it makes
        (B, out_channels).

    Example:
        >>> from mpsn.nn.models import GIN, GINConfig
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> GIN(GINConfig())(K).shape
        torch.Size([1, 16])
    """

    def __init__(self, config: GINConfig) -> None:
        super().__init__(config)
        edges, hidden = config.edge_channels, config.hidden
        self.in_channels = [config.in_channels, edges] if edges else config.in_channels
        self.max_dim = 1 if edges else 0
        self.project = torch.nn.ModuleList(
            torch.nn.Linear(config.in_channels, hidden, bias=False) for _ in range(self.max_dim)
        )
        self.edges = torch.nn.ModuleList(
            torch.nn.Linear(edges, hidden) for _ in range(config.layers if edges else 0)
        )
        widths = [hidden if edges else config.in_channels] + [hidden] * config.layers
        self.convs = torch.nn.ModuleList(
            (GINEConv if edges else GINConv)(
                mlp([n, hidden, hidden], config.act, config.norm), train_eps=config.train_eps
            )
            for n in widths[:-1]
        )
        self.readout = readout_of(config)

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        xs, like = features_of(K, xs, self.max_dim), self.readout.last.weight
        h, *edge = cochains(K, xs, self.max_dim, self.in_channels, like)
        ends = K.incidence(1).table.T  # (2, n_1)
        edge_index = torch.cat([ends, ends.flip(0)], dim=1)
        h = h.transpose(0, -2)  # (n, F), or (n, B, F) to (B, n, F), the layout of PyG
        for dense in self.project:
            h = dense(h)
        layers = []
        for i, conv in enumerate(self.convs):
            e = [torch.cat([self.edges[i](x)] * 2).transpose(0, -2) for x in edge]
            h = conv(h, edge_index, *e)
            layers.append([h.transpose(0, -2)])
        out: Tensor = self.readout(K, jump(layers) if self.config.jump else layers[-1])
        return out
