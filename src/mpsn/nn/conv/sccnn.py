"""Simplicial complex convolutional neural networks of Yang and Isufi."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_least, cochains
from mpsn.nn._layer import Layer


class SCCNNConv(Layer):
    r"""Filters of the Hodge Laplacians within and between dimensions (Yang and Isufi 2023).

    .. math:: H_k' = \psi\Bigl(H_k W_k
        + \sum_{r=1}^{R} P_r(L_k^\downarrow) H_k W_{kr}
        + \sum_{r=1}^{R} P_r(L_k^\uparrow) H_k W_{kr}'
        + \sum_{r=0}^{R} P_r(L_k^\downarrow) B_k^\top H_{k-1} V_{kr}
        + \sum_{r=0}^{R} P_r(L_k^\uparrow) B_{k+1} H_{k+1} V_{kr}'\Bigr)

    with :math:`P_0 = I` and polynomials P_r, see :func:`mpsn.nn.functional.laplacian_powers`. The
    layer is orientation equivariant if ψ is odd.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        max_dim: Largest dimension of the cells used.
        degree: R. Defaults to 2.
        basis: ``"monomial"``, ``"chebyshev"`` or ``"jacobi"``. Defaults to ``"monomial"``.
        normalized: Whether to normalize the Laplacians. Defaults to False.
        scale: Factor of the Laplacians, such as one over their largest eigenvalue. Defaults to 1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"tanh"``.

    Shapes:
        One tensor (n_k, F), or (n_k, B, F), per dimension 0, ..., max_dim in; G instead of F out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 3) for n in K.counts]
        >>> [tuple(x.shape) for x in mpsn.nn.SCCNNConv(3, 8, max_dim=2)(K, xs)]
        [(34, 8), (78, 8), (45, 8)]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        max_dim: int,
        degree: int = 2,
        *,
        basis: fn.Basis = "monomial",
        normalized: bool = False,
        scale: float = 1.0,
        act: str | Activation = "tanh",
    ) -> None:
        super().__init__()
        check_least(0, max_dim=max_dim, degree=degree)
        self.in_channels, self.out_channels, self.max_dim = in_channels, out_channels, max_dim
        self.degree, self.basis, self.normalized, self.scale = degree, basis, normalized, scale
        self.weights = torch.nn.ModuleList()  # of each dimension, all weights side by side
        for k in range(max_dim + 1):
            halves = (k > 0) + (k < max_dim)
            blocks = 1 + halves * (2 * degree + 1)
            self.weights.append(torch.nn.Linear(blocks * in_channels, out_channels, bias=False))
        self.act = activation(act)

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        like = self.weights[0].weight
        hs = cochains(K, xs, self.max_dim, self.in_channels, like)  # type: ignore[arg-type]
        out = []
        for k, h in enumerate(hs):
            parts = [h]
            if k > 0:
                from_faces = K.incidence(k).from_faces(hs[k - 1], signed=True)
                parts += [*self._powers(K, k, h, "down"), from_faces]
                parts += self._powers(K, k, from_faces, "down")
            if k < self.max_dim:
                from_cofaces = K.incidence(k + 1).from_cofaces(hs[k + 1], signed=True)
                parts += [*self._powers(K, k, h, "up"), from_cofaces]
                parts += self._powers(K, k, from_cofaces, "up")
            out.append(self.act(self.weights[k](torch.cat(parts, dim=-1))))
        return out

    def _powers(self, K: Complex, k: int, h: Tensor, part: fn.Part) -> list[Tensor]:
        return fn.laplacian_powers(
            K,
            k,
            h,
            part,
            self.degree,
            basis=self.basis,
            normalized=self.normalized,
            scale=self.scale,
        )
