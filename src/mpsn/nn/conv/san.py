"""Simplicial attention networks of Giusti et al."""

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import Kind
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_cochain, check_least
from mpsn.nn._layer import Layer


class SANConv(Layer):
    r"""The layer of simplicial attention networks (Giusti et al. 2022).

    .. math:: H' = \psi\Bigl(\sum_{p=1}^{J} A_\downarrow^p H W_{\downarrow p}
        + \sum_{p=1}^{J} A_\uparrow^p H W_{\uparrow p} + (I - \varepsilon L)^{J_h} H W_h\Bigr)

    The entries of A are attentions, on the pattern of the lower and upper Hodge Laplacian: softmax
    over the senders of a score of both ends. The last term approximates a projection onto harmonic
    cochains.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        degree: J, the number of powers of both attentions. Defaults to 2.
        dim: Dimension of the cells. Defaults to 1.
        harmonic_degree: J_h. Defaults to 5.
        step: ε, at most two over the largest eigenvalue of L. Defaults to 0.1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"tanh"``.
        score_act: The activation of scores. Defaults to LeakyReLU with slope 0.2.

    Shapes:
        (n_dim, F) in and (n_dim, G) out; (n_dim, B, F) for a batch of cochains on one complex.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> mpsn.nn.SANConv(1, 8)(K, torch.randn(78, 1)).shape
        torch.Size([78, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        degree: int = 2,
        dim: int = 1,
        *,
        harmonic_degree: int = 5,
        step: float = 0.1,
        act: str | Activation = "tanh",
        score_act: str | Activation = fn.leaky_relu,
    ) -> None:
        super().__init__()
        check_least(0, dim=dim, harmonic_degree=harmonic_degree)
        check_least(1, degree=degree)
        self.in_channels, self.out_channels, self.dim = in_channels, out_channels, dim
        self.degree, self.harmonic_degree, self.step = degree, harmonic_degree, step
        self.lower = AttentionFilter(in_channels, out_channels, degree, score_act)
        self.upper = AttentionFilter(in_channels, out_channels, degree, score_act)
        self.harmonic = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.act = activation(act)

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return new features of the same cells."""
        check_cochain(K, self.dim, h, self.in_channels, self.harmonic.weight)
        lower, upper = self.lower(K, self.dim, "lower", h), self.upper(K, self.dim, "upper", h)
        smooth = harmonic_part(K, self.dim, h, self.harmonic_degree, self.step)
        return self.act(lower + upper + self.harmonic(smooth))


class AttentionFilter(torch.nn.Module):
    r"""A polynomial :math:`\sum_{p=1}^J A^p H W_p` of a matrix A of attentions."""

    def __init__(
        self, in_channels: int, out_channels: int, degree: int, act: str | Activation
    ) -> None:
        super().__init__()
        self.degree, self.act = degree, activation(act)
        self.weight = torch.nn.Linear(in_channels, degree * out_channels, bias=False)
        self.score = torch.nn.Linear(degree * out_channels, 2, bias=False)

    def forward(self, K: Complex, k: int, kind: Kind, h: Tensor) -> Tensor:
        """Return filtered features of the k-cells, by Horner's scheme."""
        parts = self.weight(h)
        sender, receiver = self.score(parts).split(1, dim=-1)
        terms = parts.unsqueeze(-2).chunk(self.degree, dim=-1)  # (n, ..., 1, G) each
        out = torch.zeros_like(terms[0])
        for term in reversed(terms):
            out = fn.attention(K, k, kind, term + out, sender, receiver, act=self.act, loops=True)
        return out.squeeze(-2)


def harmonic_part(K: Complex, k: int, h: Tensor, degree: int, step: float) -> Tensor:
    r"""Return :math:`(I - \varepsilon L_k)^J h`, close to the harmonic part of h.

    Example:
        >>> from mpsn.nn.conv.san import harmonic_part
        >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
        >>> harmonic_part(K, 0, torch.tensor([[3.0], [0.0], [0.0]]), 50, 0.3).round(decimals=3).T
        tensor([[1., 1., 1.]])
    """
    for _ in range(degree):
        h = h - step * fn.laplacian(K, k, h)
    return h
