"""Invariant graph networks of order 2."""

import torch
from torch import Tensor

from mpsn.experiments._baselines._pairs import PairNetwork, on_pairs
from mpsn.nn._checks import activation
from mpsn.nn.conv._mlp import RowNorm
from mpsn.nn.models import GINConfig


class EquivariantLinear(torch.nn.Module):
    r"""All linear maps from n × n to n × n tensors that commute with permutations, and biases.

    They are spanned by 15, the fourth Bell number (Maron et al. 2019, "Invariant and Equivariant
    Graph Networks"): X and its transpose; diagonal, row means and column means, each put on rows,
    columns or the diagonal; and the means of the diagonal and of all entries, each put everywhere
    or on the diagonal,

    .. math:: Y_{ij} = X_{ij} W_1 + X_{ji} W_2 + a_i + b_j + \delta_{ij} c_i

    where a and c are linear in all five contractions, and b in the first three. Dense layers are
    applied to contractions before these are copied to all pairs.

    Args:
        in_channels: Width F of the features.
        out_channels: Width G of the result.

    Shapes:
        X (B, n, n, F), zero outside the mask (B, n, n), in, (B, n, n, G) out; what is outside the
        mask means nothing.

    Example:
        >>> from mpsn.experiments._baselines.ign import EquivariantLinear
        >>> layer, X = EquivariantLinear(3, 2), torch.randn(1, 5, 5, 3)
        >>> layer(X, torch.ones(1, 5, 5, dtype=torch.bool)).shape
        torch.Size([1, 5, 5, 2])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.pairs = torch.nn.Linear(2 * in_channels, out_channels, bias=False)
        self.rows = torch.nn.Linear(5 * in_channels, out_channels)
        self.columns = torch.nn.Linear(3 * in_channels, out_channels, bias=False)
        self.diagonal = torch.nn.Linear(5 * in_channels, out_channels)

    def forward(self, X: Tensor, mask: Tensor) -> Tensor:
        """Return features of all pairs."""
        n = mask.any(2).sum(1).clamp(min=1)[:, None, None]  # (B, 1, 1)
        diagonal = X.diagonal(dim1=1, dim2=2).transpose(1, 2)  # (B, n, F)
        three = torch.cat([diagonal, X.sum(2) / n, X.sum(1) / n], dim=-1)
        means = [diagonal.sum(1, keepdim=True) / n, X.sum((1, 2))[:, None] / n**2]
        five = torch.cat([three, *(mean.expand_as(diagonal) for mean in means)], dim=-1)
        out = self.pairs(torch.cat([X, X.transpose(1, 2)], dim=-1))
        out = out + self.rows(five)[:, :, None] + self.columns(three)[:, None]
        out.diagonal(dim1=1, dim2=2).add_(self.diagonal(five).transpose(1, 2))
        return out  # type: ignore[no-any-return]


class Layer(torch.nn.Module):
    """An equivariant linear map, batch normalization if asked for, and a non-linearity."""

    def __init__(self, in_channels: int, out_channels: int, config: GINConfig) -> None:
        super().__init__()
        self.linear = EquivariantLinear(in_channels, out_channels)
        self.norm = RowNorm(out_channels) if config.norm else torch.nn.Identity()
        self.act = activation(config.act)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        """Return features of all pairs in the mask, zero outside."""
        return on_pairs(lambda rows: self.act(self.norm(rows)), self.linear(h, mask), mask)


class IGN(PairNetwork):
    """The invariant graph network of order 2 (Maron et al. 2019), as powerful as WL.

    Args:
        config: The settings of GIN; ``train_eps`` is not used.

    Shapes:
        As :class:`mpsn.nn.models.GIN`, for features (n_0, F).

    Example:
        >>> from mpsn.experiments._baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["ign"](mpsn.nn.models.GINConfig())(K).shape
        torch.Size([1, 16])
    """

    def __init__(self, config: GINConfig) -> None:
        super().__init__(config, Layer)
