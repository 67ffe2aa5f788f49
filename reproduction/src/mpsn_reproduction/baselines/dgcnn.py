"""Deep graph convolutional networks with sort pooling."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor
from torch.nn import Conv1d, Dropout, Flatten, Linear, MaxPool1d, ReLU
from torch_geometric.nn import SimpleConv, SortAggregation
from torch_geometric.nn.resolver import activation_resolver

from mpsn.complexes import Complex
from mpsn.nn import global_pool
from mpsn.nn.models import Model
from mpsn_reproduction.baselines._layered import vertex_features

KEPT = 30  # vertices of a graph


class DGCNN(Model):
    r"""The deep graph convolutional network (Zhang et al. 2018, "Graph convolution layers").

    .. math:: Z^{t+1} = f(\tilde{D}^{-1} \tilde{A} Z^t W^t), \qquad \tilde{A} = A + I

    ``layers`` times with width ``hidden``, then once with width 1, by which the vertices are
    sorted; the convolutions and dense layers of the paper read the features of all layers of the
    30 highest, in descending order. Graphs with fewer vertices are filled up with zeros.

    Args:
        in_channels: Width of the features of vertices.
        hidden: Width of the layers.
        out_channels: Number of classes.
        layers: Number of layers before the one of width 1.
        act: f.
        dropout: Dropout rate before the last layer.

    Shapes:
        Reads K.x[0], (n_0, in_channels), or features passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn_reproduction.baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["dgcnn"]()(K).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int = 1,
        hidden: int = 16,
        out_channels: int = 16,
        layers: int = 5,
        act: Literal["elu", "relu", "tanh"] = "elu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.max_dim = in_channels, 0
        widths = [in_channels] + [hidden] * layers + [1]
        total = sum(widths[1:])
        self.mean = SimpleConv(aggr="mean", combine_root="self_loop")
        self.layers = torch.nn.ModuleList(Linear(*ends, bias=False) for ends in pairwise(widths))
        self.act = activation_resolver(act)
        self.sort = SortAggregation(KEPT)
        self.convs = torch.nn.Sequential(
            Conv1d(1, 16, total, stride=total), ReLU(), MaxPool1d(2), Conv1d(16, 32, 5), ReLU()
        )
        self.dense = torch.nn.Sequential(
            Flatten(), Linear(32 * (KEPT // 2 - 4), 128), ReLU(), Dropout(dropout)
        )
        self.last = Linear(128, out_channels)

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        h = vertex_features(self, K, xs)
        ends = K.incidence(1).table.T  # (2, n_1)
        edge_index = torch.cat([ends, ends.flip(0)], dim=1)
        every = []
        for layer in self.layers:
            h = self.act(self.mean(layer(h), edge_index))
            every.append(h)
        rows = global_pool(K, 0, torch.cat(every, dim=1), self.sort)  # (C, 30 total)
        out: Tensor = self.last(self.dense(self.convs(rows[:, None])))
        return out
