"""Local natural graph networks."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch_geometric.nn import GCNConv

from mpsn._rows.rows import Rows, ends, ranges
from mpsn._rows.sums import Matrix
from mpsn.complexes.complex import Complex
from mpsn.nn._checks import activation, cochains
from mpsn.nn.conv._mlp import RowNorm
from mpsn.nn.models import Model


class Neighborhoods(NamedTuple):
    """The neighborhoods of vertices and of edges of a graph, as graphs.

    The neighborhood of vertex p is p and its neighbors; that of an edge, from p to q or from p to
    itself, is the graph on the neighborhoods of both ends.

    Attributes:
        member: The vertex w of each row (p, w), for w in the neighborhood of p.
        sum: Adds up the rows (p, w) of each vertex p.
        sent: Takes the row (p, w) for each row (p, q, w), w in the neighborhood of the edge, or 0.
        received: Takes the row (q, w), or 0.
        marks: Whether w is p, and whether it is q.
        graph: The normalized adjacency matrix of GCN between the rows (p, q, w), with loops, where
            those of a neighborhood of an edge are joined as its vertices are.
    """

    member: Tensor
    sum: Matrix
    sent: Matrix
    received: Matrix
    marks: Tensor
    graph: Matrix

    @classmethod
    def of(cls, K: Complex) -> "Neighborhoods":
        """Find them, by sorting."""
        n, pair = K.num_nodes, K.incidence(1).table.T
        loops = torch.arange(n, device=K.device).expand(2, n)
        pairs = torch.cat([pair, pair.flip(0), loops], dim=1)  # (2, pairs)
        keys = (pairs[0] * n + pairs[1]).sort().values
        center, member = keys // max(n, 1), keys % max(n, 1)
        degree = torch.bincount(center, minlength=n)
        offsets = ends(degree)
        ptr = offsets[:-1]
        edge = torch.arange(len(keys), device=K.device)
        rows = []
        for end in (center, member):
            owner, at = ranges(ptr[end], degree[end])
            rows.append(edge[owner] * n + member[at])
        in_edge = torch.unique(torch.cat(rows))  # (p, q, w) as position of (p, q), and w
        e, w = in_edge // max(n, 1), in_edge % max(n, 1)
        p, q = center[e], member[e]
        owner, at = ranges(ptr[w], degree[w])
        target, inside = _find(in_edge, e[owner] * n + member[at])
        degree = torch.bincount(owner[inside], minlength=len(w))
        scale = degree.double().rsqrt()
        graph = Matrix(
            Rows(target[inside], len(w), ptr=ends(degree)),
            (scale[owner] * scale[target])[inside],
        )
        return cls(
            member,
            Matrix(Rows(edge, len(edge), ptr=offsets)),
            _rows(keys, p * n + w),
            _rows(keys, q * n + w),
            torch.stack([w == p, w == q], dim=1),
            graph.pair(graph),
        )


class Layer(torch.nn.Module):
    """Messages from p to q computed by GCN on the neighborhood of the edge."""

    def __init__(self, in_channels: int, out_channels: int, act: str, norm: bool) -> None:
        super().__init__()
        self.first = GCNConv(in_channels + 2, out_channels)
        self.second = GCNConv(out_channels, out_channels)
        self.norm = RowNorm(out_channels) if norm else torch.nn.Identity()
        self.act = activation(act)

    def forward(self, h: Tensor, near: Neighborhoods) -> Tensor:
        """Return features of the rows (p, w)."""
        rows = torch.cat([near.sent @ h, near.marks.to(h.dtype)], dim=1)
        rows = near.graph @ self.first.lin(rows) + self.first.bias
        rows = near.graph @ self.second.lin(self.act(rows)) + self.second.bias
        return self.act(self.norm(near.received.T @ rows))


class NGN(Model):
    r"""The local natural graph network with a GCN as message (GCN² of de Haan et al. 2020).

    Each vertex p has features v_p on the vertices of its neighborhood G_p. For the message from p
    to q they are extended by zero to the neighborhood of the edge, p and q are marked, a graph
    network is applied there, and the result is restricted to G_q:

    .. math:: v'_q = \sigma\Bigl(\sum_{p \to q} \mathrm{GCN}_{G_{pq}}(v_p)\big|_{G_q}\Bigr)

    where p is also q itself. A neighborhood is a vertex with its neighbors, GCN has two layers.
    In the end, features are summed over each neighborhood.

    Args:
        in_channels: Width of the features of vertices; it and the others as for GIN.

    Shapes:
        As :class:`mpsn.nn.models.GIN`, for features (n_0, F).

    Example:
        >>> from mpsn_reproduction.baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["ngn"]()(K).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int = 1,
        hidden: int = 16,
        out_channels: int = 16,
        layers: int = 5,
        act: Literal["elu", "relu", "tanh"] = "elu",
        norm: bool = False,
        jump: bool = False,
        readout: Literal["sum", "mean"] = "sum",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.max_dim, self.jump = in_channels, 0, jump
        widths = [in_channels] + [hidden] * layers
        self.layers = torch.nn.ModuleList(Layer(*ends, act, norm) for ends in pairwise(widths))
        self.readout = self.new_readout()

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        like = self.readout.last.weight
        (x,) = cochains(K, self.features_of(K, xs), 0, self.in_channels, like)
        near = Neighborhoods.of(K)
        h, outs = x[near.member], []
        for layer in self.layers:
            h = layer(h, near)
            outs.append(h)
        h = torch.cat(outs, dim=1) if self.jump else h
        out: Tensor = self.readout(K, [near.sum @ h])
        return out


def _find(keys: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return where the wanted numbers would be among ascending keys, and whether they are there."""
    at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return at, keys[at] == wanted


def _rows(keys: Tensor, wanted: Tensor) -> Matrix:
    """Return the matrix that takes the row of each wanted key, or 0 where there is none."""
    at, there = _find(keys, wanted)
    return Matrix(Rows(at[there], len(keys), ptr=ends(there.long())))
