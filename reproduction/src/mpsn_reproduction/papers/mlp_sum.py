"""MLP-sum, the baseline without messages."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import mlp
from mpsn.nn._checks import cochains
from mpsn.nn.models import Model
from mpsn.nn.readout import ComplexReadout


class MLPSum(Model):
    """A dense layer per dimension and SIN's readout, without messages (appendix F of the paper).

    If features depend on the dimension only, it distinguishes complexes by their numbers of cells
    only.

    Args:
        in_channels: Width of the features of cells. Defaults to 1.
        hidden: Width of the dense layer of each dimension; twice that in the readout. Defaults to
            256.
        out_channels: Width of the embedding. Defaults to 16.
        max_dim: Largest dimension of the cells used. Defaults to 2.
        act: Non-linearity throughout: ``"elu"``, ``"relu"`` or ``"tanh"``. Defaults to ``"elu"``.
        shared_readout: Whether the readout shares one dense layer, of width ``hidden``, between
            dimensions, as in the authors' code; in the paper each has its own, of twice that
            width. Defaults to False.
        final_act: Whether the non-linearity follows the last dense layer, as in the paper, but not
            in the authors' code. Defaults to False.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn_reproduction.papers.mlp_sum import MLPSum
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = mpsn.lift_features(K.replace(x=[torch.ones(34, 1)]), "sum")
        >>> MLPSum()(K).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int = 1,
        hidden: int = 256,
        out_channels: int = 16,
        max_dim: int = 2,
        act: Literal["elu", "relu", "tanh"] = "elu",
        shared_readout: bool = False,
        final_act: bool = False,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.hidden, self.max_dim = in_channels, hidden, max_dim
        dims = range(max_dim + 1)
        self.dense = torch.nn.ModuleList(mlp([in_channels, hidden], act) for _ in dims)
        self.readout = ComplexReadout(
            hidden,
            hidden if shared_readout else 2 * hidden,
            out_channels,
            dims=dims,
            act=act,
            shared=shared_readout,
            final_act=final_act,
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        given = self.features_of(K, xs)
        hs = cochains(K, given, self.max_dim, self.in_channels, self.readout.last.weight)
        out: Tensor = self.readout(K, [dense(h) for dense, h in zip(self.dense, hs, strict=True)])
        return out
