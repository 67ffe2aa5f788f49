"""Local natural graph networks."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.nn import GCNConv
from torch_geometric.nn.resolver import activation_resolver

from mpsn.complexes import Complex, Incidence
from mpsn.nn import RowNorm
from mpsn_reproduction.baselines._layered import (
    Layered,
    offsets_of,
    ranges,
    summing,
    vertex_features,
)


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
        graph: Adds up the neighbors of the rows (p, q, w) and themselves; those of a neighborhood
            of an edge are joined as its vertices are.
        scale: The root of one over the number of these, by which GCN multiplies before and after.
    """

    member: Tensor
    sum: Incidence
    sent: Incidence
    received: Incidence
    marks: Tensor
    graph: Incidence
    scale: Tensor

    @classmethod
    def of(cls, K: Complex) -> "Neighborhoods":
        """Find them, by sorting."""
        n, pair = K.num_nodes, K.incidence(1).table.T
        loops = torch.arange(n, device=K.device).expand(2, n)
        pairs = torch.cat([pair, pair.flip(0), loops], dim=1)  # (2, pairs)
        keys = (pairs[0] * n + pairs[1]).sort().values
        center, member = keys // max(n, 1), keys % max(n, 1)
        degree = torch.bincount(center, minlength=n)
        start = offsets_of(degree)[:-1]
        edge = torch.arange(len(keys), device=K.device)
        rows = []
        for end in (center, member):
            owner, other = ranges(start[end], degree[end])
            rows.append(edge[owner] * n + member[other])
        in_edge = torch.unique(torch.cat(rows))  # (p, q, w) as position of (p, q), and w
        e, w = in_edge // max(n, 1), in_edge % max(n, 1)
        p, q = center[e], member[e]
        owner, other = ranges(start[w], degree[w])
        target, inside = _search(in_edge, e[owner] * n + member[other])
        neighbors = torch.bincount(owner[inside], minlength=len(w))
        return cls(
            member,
            summing(edge, degree, len(edge)),
            _taking(keys, p * n + w),
            _taking(keys, q * n + w),
            torch.stack([w == p, w == q], dim=1),
            summing(target[inside], neighbors, len(w)),
            neighbors.double().rsqrt()[:, None],
        )

    def gcn(self, conv: GCNConv, h: Tensor) -> Tensor:
        """Return GCN on the neighborhoods of edges."""
        scale = self.scale.to(h.dtype)
        out: Tensor = scale * self.graph.from_faces(scale * conv.lin(h)) + conv.bias
        return out


class Layer(torch.nn.Module):
    """Messages from p to q computed by GCN on the neighborhood of the edge."""

    def __init__(self, in_channels: int, out_channels: int, act: str, norm: bool) -> None:
        super().__init__()
        self.first = GCNConv(in_channels + 2, out_channels)
        self.second = GCNConv(out_channels, out_channels)
        self.norm = RowNorm(out_channels) if norm else torch.nn.Identity()
        self.act = activation_resolver(act)

    def forward(self, h: Tensor, near: Neighborhoods) -> Tensor:
        """Return features of the rows (p, w)."""
        rows = torch.cat([near.sent.from_faces(h), near.marks.to(h.dtype)], dim=1)
        rows = near.gcn(self.second, self.act(near.gcn(self.first, rows)))
        out: Tensor = self.act(self.norm(near.received.from_cofaces(rows)))
        return out


class NGN(Layered):
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

    layer = Layer

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        near = Neighborhoods.of(K)
        h = self.through_layers(vertex_features(self, K, xs)[near.member], near)
        out: Tensor = self.readout(K, [near.sum.from_faces(h)])
        return out


def _search(keys: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return where the wanted numbers would be among ascending keys, and whether they are there."""
    position = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return position, keys[position] == wanted


def _taking(keys: Tensor, wanted: Tensor) -> Incidence:
    """Return what takes the row of each wanted key, or 0 where there is none."""
    position, exists = _search(keys, wanted)
    return summing(position[exists], exists.long(), len(keys))
