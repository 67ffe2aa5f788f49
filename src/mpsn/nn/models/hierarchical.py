"""A network that pools between its layers."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn.models._model import Model
from mpsn.nn.models.cin import SIN
from mpsn.nn.pool import TopKPool
from mpsn.nn.readout import jump


class Hierarchical(Model):
    """SIN with :class:`mpsn.nn.TopKPool` between its layers.

    Each layer sees the subcomplex that the pooling before it kept. The readout pools the cells of
    every level, or with ``jump=False`` of the last, as in Graph U-Nets and SAGPool.

    Args:
        ratio: Part of the cells that each pooling keeps. Defaults to 0.5.
        pool_dim: Dimension of the cells that are scored; 0 for vertices. Defaults to 0.

    The other keywords are those of :class:`SIN`.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn.nn.models import Hierarchical
        >>> model = Hierarchical(layers=3, ratio=0.8, jump=True)
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> model(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, ...] = 1,
        hidden: int = 16,
        out_channels: int = 16,
        layers: int = 5,
        max_dim: int = 2,
        coface_message: bool = True,
        act: Literal["elu", "relu", "tanh"] = "elu",
        norm: bool = False,
        eps: float = 0.0,
        train_eps: bool = False,
        jump: bool = False,
        readout: Literal["sum", "mean"] = "sum",
        readout_dims: tuple[int, ...] | None = None,
        dropout: float = 0.0,
        dropout_position: Literal["before_sum", "after_sum"] = "after_sum",
        final_act: bool = False,
        ratio: float = 0.5,
        pool_dim: int = 0,
    ) -> None:
        super().__init__(locals())
        if pool_dim > max_dim:
            raise LayerError(f"Expected pool_dim up to max_dim={max_dim}, got {pool_dim}.")
        own = ("ratio", "pool_dim")
        self.net = SIN(**{name: v for name, v in self.settings.items() if name not in own})
        self.max_dim = max_dim
        self.pools = torch.nn.ModuleList(
            TopKPool(hidden, ratio, dim=pool_dim) for _ in range(layers - 1)
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        hs, readout = self.features_of(K, xs), self.net.readout
        levels = []  # of each, the dimensions read, pooled to one row per complex
        for i, conv in enumerate(self.net.convs):
            if i:
                K, hs, _ = self.pools[i - 1](K, hs)
            hs = conv(K, hs)
            levels.append(readout.pooled(K, [hs[k] for k in readout.dims]))
        return readout.combine(jump(levels) if self.net.jump else levels[-1])
