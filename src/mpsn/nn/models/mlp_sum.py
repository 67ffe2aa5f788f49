"""MLP-sum, the baseline without messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn._checks import cochains
from mpsn.nn.conv._mlp import mlp
from mpsn.nn.models._model import Config, Model, features_of
from mpsn.nn.readout import ComplexReadout


@dataclass(frozen=True)
class MLPSumConfig(Config):
    """Settings of MLP-sum. The defaults are those for the strongly regular graphs."""

    in_channels: int = 1
    """Width of the features of cells."""
    hidden: int = 256
    """Width of the dense layer of each dimension; twice that in the readout."""
    out_channels: int = 16
    """Width of the embedding."""
    max_dim: int = 2
    """Largest dimension of the cells used."""
    act: Literal["elu", "relu", "tanh"] = "elu"
    """Non-linearity throughout."""
    shared_readout: bool = False
    """Whether the readout shares one dense layer, of width ``hidden``, between dimensions, as in
    the authors' code; in the paper each has its own, of twice that width."""
    final_act: bool = False
    """Whether the non-linearity follows the last dense layer, as in the paper, but not in the
    authors' code."""


class MLPSum(Model):
    """A dense layer per dimension and SIN's readout, without messages (appendix F of the paper).

    If features depend on the dimension only, it distinguishes complexes by their numbers of cells
    only.

    Args:
        config: The settings.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn.nn.models import MLPSum, MLPSumConfig
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = mpsn.lift_features(K.replace(x=[torch.ones(34, 1)]), "sum")
        >>> MLPSum(MLPSumConfig())(K).shape
        torch.Size([1, 16])
    """

    def __init__(self, config: MLPSumConfig) -> None:
        super().__init__(config)
        self.in_channels, self.max_dim = config.in_channels, config.max_dim
        dims = range(config.max_dim + 1)
        self.dense = torch.nn.ModuleList(
            mlp([config.in_channels, config.hidden], config.act) for _ in dims
        )
        self.readout = ComplexReadout(
            config.hidden,
            config.hidden if config.shared_readout else 2 * config.hidden,
            config.out_channels,
            dims=dims,
            act=config.act,
            shared=config.shared_readout,
            final_act=config.final_act,
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        given = features_of(K, xs, self.max_dim)
        hs = cochains(K, given, self.max_dim, self.in_channels, self.readout.last.weight)
        out: Tensor = self.readout(K, [dense(h) for dense, h in zip(self.dense, hs, strict=True)])
        return out
