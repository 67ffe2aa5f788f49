"""Ways to impute values on the simplices of a complex, from those that are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.nn import SNNConv
from mpsn.nn.functional import laplacian
from mpsn_reproduction.papers.general import GeneralNet

Values = list[Tensor]  # (n_k,) per dimension
NONE = float("inf")


class Known(NamedTuple):
    """Values per dimension, and masks of those that are known; the others must not be read."""

    K: SimplicialComplex
    values: Values
    mask: Values

    def medians(self) -> list[Tensor]:
        """Return the median of the known values of each dimension."""
        return [v[m].median() for v, m in zip(self.values, self.mask, strict=True)]

    def filled(self, fill: Sequence[Tensor | float]) -> Values:
        """Return the values with others in place of the unknown ones."""
        triples = zip(self.values, self.mask, fill, strict=True)
        return [torch.where(m, v, torch.as_tensor(f, dtype=v.dtype)) for v, m, f in triples]


def neighbor_mean(known: Known, kind: Literal["incident", "adjacent"]) -> Values:
    """Return the mean of the known values of all faces and co-faces, or of all neighbors.

    Neighbors share a face or a co-face, and count once for each that they share; the median is for
    simplices without any of known value.
    """
    K, out = known.K, []
    zeros = known.filled([0.0] * len(known.values))
    both = [torch.stack([v, m.to(v)], 1) for v, m in zip(zeros, known.mask, strict=True)]
    for k, median in enumerate(known.medians()):
        total = torch.zeros_like(both[k])
        if k > 0:
            B = K.incidence(k)
            total += B.from_faces(both[k - 1]) if kind == "incident" else B.lower(both[k])
        if k < K.dim:
            B = K.incidence(k + 1)
            total += B.from_cofaces(both[k + 1]) if kind == "incident" else B.upper(both[k])
        out.append(torch.where(total[:, 1] > 0, total[:, 0] / total[:, 1].clamp(min=1), median))
    return out


def bounds(known: Known) -> tuple[Values, Values]:
    """Return the largest known value above each simplex, and the least one below; itself included.

    No simplex has more citations than its faces, so these are bounds; ∓inf without any known.
    """
    least = known.filled([-NONE] * len(known.values))
    most = known.filled([NONE] * len(known.values))
    for k in range(known.K.dim, 0, -1):
        B = known.K.incidence(k)
        least[k - 1] = least[k - 1].scatter_reduce(0, B.face, least[k][B.cell], "amax")
    for k in range(1, known.K.dim + 1):
        B = known.K.incidence(k)
        most[k] = most[k].scatter_reduce(0, B.cell, most[k - 1][B.face], "amin")
    return least, most


def by_bounds(known: Known) -> Values:
    """Return the lower bound; without one the upper bound; without either the median."""
    least, most = bounds(known)
    medians = known.medians()
    return [
        torch.where(a > -NONE, a, torch.where(b < NONE, b, median))
        for a, b, median in zip(least, most, medians, strict=True)
    ]


@dataclass(frozen=True)
class SNNConfig:
    """Settings of simplicial neural networks, one per dimension, as Ebli et al. have them."""

    hidden: int = 30
    """Width."""
    layers: int = 3
    """Number of layers."""
    degree: int = 5
    """Degree of the polynomials of the Laplacian."""


@dataclass(frozen=True)
class MPSNConfig:
    """Settings of a network of general message passing layers."""

    hidden: int = 16
    """Width."""
    layers: int = 2
    """Number of layers."""
    bounded: bool = True
    """Whether to predict a place between the bounds by known simplices above and below."""


class SNN(torch.nn.Module):
    """A polynomial network for each dimension, on inputs (n_k, F)."""

    def __init__(self, config: SNNConfig, K: SimplicialComplex, width: int) -> None:
        super().__init__()
        sizes = [width, *[config.hidden] * (config.layers - 1), 1]
        acts = ["leaky_relu"] * (config.layers - 1) + ["id"]
        self.nets = torch.nn.ModuleList(
            torch.nn.ModuleList(
                SNNConv(sizes[i], sizes[i + 1], config.degree, k, act=act, bias=True, scale=scale)
                for i, act in enumerate(acts)
            )
            for k, scale in enumerate(1 / largest_eigenvalue(K, k) for k in range(K.dim + 1))
        )

    def forward(self, known: Known, xs: Sequence[Tensor]) -> Values:
        """Return one number per simplex."""
        out = []
        for net, x in zip(self.nets, xs, strict=True):
            for layer in net:  # type: ignore[attr-defined]
                x = layer(known.K, x)
            out.append(x[:, 0])
        return out


def largest_eigenvalue(K: SimplicialComplex, k: int, steps: int = 100) -> float:
    """Return the largest eigenvalue of the k-th Hodge Laplacian, by the power method."""
    h = torch.randn(K.count(k), 1, generator=torch.Generator().manual_seed(0)).to(K.device)
    for _ in range(steps):
        h = h / h.norm().clamp(min=1e-30)
        h = laplacian(K, k, h)
    return max(float(h.norm()), 1e-6)


class MPSN(torch.nn.Module):
    """General message passing; in its bounded form the output is a place between two bounds.

    Bounds are logarithms relative to the median, as the values are. Where there is none, the least
    or largest known value of the dimension takes its place, and the network is told.
    """

    def __init__(self, config: MPSNConfig, K: SimplicialComplex, width: int) -> None:
        super().__init__()
        self.bounded = config.bounded
        widths = [width + 4 * config.bounded] * (K.dim + 1)
        self.net = GeneralNet(widths, config.hidden, config.layers)
        self.heads = torch.nn.ModuleList(torch.nn.Linear(config.hidden, 1) for _ in widths)
        if config.bounded:  # start at the lower bound
            for head in self.heads:
                torch.nn.init.constant_(head.bias, -3.0)  # type: ignore[arg-type]

    def forward(self, known: Known, xs: Sequence[Tensor]) -> Values:
        """Return one number per simplex."""
        pairs: list[tuple[Tensor, Tensor]] = []
        if self.bounded:
            pairs, told = self._bounds(known)
            xs = [torch.cat([x, *more], dim=1) for x, more in zip(xs, told, strict=True)]
        hs = self.net(known.K, xs)
        out = [head(h)[:, 0] for head, h in zip(self.heads, hs, strict=True)]
        if self.bounded:
            out = [a + z.sigmoid() * (b - a) for z, (a, b) in zip(out, pairs, strict=True)]
        return out

    @staticmethod
    def _bounds(known: Known) -> tuple[list[tuple[Tensor, Tensor]], list[list[Tensor]]]:
        pairs, told = [], []
        for least, most, v, m in zip(*bounds(known), known.values, known.mask, strict=True):
            low, high = least > -NONE, most < NONE
            a = torch.where(low, least, v[m].min())
            b = torch.where(high, most, v[m].max())
            pairs.append((torch.minimum(a, b), b))
            told.append([part.to(v)[:, None] for part in (a, low, b, high)])
        return pairs, told
