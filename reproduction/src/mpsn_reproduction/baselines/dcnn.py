"""Diffusion-convolutional networks."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.nn import SimpleConv
from torch_geometric.nn.resolver import activation_resolver

from mpsn.complexes import Complex
from mpsn.nn import global_pool
from mpsn.nn.models import Model
from mpsn_reproduction.baselines._layered import vertex_features


class DCNN(Model):
    r"""The diffusion-convolutional network for graphs (Atwood & Towsley 2016, section "Model").

    .. math:: Z_j = f\big(W_j \odot \tfrac{1}{n} 1^T P^j X\big), \qquad P = D^{-1} A

    for j = 0, ..., ``layers``, with a linear layer on all of them.

    Args:
        in_channels: Width of the features of vertices.
        out_channels: Number of classes.
        layers: Number of steps.
        act: f.
        dropout: Dropout rate before the last layer.

    Shapes:
        Reads K.x[0], (n_0, in_channels), or features passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn_reproduction.baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["dcnn"]()(K).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int = 1,
        out_channels: int = 16,
        layers: int = 5,
        act: Literal["elu", "relu", "tanh"] = "elu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.max_dim, self.layers = in_channels, 0, layers
        width = in_channels * (layers + 1)
        self.step = SimpleConv(aggr="mean")
        self.weight = torch.nn.Parameter(torch.empty(width).normal_())
        self.act, self.dropout = activation_resolver(act), torch.nn.Dropout(dropout)
        self.last = torch.nn.Linear(width, out_channels)

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        h = vertex_features(self, K, xs)
        ends = K.incidence(1).table.T  # (2, n_1)
        edge_index = torch.cat([ends, ends.flip(0)], dim=1)
        means = [global_pool(K, 0, h, "mean")]  # (C, F)
        for _ in range(self.layers):
            h = self.step(h, edge_index)
            means.append(global_pool(K, 0, h, "mean"))
        out: Tensor = self.last(self.dropout(self.act(self.weight * torch.cat(means, dim=1))))
        return out
