"""A network with an output for each cell of one dimension."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn._checks import cochains
from mpsn.nn.conv import CINConv, LinearMPSNConv
from mpsn.nn.conv._mlp import Project
from mpsn.nn.models._model import Model
from mpsn.nn.readout import ComplexReadout, jump


class CellNet(Model):
    """Outputs for all cells of one dimension, from messages between cells of all dimensions.

    Layers of :class:`mpsn.nn.CINConv`; if ``oriented``, of :class:`mpsn.nn.LinearMPSNConv` with
    tanh, which is orientation equivariant. Then the same perceptron for each cell, on the features
    of all layers (jumping knowledge): without biases and with tanh for ``odd`` outputs, on absolute
    values for other outputs of an oriented network, which do not depend on the orientation.

    Args:
        in_channels: Width of the features of cells, for each dimension; 0 for none. Defaults to 1.
        hidden: Width of all layers. Defaults to 32.
        out_channels: Number of outputs for each cell. Defaults to 2.
        layers: Number of message passing layers. Defaults to 2.
        max_dim: Largest dimension of the cells used. Defaults to 2.
        dim: Dimension of the cells that get outputs. Defaults to 0.
        oriented: Whether features of edges and higher cells change sign with the orientation.
            Defaults to False.
        odd: Whether outputs change sign with it too, or do not depend on it; only if oriented.
            Defaults to False.
        norm: Whether to use batch normalization in the layers; not if oriented. Defaults to True.
        dropout: Dropout rate before the last dense layer; not of odd outputs. Defaults to 0.

    Shapes:
        Reads K.x, or features (n_k, F_k) per dimension passed beside K; returns
        (n_dim, out_channels).

    Example:
        >>> from mpsn.nn.models import CellNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> CellNet(dim=1)(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([78, 2])
    """

    def __init__(
        self,
        in_channels: tuple[int, ...] = (1, 1, 1),
        hidden: int = 32,
        out_channels: int = 2,
        layers: int = 2,
        max_dim: int = 2,
        dim: int = 0,
        oriented: bool = False,
        odd: bool = False,
        norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(locals())
        if dim > max_dim or len(in_channels) != max_dim + 1:
            raise LayerError(
                f"Expected dim up to max_dim={max_dim}, and widths of all dimensions up to it, got "
                f"dim={dim} and in_channels={in_channels}."
            )
        self.in_channels, self.max_dim, self.out_dim = in_channels, max_dim, dim
        self.oriented = oriented
        last = hidden * layers
        self.project = Project(in_channels if oriented else (), hidden, odd=True)
        self.convs = torch.nn.ModuleList(
            LinearMPSNConv(hidden, hidden, max_dim, act="tanh")
            if oriented
            else CINConv(hidden if i else in_channels, hidden, max_dim, act="relu", norm=norm)
            for i in range(layers)
        )
        self.head: ComplexReadout | torch.nn.Sequential
        if oriented and odd:
            self.head = torch.nn.Sequential(
                torch.nn.Linear(last, hidden, bias=False),
                torch.nn.Tanh(),
                torch.nn.Linear(hidden, out_channels, bias=False),
            )
        else:
            self.head = ComplexReadout(last, 2 * hidden, out_channels, dims=(dim,), dropout=dropout)

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per cell of dimension ``dim``."""
        hs = self.features_of(K, xs)
        if self.oriented:
            like = next(self.parameters())
            hs = self.project(K, cochains(K, hs, self.max_dim, self.in_channels, like))
        layers, last = [], self.convs[-1]
        for conv in self.convs[:-1]:
            hs = conv(K, hs)
            layers.append([hs[self.out_dim]])
        if self.oriented:
            layers.append([last(K, hs)[self.out_dim]])
        else:
            layers.append(last(K, hs, (self.out_dim,)))
        (h,) = jump(layers)  # (n_dim, layers * hidden)
        if isinstance(self.head, ComplexReadout):
            return self.head.combine([h.abs() if self.oriented else h])
        out: Tensor = self.head(h)
        return out
