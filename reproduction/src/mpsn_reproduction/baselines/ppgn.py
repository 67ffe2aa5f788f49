"""Provably powerful graph networks."""

import torch
from torch import Tensor

from mpsn.nn import mlp
from mpsn_reproduction.baselines._pairs import PairNetwork, Pairs


class Block(torch.nn.Module):
    r"""A block with one matrix product per feature (Maron et al. 2019).

    .. math:: X' = m_3\bigl(X \,\|\, m_1(X) \cdot m_2(X) / n\bigr)

    m_1 and m_2 are perceptrons of two dense layers, m_3 of one, on the features of each pair. In
    the paper, section "A simple network with 3-WL discrimination power", m_3(X) stands beside the
    product, where here m_3 reads both. The product is divided by the number of vertices, which
    keeps features of large graphs small.
    """

    def __init__(self, in_channels: int, out_channels: int, act: str, norm: bool) -> None:
        super().__init__()
        widths = [in_channels, out_channels, out_channels]
        self.left = mlp(widths, act, norm)
        self.right = mlp(widths, act, norm)
        self.last = mlp([in_channels + out_channels, out_channels], act, norm)

    def forward(self, h: Tensor, pairs: Pairs) -> Tensor:
        """Return features of all pairs."""
        n = pairs.sizes[pairs.batch[pairs.first], None]
        product = pairs.product(self.left(h), self.right(h)) / n
        out: Tensor = self.last(torch.cat([h, product], dim=-1))
        return out


class PPGN(PairNetwork):
    """The provably powerful graph network (Maron et al. 2019), as powerful as 2-FWL and 3-WL.

    Args:
        in_channels: Width of the features of vertices; it and the others as for GIN.

    Shapes:
        As :class:`mpsn.nn.models.GIN`, for features (n_0, F).

    Example:
        >>> from mpsn_reproduction.baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["ppgn"]()(K).shape
        torch.Size([1, 16])
    """

    layer = Block
