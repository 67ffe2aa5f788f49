"""Simplicial neural networks of Ebli et al."""

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_cochain, check_least
from mpsn.nn._layer import Layer


class SNNConv(Layer):
    r"""A polynomial of the Hodge Laplacian (Ebli et al. 2020; appendix C of the paper).

    .. math:: H' = \psi\Bigl(\sum_{r=0}^{R} (s L_p)^r H W_r + b\Bigr),
        \qquad L_p = B_p^\top B_p + B_{p+1} B_{p+1}^\top

    Powers are applied one sparse product at a time, without forming the Laplacian, to the narrower
    of input and output. A stack of R :class:`MPSNConv` layers computes the same (Theorem 12).

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        degree: Degree R of the polynomial.
        dim: Dimension p of the cells. Defaults to 1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"id"``.
        bias: Whether to add b, which breaks orientation equivariance. Defaults to False.
        scale: Factor s, such as one over the largest eigenvalue of the Laplacian, which keeps
            powers small (Ebli et al. use it). Defaults to 1.

    Shapes:
        (n_dim, F) in and (n_dim, G) out; (n_dim, B, F) for a batch of cochains on one complex.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> mpsn.nn.SNNConv(1, 8, degree=3)(K, torch.randn(78, 1)).shape
        torch.Size([78, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        degree: int,
        dim: int = 1,
        *,
        act: str | Activation = "id",
        bias: bool = False,
        scale: float = 1.0,
    ) -> None:
        super().__init__()
        check_least(0, degree=degree, dim=dim)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.degree, self.dim, self.scale = degree, dim, scale
        self.weights = torch.nn.ModuleList(
            torch.nn.Linear(in_channels, out_channels, bias=bias and r == 0)
            for r in range(degree + 1)
        )
        self.act = activation(act)

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return new features of the same cells."""
        check_cochain(K, self.dim, h, self.in_channels, self.weights[0].weight)  # type: ignore
        if self.out_channels < self.in_channels:  # Horner's scheme: products of the narrower side
            out = self.weights[-1](h)
            for weight in [*self.weights][-2::-1]:
                out = weight(h) + self._laplacian(K, out)
            return self.act(out)
        out = self.weights[0](h)
        for weight in self.weights[1:]:
            h = self._laplacian(K, h)
            out = out + weight(h)
        return self.act(out)

    def _laplacian(self, K: Complex, h: Tensor) -> Tensor:
        return self.scale * fn.laplacian(K, self.dim, h)
