"""Networks for surfaces: orientation-blind, oriented, with harmonic features, and by diffusion."""

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.nn import OrientedConv, RowNorm, global_pool
from mpsn.nn.models import GIN, SIN

MOST_ROUNDS = 20_000


class Blind(torch.nn.Module):
    """GIN or SIN on constant features, or on features per dimension that the complex has."""

    def __init__(self, network: GIN | SIN, hidden: int, out_channels: int) -> None:
        super().__init__()
        self.network = network
        self.head = torch.nn.Sequential(RowNorm(hidden), perceptron(hidden, hidden, out_channels))

    def forward(self, K: SimplicialComplex) -> Tensor:
        """Return one row per surface."""
        ones = [torch.ones((n, 1), device=K.device) for n in K.counts]
        xs = [
            one if x is None else torch.cat([one, x], 1) for one, x in zip(ones, K.x, strict=True)
        ]
        out: Tensor = self.head(self.network(K, xs[: self.network.max_dim + 1]))
        return out


class Oriented(torch.nn.Module):
    """Signed messages between edges and between triangles, from random signals.

    Layers of :class:`mpsn.nn.OrientedConv`, each followed by a division by the mean square over all
    cells of a surface. What is read of each layer does not depend on orientations: the logarithms
    of the mean squares of its channels; and the numbers of cells.
    """

    def __init__(self, signals: int, layers: int, hidden: int, out_channels: int) -> None:
        super().__init__()
        self.signals = signals
        self.convs = torch.nn.ModuleList(
            OrientedConv(signals, signals, k, act="tanh", upper=k == 1)
            for _ in range(layers)
            for k in (1, 2)
        )
        width = 3 + 2 * layers * signals
        self.head = torch.nn.Sequential(RowNorm(width), perceptron(width, hidden, out_channels))

    def forward(self, K: SimplicialComplex) -> Tensor:
        """Return one row per surface."""
        counts = torch.stack([K.ptr(k).diff() for k in range(3)], 1)
        read = [counts / 10]
        hs = {k: torch.randn((K.count(k), self.signals), device=K.device) for k in (1, 2)}
        for conv in self.convs:
            assert isinstance(conv, OrientedConv)
            k = conv.dim
            h = conv(K, hs[k])
            square = global_pool(K, k, h * h, "mean") + 1e-9  # (surfaces, signals)
            read.append(square.log())
            hs[k] = h * square.mean(1, keepdim=True).rsqrt()[K.batch(k)]
        out: Tensor = self.head(torch.cat(read, 1))
        return out


class Diffusion(torch.nn.Module):
    r"""Signals on edges and on triangles, diffused by the Hodge Laplacians: how many are left?

    Each round is :math:`h \leftarrow h - \eta_k L_k h / b + \beta_k (h - h')`, signed messages with
    learned steps and momenta; h' is the h before, and b a bound of the eigenvalues. Only harmonic
    signals stay. Their number is read as the soft rank :math:`\operatorname{tr} G (G + \epsilon_k
    I)^{-1}` of the signals' Gram matrix G, which depends neither on orientations nor on the order
    and the number of cells.

    Args:
        signals: Number of random signals, more than the largest Betti number.
        rounds: Number of rounds in training.
        tolerance: In evaluation, rounds go on until none changes a signal by more than this,
            relative to the first one; with 0 there are always ``rounds``.
        hidden: Width of the perceptron that reads the two soft ranks.
        out_channels: Width of the output.
    """

    def __init__(
        self, signals: int, rounds: int, tolerance: float, hidden: int, out_channels: int
    ) -> None:
        super().__init__()
        self.signals, self.rounds, self.tolerance = signals, rounds, tolerance
        self.step = torch.nn.Parameter(torch.zeros(2))
        self.momentum = torch.nn.Parameter(torch.ones(2))
        self.floor = torch.nn.Parameter(torch.full((2,), -5.0))
        self.head = perceptron(2, hidden, out_channels)

    def forward(self, K: SimplicialComplex) -> Tensor:
        """Return one row per surface."""
        out: Tensor = self.head(torch.stack([self.rank(K, k) for k in (1, 2)], 1))
        return out

    def rank(self, K: SimplicialComplex, k: int) -> Tensor:
        """Return the soft rank of diffused signals on the k-cells, (surfaces,)."""
        first = torch.randn((K.count(k), self.signals), device=K.device)
        h = self.diffuse(K, k, first)
        outer = global_pool(K, k, (h[:, :, None] * h[:, None]).flatten(1))
        gram = outer.view(-1, self.signals, self.signals) / self.signals
        floor = self.floor[k - 1].exp() * torch.eye(self.signals, device=K.device)
        solved = torch.linalg.solve(gram + floor, gram)
        return torch.diagonal(solved, dim1=1, dim2=2).sum(1)

    def diffuse(self, K: SimplicialComplex, k: int, h: Tensor) -> Tensor:
        """Return the signals after all rounds."""
        momentum = torch.sigmoid(self.momentum[k - 1])
        step = 2 * (1 + momentum) * torch.sigmoid(self.step[k - 1])
        scale = step / bound(K)[K.batch(k)][:, None]
        adaptive = self.tolerance > 0 and not self.training
        before, start = h, (h * h).mean().sqrt()
        for i in range(MOST_ROUNDS if adaptive else self.rounds):
            after = h - scale * laplacian(K, k, h) + momentum * (h - before)
            h, before = after, h
            if adaptive and i % 16 == 15 and (h - before).abs().max() < self.tolerance * start:
                break
        return h


