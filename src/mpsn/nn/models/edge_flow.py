"""Networks for flows on the edges of a complex."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn.conv import OrientedConv
from mpsn.nn.models._model import Config, Model
from mpsn.nn.readout import global_pool


@dataclass(frozen=True)
class EdgeFlowConfig(Config):
    """Settings of an edge-flow network. The defaults are those of MPSN Tanh."""

    in_channels: int = 1
    """Width of the features of edges."""
    hidden: int = 64
    """Width of all layers."""
    out_channels: int = 2
    """Number of classes."""
    layers: int = 4
    """Number of message passing layers."""
    act: Literal["id", "tanh", "relu"] = "tanh"
    """Non-linearity of the layers; relu breaks orientation equivariance."""
    l0_inv: bool = False
    """Whether to take the absolute value of the input and ignore orientations."""
    upper: bool = True
    """Whether edges receive from edges of the same triangle; without, it is a GNN on edges."""


class EdgeFlowNet(Model):
    """The trajectory classifiers of the paper (section 6 and appendix F).

    Layers of :class:`mpsn.nn.OrientedConv`, the absolute value (except for L₀-inv models, which
    ignore signs), the sum over edges, and a perceptron with one hidden layer. The model is
    orientation invariant, except for ``act="relu"`` without ``l0_inv``.

    =============  ====================================================
    model          settings
    =============  ====================================================
    GNN L₀-inv     ``act="relu", l0_inv=True, upper=False``
    MPSN L₀-inv    ``act="relu", l0_inv=True``
    MPSN ReLU      ``act="relu"``
    MPSN Id        ``act="id"``
    MPSN Tanh      ``act="tanh"``
    =============  ====================================================

    Args:
        config: The settings.

    Shapes:
        h of shape (n_1, F) gives (C, out_channels) for a union of C complexes; h of shape
        (n_1, B, F), a batch of B flows on one complex, gives (B, out_channels).

    Example:
        >>> from mpsn.nn.models import EdgeFlowConfig, EdgeFlowNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> EdgeFlowNet(EdgeFlowConfig(act="tanh"))(K, torch.randn(78, 5, 1)).shape
        torch.Size([5, 2])
    """

    dim = 1

    def __init__(self, config: EdgeFlowConfig) -> None:
        super().__init__(config)
        self.in_channels = config.in_channels
        self.convs = torch.nn.ModuleList(
            OrientedConv(
                config.in_channels if i == 0 else config.hidden,
                config.hidden,
                act=config.act,
                signed=not config.l0_inv,
                upper=config.upper,
            )
            for i in range(config.layers)
        )
        self.head = torch.nn.Sequential(
            torch.nn.Linear(config.hidden, config.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(config.hidden, config.out_channels),
        )

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return one row per complex, or per flow of a batch."""
        if self.config.l0_inv:
            h = h.abs()
        for conv in self.convs:
            h = conv(K, h)
        out: Tensor = self.head(global_pool(K, 1, h if self.config.l0_inv else h.abs()))
        return out
