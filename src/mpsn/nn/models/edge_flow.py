"""Networks for flows on the edges of a complex."""

from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn.conv import OrientedConv
from mpsn.nn.models._model import Model
from mpsn.nn.readout import global_pool


class EdgeFlowNet(Model):
    """The trajectory classifiers of the paper (section 6 and appendix F).

    Layers of :class:`mpsn.nn.OrientedConv`, the absolute value (except for L₀-inv models, which
    ignore signs), the sum over edges, and a perceptron with one hidden layer. The model is
    orientation invariant, except for ``act="relu"`` without ``l0_inv``.

    =============  ====================================================
    model          keywords
    =============  ====================================================
    GNN L₀-inv     ``act="relu", l0_inv=True, upper=False``
    MPSN L₀-inv    ``act="relu", l0_inv=True``
    MPSN ReLU      ``act="relu"``
    MPSN Id        ``act="id"``
    MPSN Tanh      ``act="tanh"``
    =============  ====================================================

    Args:
        in_channels: Width of the features of edges. Defaults to 1.
        hidden: Width of all layers. Defaults to 64.
        out_channels: Number of classes. Defaults to 2.
        layers: Number of message passing layers. Defaults to 4.
        act: Non-linearity of the layers: ``"id"``, ``"tanh"`` or ``"relu"``, which breaks
            orientation equivariance. Defaults to ``"tanh"``.
        l0_inv: Whether to take the absolute value of the input and ignore orientations. Defaults to
            False.
        upper: Whether edges receive from edges of the same triangle; without, it is a GNN on edges.
            Defaults to True.

    Shapes:
        h of shape (n_1, F) gives (C, out_channels) for a union of C complexes; h of shape
        (n_1, B, F), a batch of B flows on one complex, gives (B, out_channels).

    Example:
        >>> from mpsn.nn.models import EdgeFlowNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> EdgeFlowNet(act="tanh")(K, torch.randn(78, 5, 1)).shape
        torch.Size([5, 2])
    """

    dim = 1

    def __init__(
        self,
        in_channels: int = 1,
        hidden: int = 64,
        out_channels: int = 2,
        layers: int = 4,
        act: Literal["id", "tanh", "relu"] = "tanh",
        l0_inv: bool = False,
        upper: bool = True,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.l0_inv = in_channels, l0_inv
        self.convs = torch.nn.ModuleList(
            OrientedConv(
                hidden if i else in_channels, hidden, act=act, signed=not l0_inv, upper=upper
            )
            for i in range(layers)
        )
        self.head = torch.nn.Sequential(
            torch.nn.Linear(hidden, hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, out_channels),
        )

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return one row per complex, or per flow of a batch."""
        if self.l0_inv:
            h = h.abs()
        for conv in self.convs:
            h = conv(K, h)
        out: Tensor = self.head(global_pool(K, 1, h if self.l0_inv else h.abs()))
        return out