def laplacian(K: SimplicialComplex, k: int, h: Tensor) -> Tensor:
    """Return L_k h, (n_k, F), for k > 0."""
    below, above = K.incidence(k), K.incidence(k + 1)
    out = below.from_faces(below.from_cofaces(h, signed=True), signed=True)
    if len(above):
        out = out + above.from_cofaces(above.from_faces(h, signed=True), signed=True)
    return out


def bound(K: SimplicialComplex) -> Tensor:
    """Return a bound of the eigenvalues of all Hodge Laplacians of each surface, (surfaces,).

    That of L_0 is twice the largest degree; that of L_2 is 6; L_1 has the eigenvalues of both.
    """
    degree = K.incidence(1).degree.to(torch.float32)
    most = degree.new_zeros(K.num_complexes)
    return 2 * most.scatter_reduce(0, K.batch(0), degree, "amax").clamp(min=3)


def harmonic_weights(K: SimplicialComplex, small: float = 1e-6) -> list[Tensor]:
    r"""Return the diagonals of the projections to harmonic cochains, each (n_k, 1).

    Their sums over a surface are its Betti numbers. Computed as :math:`\delta (L_k + \delta
    I)^{-1}` with a small δ, surface by surface as one batch of dense matrices.
    """
    Bs = [_dense(K, k) for k in (1, 2)]
    out = []
    for k in range(3):
        n = int(K.ptr(k).diff().max())
        total = small * torch.eye(n, dtype=torch.float64, device=K.device)
        total = total + (Bs[k - 1].mT @ Bs[k - 1] if k > 0 else 0)
        total = total + (Bs[k] @ Bs[k].mT if k < 2 else 0)
        diagonal = small * torch.diagonal(torch.linalg.inv(total), dim1=1, dim2=2)
        batch = K.batch(k)
        at = torch.arange(K.count(k), device=K.device) - K.ptr(k)[batch]
        out.append(diagonal[batch, at][:, None].float())
    return out


def with_harmonic(union: SimplicialComplex) -> SimplicialComplex:
    """Return surfaces with the weights of their cells in harmonic cochains as features."""
    return union.replace(x=harmonic_weights(union))


def _dense(K: SimplicialComplex, k: int) -> Tensor:
    """Return the boundary matrices B_k of all surfaces, (surfaces, n_{k-1}, n_k), padded."""
    B, batch = K.incidence(k), K.batch(k)
    sizes = [int(K.ptr(j).diff().max()) for j in (k - 1, k)]
    out = torch.zeros((K.num_complexes, *sizes), dtype=torch.float64, device=K.device)
    owner = batch[B.cell]
    row, column = B.face - K.ptr(k - 1)[owner], B.cell - K.ptr(k)[owner]
    out[owner, row, column] = B.signs.to(torch.float64)
    return out


def perceptron(in_channels: int, hidden: int, out_channels: int) -> torch.nn.Module:
    """Return a network with two hidden layers."""
    return torch.nn.Sequential(
        torch.nn.Linear(in_channels, hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, out_channels),
    )
