"""GIN, the baseline that uses vertices and edges only."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn._checks import cochains
from mpsn.nn.conv._mlp import mlp
from mpsn.nn.models._model import Model
from mpsn.nn.readout import jump


class GIN(Model):
    """The graph isomorphism network of Xu et al. 2019, as a baseline on the same complexes.

    With ``edge_channels`` the features of vertices are projected to ``hidden``, and neighbors send
    relu(h + W e + c), where e are the features of the edge, as in GINE (Hu et al. 2020).

    Args:
        in_channels: Width of the features of vertices. Defaults to 1.
        hidden: Width of all layers; twice that in the dense layer of the readout. Defaults to 16.
        out_channels: Width of the embedding, or number of classes. Defaults to 16.
        layers: Number of message passing layers. Defaults to 5.
        act: Non-linearity throughout: ``"elu"``, ``"relu"`` or ``"tanh"``. Defaults to ``"elu"``.
        norm: Whether to use batch normalization in the layers. Defaults to False.
        train_eps: Whether the extra weight of a vertex's own features is learned. Defaults to
            False.
        jump: Whether the readout uses the features of all layers (jumping knowledge). Defaults to
            False.
        readout: How to pool the vertices: ``"sum"`` or ``"mean"``. Defaults to ``"sum"``.
        dropout: Dropout rate, before the last dense layer. Defaults to 0.
        edge_channels: Width of the features of edges; 0 for none. Defaults to 0.

    Shapes:
        Reads K.x[0], and K.x[1] with ``edge_channels``, or features passed beside K; returns
        (C, out_channels) for a union of C complexes. Of (n_0, B, F) on one complex it makes
        (B, out_channels).

    Example:
        >>> from mpsn.nn.models import GIN
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> GIN()(K).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int = 1,
        hidden: int = 16,
        out_channels: int = 16,
        layers: int = 5,
        act: Literal["elu", "relu", "tanh"] = "elu",
        norm: bool = False,
        train_eps: bool = False,
        jump: bool = False,
        readout: Literal["sum", "mean"] = "sum",
        dropout: float = 0.0,
        edge_channels: int = 0,
    ) -> None:
        super().__init__(locals())
        from torch_geometric.nn import GINConv, GINEConv

        self.in_channels = [in_channels, edge_channels] if edge_channels else in_channels
        self.max_dim, self.hidden, self.jump = int(edge_channels > 0), hidden, jump
        self.project = torch.nn.ModuleList(
            torch.nn.Linear(in_channels, hidden, bias=False) for _ in range(self.max_dim)
        )
        self.edges = torch.nn.ModuleList(
            torch.nn.Linear(edge_channels, hidden) for _ in range(layers * self.max_dim)
        )
        widths = [hidden if edge_channels else in_channels] + [hidden] * layers
        self.convs = torch.nn.ModuleList(
            (GINEConv if edge_channels else GINConv)(
                mlp([n, hidden, hidden], act, norm), train_eps=train_eps
            )
            for n in widths[:-1]
        )
        self.readout = self.new_readout()

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        xs, like = self.features_of(K, xs), self.readout.last.weight
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
        out: Tensor = self.readout(K, jump(layers) if self.jump else layers[-1])
        return out
