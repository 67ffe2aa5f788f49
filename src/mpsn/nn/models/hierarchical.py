"""A network that pools between its layers."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn.models._model import Model
from mpsn.nn.models.cin import CIN, SINConfig
from mpsn.nn.pool import TopKPool
from mpsn.nn.readout import jump


@dataclass(frozen=True)
class HierarchicalConfig(SINConfig):
    """Settings of Hierarchical: those of SIN, and how to pool."""

    ratio: float = 0.5
    """Part of the cells that each pooling keeps."""
    pool_dim: int = 0
    """Dimension of the cells that are scored; 0 for vertices."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pool_dim > self.max_dim:
            raise LayerError(
                f"Expected pool_dim up to max_dim={self.max_dim}, got {self.pool_dim}."
            )


class Hierarchical(Model):
    """SIN with :class:`mpsn.nn.TopKPool` between its layers.

    Each layer sees the subcomplex that the pooling before it kept. The readout pools the cells of
    every level, or with ``jump=False`` of the last, as in Graph U-Nets and SAGPool.

    Args:
        config: The settings.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn.nn.models import Hierarchical, HierarchicalConfig
        >>> model = Hierarchical(HierarchicalConfig(layers=3, ratio=0.8, jump=True))
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> model(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([1, 16])
    """

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__(config)
        self.net = CIN(config)
        self.max_dim = config.max_dim
        self.pools = torch.nn.ModuleList(
            TopKPool(config.hidden, config.ratio, dim=config.pool_dim)
            for _ in range(config.layers - 1)
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        hs, readout = self.net.inputs(K, xs), self.net.readout
        levels = []  # of each, the dimensions read, pooled to one row per complex
        for i, conv in enumerate(self.net.convs):
            if i:
                K, hs, _ = self.pools[i - 1](K, hs)
            hs = conv(K, hs)
            levels.append(readout.pooled(K, [hs[k] for k in readout.dims]))
        return readout.combine(jump(levels) if self.config.jump else levels[-1])
