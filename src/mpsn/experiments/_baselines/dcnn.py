"""Diffusion-convolutional networks."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.nn import SimpleConv

from mpsn.complexes.complex import Complex
from mpsn.nn import global_pool
from mpsn.nn._checks import activation, cochains
from mpsn.nn.models import GINConfig
from mpsn.nn.models._model import Model, features_of


class DCNN(Model):
    r"""The diffusion-convolutional network for graphs (Atwood & Towsley 2016, section "Model").

    .. math:: Z_j = f\big(W_j \odot \tfrac{1}{n} 1^T P^j X\big), \qquad P = D^{-1} A

    for j = 0, ..., ``layers``, with a linear layer on all of them. Of the settings it reads
    ``layers``, ``act``, ``dropout`` and the widths of input and output.

    Args:
        config: The settings of GIN.

    Shapes:
        Reads K.x[0], (n_0, in_channels), or features passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn.experiments._baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["dcnn"](mpsn.nn.models.GINConfig())(K).shape
        torch.Size([1, 16])
    """

    def __init__(self, config: GINConfig) -> None:
        super().__init__(config)
        width = config.in_channels * (config.layers + 1)
        self.step = SimpleConv(aggr="mean")
        self.weight = torch.nn.Parameter(torch.empty(width).normal_())
        self.act, self.dropout = activation(config.act), torch.nn.Dropout(config.dropout)
        self.last = torch.nn.Linear(width, config.out_channels)

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        xs = features_of(K, xs, 0)
        (h,) = cochains(K, xs, 0, self.config.in_channels, self.last.weight)
        ends = K.incidence(1).table.T  # (2, n_1)
        edge_index = torch.cat([ends, ends.flip(0)], dim=1)
        means = [global_pool(K, 0, h, "mean")]  # (C, F)
        for _ in range(self.config.layers):
            h = self.step(h, edge_index)
            means.append(global_pool(K, 0, h, "mean"))
        out: Tensor = self.last(self.dropout(self.act(self.weight * torch.cat(means, dim=1))))
        return out
