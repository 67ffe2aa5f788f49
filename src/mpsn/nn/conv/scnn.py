"""Simplicial convolutional neural networks of Yang, Isufi and Leus."""

from functools import partial

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_cochain, check_least
from mpsn.nn._layer import Layer


class SCNNConv(Layer):
    r"""A filter of both halves of the Hodge Laplacian (Yang, Isufi and Leus 2022).

    .. math:: H' = \psi\Bigl(H W_0 + \sum_{r=1}^{R_\downarrow} P_r(L^\downarrow) H W_{\downarrow r}
        + \sum_{r=1}^{R_\uparrow} P_r(L^\uparrow) H W_{\uparrow r}\Bigr)

    with polynomials P_r, see :func:`mpsn.nn.functional.laplacian_powers`. The layer is orientation
    equivariant if ψ is odd. :class:`SNNConv` is the case of one polynomial of the whole Laplacian.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        down_degree: R_↓. Defaults to 2.
        up_degree: R_↑. Defaults to 2.
        dim: Dimension of the cells. Defaults to 1.
        basis: ``"monomial"``, ``"chebyshev"`` or ``"jacobi"``. Defaults to ``"monomial"``.
        normalized: Whether to normalize the Laplacians. Defaults to False.
        scale: Factor of the Laplacians, such as one over their largest eigenvalue. Defaults to 1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"tanh"``.

    Shapes:
        (n_dim, F) in and (n_dim, G) out; (n_dim, B, F) for a batch of cochains on one complex.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> mpsn.nn.SCNNConv(1, 8, basis="chebyshev", normalized=True)(K, torch.randn(78, 1)).shape
        torch.Size([78, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        down_degree: int = 2,
        up_degree: int = 2,
        dim: int = 1,
        *,
        basis: fn.Basis = "monomial",
        normalized: bool = False,
        scale: float = 1.0,
        act: str | Activation = "tanh",
    ) -> None:
        super().__init__()
        check_least(0, down_degree=down_degree, up_degree=up_degree, dim=dim)
        self.in_channels, self.out_channels, self.dim = in_channels, out_channels, dim
        self.down_degree, self.up_degree = down_degree, up_degree
        self.basis, self.normalized, self.scale = basis, normalized, scale
        width = (1 + down_degree + up_degree) * in_channels
        self.weight = torch.nn.Linear(width, out_channels, bias=False)  # all W, side by side
        self.act = activation(act)

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return new features of the same cells."""
        check_cochain(K, self.dim, h, self.in_channels, self.weight.weight)
        powers = partial(
            fn.laplacian_powers,
            K,
            self.dim,
            h,
            basis=self.basis,
            normalized=self.normalized,
            scale=self.scale,
        )
        down, up = powers("down", self.down_degree), powers("up", self.up_degree)
        return self.act(self.weight(torch.cat([h, *down, *up], dim=-1)))
