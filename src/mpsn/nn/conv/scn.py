"""Simplicial complex networks of Yang, Sala and Bogdan."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_least, cochains
from mpsn.nn._layer import Layer


class SCNConv(Layer):
    r"""A convolution with the normalized Hodge Laplacian (Yang, Sala and Bogdan 2022).

    .. math:: H_k' = \psi(\tilde L_k H_k W_k)

    in all dimensions, without messages between them. :math:`\tilde L_k` is that of
    :meth:`mpsn.complexes.Complex.hodge_laplacian` with ``normalized=True``. The layer is
    orientation equivariant if ψ is odd.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        max_dim: Largest dimension of the cells used.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"tanh"``.

    Shapes:
        One tensor (n_k, F), or (n_k, B, F), per dimension 0, ..., max_dim in; G instead of F out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 3) for n in K.counts]
        >>> [tuple(x.shape) for x in mpsn.nn.SCNConv(3, 8, max_dim=2)(K, xs)]
        [(34, 8), (78, 8), (45, 8)]
    """

    def __init__(
        self, in_channels: int, out_channels: int, max_dim: int, *, act: str | Activation = "tanh"
    ) -> None:
        super().__init__()
        check_least(0, max_dim=max_dim)
        self.in_channels, self.out_channels, self.max_dim = in_channels, out_channels, max_dim
        self.weights = torch.nn.ModuleList(
            torch.nn.Linear(in_channels, out_channels, bias=False) for _ in range(max_dim + 1)
        )
        self.act = activation(act)

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        like = self.weights[0].weight
        hs = cochains(K, xs, self.max_dim, self.in_channels, like)  # type: ignore[arg-type]
        out = []
        for k, (weight, h) in enumerate(zip(self.weights, hs, strict=True)):
            out.append(self.act(weight(fn.laplacian(K, k, h, normalized=True))))
        return out
