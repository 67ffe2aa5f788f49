"""Networks that predict where a path goes on, from its flow on the edges."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.nn import OrientedConv, SCoNeConv
from mpsn_reproduction.papers.coordinates import laplacian_coordinates

NEVER = -1e9


@dataclass(frozen=True)
class SCoNeConfig:
    """Settings of SCoNe."""

    hidden: int = 16
    """Width of the layers."""
    layers: int = 3
    """Number of layers."""


@dataclass(frozen=True)
class OrientedConfig:
    """Settings of an oriented network with a readout of its own."""

    width: int = 16
    """Width of the layers and of the readout."""
    depth: int = 2
    """Number of layers."""
    coordinates: int = 4
    """Number of Laplacian coordinates of the vertices that the readout sees; 0 for none."""


class SCoNe(torch.nn.Module):
    """SCoNe: oriented layers on edges, then the divergence at the neighbors of the last vertex.

    Shapes:
        Flows (n_1, N), last vertices (N,) and candidates (N, C) in, logits (N, C) out.
    """

    def __init__(self, config: SCoNeConfig, K: SimplicialComplex) -> None:
        super().__init__()
        widths = [1, *[config.hidden] * config.layers]
        self.layers = torch.nn.ModuleList(
            SCoNeConv(*widths[i : i + 2]) for i in range(config.layers)
        )
        self.out = torch.nn.Linear(config.hidden, 1, bias=False)

    def forward(self, K: SimplicialComplex, x: Tensor, last: Tensor, candidates: Tensor) -> Tensor:
        """Return logits."""
        h = x[..., None]  # (n_1, N, 1)
        for layer in self.layers:
            h = layer(K, h)
        at = K.incidence(1).from_cofaces(self.out(h), signed=True)[..., 0].T  # B_1 h, (N, n_0)
        return at.gather(1, candidates.clamp(min=0)).masked_fill(candidates < 0, NEVER)


class OrientedNet(torch.nn.Module):
    """Oriented layers on edges, and a perceptron on each candidate v after the last vertex u.

    The perceptron reads what no orientation changes: hidden features of the edge in the direction
    from u to v, the divergence of hidden features at v, and, with Laplacian coordinates p, p_v,
    p_v - p_u and the sum of p_head - p_tail over the flow.

    Shapes:
        As for :class:`SCoNe`.
    """

    p: Tensor
    number: Tensor

    def __init__(self, config: OrientedConfig, K: SimplicialComplex) -> None:
        super().__init__()
        widths = [1, *[config.width] * config.depth]
        self.layers = torch.nn.ModuleList(
            OrientedConv(*widths[i : i + 2], act="tanh") for i in range(config.depth)
        )
        d = config.coordinates
        p = laplacian_coordinates(K, d).float() if d else torch.zeros(K.num_nodes, 0)
        self.register_buffer("p", p.to(K.device))
        u, v = K.simplices(1).T
        number = torch.zeros(K.num_nodes, K.num_nodes, dtype=torch.int64, device=K.device)
        number[u, v] = number[v, u] = torch.arange(K.count(1), device=K.device)
        self.register_buffer("number", number)
        self.head = torch.nn.Sequential(
            torch.nn.Linear(2 * config.width + 1 + 3 * d, 2 * config.width),
            torch.nn.ReLU(),
            torch.nn.Linear(2 * config.width, 1),
        )

    def forward(self, K: SimplicialComplex, x: Tensor, last: Tensor, candidates: Tensor) -> Tensor:
        """Return logits."""
        h = x[..., None]  # (n_1, N, 1)
        for layer in self.layers:
            h = layer(K, h)
        v, u = candidates.clamp(min=0), last[:, None]  # (N, C), (N, 1)
        edge, path = self.number[u, v], torch.arange(len(u), device=x.device)[:, None]
        sign = K.incidence(1).signs.view(-1, 2)[edge, 0] * torch.where(u < v, 1, -1)  # from u to v
        along = torch.cat([h, x[..., None]], dim=2)[edge, path] * sign[..., None]
        at = K.incidence(1).from_cofaces(h, signed=True)[v, path]
        shift = K.incidence(1).from_faces(self.p, signed=True)  # p_head - p_tail, (n_1, d)
        moved = (x.T @ shift)[:, None].expand(*v.shape, -1)
        parts = [along, at, self.p[v], self.p[v] - self.p[u], moved]
        out: Tensor = self.head(torch.cat(parts, dim=2))[..., 0]
        return out.masked_fill(candidates < 0, NEVER)
