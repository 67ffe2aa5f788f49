"""Invariant graph networks of order 2."""

import torch
from torch import Tensor
from torch_geometric.nn.resolver import activation_resolver

from mpsn.nn import RowNorm
from mpsn_reproduction.baselines._pairs import PairNetwork, Pairs


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
        X (P, F) for all pairs of vertices in, (P, G) out.

    Example:
        >>> from mpsn_reproduction.baselines._pairs import Pairs
        >>> from mpsn_reproduction.baselines.ign import EquivariantLinear
        >>> EquivariantLinear(3, 2)(torch.randn(25, 3), Pairs(torch.tensor([5]))).shape
        torch.Size([25, 2])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.pairs = torch.nn.Linear(2 * in_channels, out_channels, bias=False)
        self.rows = torch.nn.Linear(5 * in_channels, out_channels)
        self.columns = torch.nn.Linear(3 * in_channels, out_channels, bias=False)
        self.diagonal = torch.nn.Linear(5 * in_channels, out_channels)

    def forward(self, X: Tensor, pairs: Pairs) -> Tensor:
        """Return features of all pairs."""
        graph = pairs.batch
        n = pairs.sizes[graph, None]
        diagonal = X.index_select(0, pairs.same)
        rows, columns = pairs.rows.from_faces(X) / n, pairs.columns.from_faces(X) / n
        three = torch.cat([diagonal, rows, columns], dim=-1)
        means = [pairs.sum.from_faces(h).index_select(0, graph) / n for h in (diagonal, rows)]
        five = torch.cat([three, *means], dim=-1)
        out = self.pairs(torch.cat([X, X.index_select(0, pairs.turned)], dim=-1))
        out = out + self.rows(five).index_select(0, pairs.first)
        out = out + self.columns(three).index_select(0, pairs.second)
        return out.index_add(0, pairs.same, self.diagonal(five))  # type: ignore[no-any-return]


class Layer(torch.nn.Module):
    """An equivariant linear map, batch normalization if asked for, and a non-linearity."""

    def __init__(self, in_channels: int, out_channels: int, act: str, norm: bool) -> None:
        super().__init__()
        self.linear = EquivariantLinear(in_channels, out_channels)
        self.norm = RowNorm(out_channels) if norm else torch.nn.Identity()
        self.act = activation_resolver(act)

    def forward(self, h: Tensor, pairs: Pairs) -> Tensor:
        """Return features of all pairs."""
        out: Tensor = self.act(self.norm(self.linear(h, pairs)))
        return out


class IGN(PairNetwork):
    """The invariant graph network of order 2 (Maron et al. 2019), as powerful as WL.

    Args:
        in_channels: Width of the features of vertices; it and the others as for GIN.

    Shapes:
        As :class:`mpsn.nn.models.GIN`, for features (n_0, F).

    Example:
        >>> from mpsn_reproduction.baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["ign"]()(K).shape
        torch.Size([1, 16])
    """

    layer = Layer
