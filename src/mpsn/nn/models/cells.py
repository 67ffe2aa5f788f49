"""A network with an output for each cell of one dimension."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn.conv import LinearMPSNConv
from mpsn.nn.models._model import Config, Model, features_of
from mpsn.nn.models.cin import CIN, SINConfig
from mpsn.nn.readout import ComplexReadout, jump


@dataclass(frozen=True)
class CellConfig(Config):
    """Settings of :class:`CellNet`."""

    in_channels: tuple[int, ...] = (1, 1, 1)
    """Width of the features of cells, for each dimension; 0 for none."""
    hidden: int = 32
    """Width of all layers."""
    out_channels: int = 2
    """Number of outputs for each cell."""
    layers: int = 2
    """Number of message passing layers."""
    max_dim: int = 2
    """Largest dimension of the cells used."""
    dim: int = 0
    """Dimension of the cells that get outputs."""
    oriented: bool = False
    """Whether features of edges and higher cells change sign with the orientation."""
    odd: bool = False
    """Whether outputs change sign with it too, or do not depend on it; only if oriented."""
    norm: bool = True
    """Whether to use batch normalization in the layers; not if oriented."""
    dropout: float = 0.0
    """Dropout rate before the last dense layer; not of odd outputs."""


class CellNet(Model):
    """Outputs for all cells of one dimension, from messages between cells of all dimensions.

    Layers of :class:`mpsn.nn.CINConv`; if ``oriented``, of :class:`mpsn.nn.LinearMPSNConv` with
    tanh, which is orientation equivariant. Then the same perceptron for each cell, on the features
    of all layers (jumping knowledge): without biases and with tanh for ``odd`` outputs, on absolute
    values for other outputs of an oriented network, which do not depend on the orientation.

    Args:
        config: The settings.

    Shapes:
        Reads K.x, or features (n_k, F_k) per dimension passed beside K; returns
        (n_dim, out_channels).

    Example:
        >>> from mpsn.nn.models import CellConfig, CellNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> CellNet(CellConfig(dim=1))(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([78, 2])
    """

    def __init__(self, config: CellConfig) -> None:
        super().__init__(config)
        if config.dim > config.max_dim or len(config.in_channels) != config.max_dim + 1:
            raise LayerError(
                f"Expected dim up to max_dim={config.max_dim}, and widths of all dimensions up to "
                f"it, got dim={config.dim} and in_channels={config.in_channels}."
            )
        width, out = config.hidden * config.layers, config.out_channels
        self.trunk, self.head = None, None
        if not config.oriented:
            self.trunk = CIN(
                SINConfig(
                    in_channels=config.in_channels,
                    hidden=config.hidden,
                    out_channels=out,
                    layers=config.layers,
                    max_dim=config.max_dim,
                    act="relu",
                    norm=config.norm,
                    jump=True,
                    readout_dims=(config.dim,),
                    dropout=config.dropout,
                )
            )
            return
        self.project = torch.nn.ModuleList(
            torch.nn.Linear(n, config.hidden, bias=False) if n else torch.nn.Identity()
            for n in config.in_channels
        )
        self.convs = torch.nn.ModuleList(
            LinearMPSNConv(config.hidden, config.hidden, config.max_dim, act="tanh")
            for _ in range(config.layers)
        )
        if config.odd:
            self.head = torch.nn.Sequential(
                torch.nn.Linear(width, config.hidden, bias=False),
                torch.nn.Tanh(),
                torch.nn.Linear(config.hidden, out, bias=False),
            )
        else:
            self.readout = ComplexReadout(
                width, 2 * config.hidden, out, dims=(config.dim,), dropout=config.dropout
            )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per cell of dimension ``dim``."""
        if self.trunk is not None:
            return self.trunk.readout.combine(self.trunk.features(K, xs))
        given = features_of(K, xs, self.config.max_dim)
        like = next(self.convs.parameters())
        hs = [
            like.new_zeros(K.count(k), self.config.hidden)
            if not width or k >= len(given) or given[k] is None
            else self.project[k](given[k])
            for k, width in enumerate(self.config.in_channels)
        ]
        layers = []
        for conv in self.convs:
            hs = conv(K, hs)
            layers.append([hs[self.config.dim]])
        (found,) = jump(layers)  # (n_dim, layers * hidden)
        if self.head is not None:
            out: Tensor = self.head(found)
            return out
        return self.readout.combine([found.abs()])
