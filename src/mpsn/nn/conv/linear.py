"""The layer with linear messages of the paper's analysis."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn._checks import Activation, activation, check_least, cochains
from mpsn.nn._layer import Layer


class LinearMPSNConv(Layer):
    r"""An MPSN layer with linear messages and sum aggregation (appendix D of the paper).

    .. math::
        H_i' = \psi\bigl(B_i^\top B_i H_i W_1 + H_i W_2 + B_{i+1} B_{i+1}^\top H_i W_3
            + B_i^\top H_{i-1} W_4 + B_{i+1} H_{i+1} W_5\bigr)

    with separate weights for each dimension i. The layer is orientation equivariant if ψ is odd. It
    is computed as :math:`B_i^\top (B_i H_i W_1 + H_{i-1} W_4)` and
    :math:`B_{i+1} (B_{i+1}^\top H_i W_3 + H_{i+1} W_5)`, without forming Laplacians.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        max_dim: Largest dimension of the cells used.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"id"``.

    Shapes:
        One tensor (n_k, F), or (n_k, B, F), per dimension 0, ..., max_dim in; G instead of F out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 3) for n in K.counts]
        >>> [tuple(x.shape) for x in mpsn.nn.LinearMPSNConv(3, 8, max_dim=2)(K, xs)]
        [(34, 8), (78, 8), (45, 8)]
    """

    def __init__(
        self, in_channels: int, out_channels: int, max_dim: int, *, act: str | Activation = "id"
    ) -> None:
        super().__init__()
        check_least(0, max_dim=max_dim)
        self.in_channels, self.out_channels, self.max_dim = in_channels, out_channels, max_dim

        def weights(number: int) -> torch.nn.ModuleList:
            return torch.nn.ModuleList(
                torch.nn.Linear(in_channels, out_channels, bias=False) for _ in range(number)
            )

        # Entry i of `down` and `from_faces` belongs to dimension i + 1: vertices have no faces.
        self.down, self.from_faces = weights(max_dim), weights(max_dim)  # W_1, W_4
        self.own = weights(max_dim + 1)  # W_2
        self.up, self.from_cofaces = weights(max_dim), weights(max_dim)  # W_3, W_5
        self.act = activation(act)

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        hs = cochains(K, xs, self.max_dim, self.in_channels, self.own[0].weight)  # type: ignore
        out = []
        for i, h in enumerate(hs):
            total = self.own[i](h)
            if i > 0:
                incidence = K.incidence(i)
                below = incidence.from_cofaces(h, signed=True)  # B_i H_i
                inner = self.down[i - 1](below) + self.from_faces[i - 1](hs[i - 1])
                total = total + incidence.from_faces(inner, signed=True)
            if i < self.max_dim:
                incidence = K.incidence(i + 1)
                above = incidence.from_faces(h, signed=True)  # B_{i+1}ᵀ H_i
                inner = self.up[i](above) + self.from_cofaces[i](hs[i + 1])
                total = total + incidence.from_cofaces(inner, signed=True)
            out.append(self.act(total))
        return out
