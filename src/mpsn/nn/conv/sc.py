"""Simplicial 2-complex convolutions of Bunch et al."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.nn import functional as fn
from mpsn.nn.checks import Activation, activation, cochains
from mpsn.nn.functional.transposes import rows

ROADS = ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2))  # (to, from)


class SCConv(torch.nn.Module):
    r"""The convolution on 2-complexes of Bunch et al. 2020 (appendix C of the paper).

    .. math::
        H_0' &= \psi(\tilde A_0^u H_0 W_{00} + D_1^{-1} B_1 H_1 W_{01}) \\
        H_1' &= \psi(D_2 B_1^\top D_1^{-1} H_0 W_{10} + (\tilde A_1^d + \tilde A_1^u) H_1 W_{11}
            + B_2 D_3 H_2 W_{12}) \\
        H_2' &= \psi(D_4 B_2^\top D_5^{-1} H_1 W_{21} + \tilde A_2^d H_2 W_{22})

    with :math:`D_0 = \max(\operatorname{diag}(|B_1| 1), I)`,
    :math:`D_1 = 2\operatorname{diag}(|B_1| D_2 1)`,
    :math:`D_2 = \max(\operatorname{diag}(|B_2| 1), I)`, :math:`D_3 = I/3`, :math:`D_4 = I`,
    :math:`D_5 = \operatorname{diag}(|B_2| 1)`, inverses of 0 left out, and the adjacencies that
    belong to the normalised Laplacians, with self-loops:

    .. math::
        \tilde A_0^u &= (A_0^u + I)(D_0 + I)^{-1}, & A_0^u &= D_0 - B_1 B_1^\top \\
        \tilde A_1^u &= (A_1^u + I)(D_2 + I)^{-1}, & A_1^u &= D_2 - B_2 D_3 B_2^\top \\
        \tilde A_1^d &= (D_2 + I)(A_1^d + I), & A_1^d &= D_2^{-1} - B_1^\top D_1^{-1} B_1 \\
        \tilde A_2^d &= (D_4 + I)(A_2^d + I), & A_2^d &= D_4^{-1} - B_2^\top D_5^{-1} B_2

    The layer is defined for dimensions 0, 1 and 2 and takes no account of simplices above. A
    special case of :class:`MPSNConv` (Theorem 12).

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        act: ψ: ``"relu"``, ``"id"``, ``"tanh"``, ``"elu"`` or a function.

    Shapes:
        Three tensors (n_k, F), or (n_k, B, F), in; G instead of F out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 3) for n in K.counts]
        >>> [tuple(x.shape) for x in mpsn.nn.SCConv(3, 8)(K, xs)]
        [(34, 8), (78, 8), (45, 8)]
    """

    max_dim = 2

    def __init__(
        self, in_channels: int, out_channels: int, *, act: str | Activation = "relu"
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weights = torch.nn.ModuleDict(
            {
                f"{to}{from_}": torch.nn.Linear(in_channels, out_channels, bias=False)
                for to, from_ in ROADS
            }
        )
        self.act = activation(act)

    def forward(self, K: SimplicialComplex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; those handed in stay as they are."""
        w = self.weights
        h0, h1, h2 = cochains(K, xs, 2, self.in_channels, w["00"].weight)  # type: ignore[arg-type]
        faces1, signs1 = fn.incidence(K, 1, signed=True)
        faces2, signs2 = fn.incidence(K, 2, signed=True)
        n0, n1 = h0.shape[0], h1.shape[0]

        d0 = fn.degree(faces1, n0, h0).clamp(min=1)  # (n_0,)
        d2 = fn.degree(faces2, n1, h0).clamp(min=1)  # (n_1,), also D_5: an unused 1 instead of 0
        d1 = (2 * fn.coboundary(d2, faces1, n0)).clamp(min=1)  # (n_0,)

        def down(h: Tensor, faces: Tensor, signs: Tensor | None, n: int, d: Tensor) -> Tensor:
            below = fn.coboundary(h, faces, n, signs)
            return fn.boundary(below / rows(d, below), faces, signs)  # Bᵀ D⁻¹ B h

        def up(h: Tensor, faces: Tensor, signs: Tensor | None, d: Tensor) -> Tensor:
            above = fn.boundary(h / rows(d + 1, h), faces, signs)
            return fn.coboundary(above, faces, h.shape[0], signs)  # B Bᵀ (D + I)⁻¹ h

        d_edge = rows(d2, h1)
        a0_up = h0 - up(h0, faces1, signs1, d0)
        a1_up = h1 - up(h1, faces2, signs2, d2) / 3
        a1_down = (d_edge + 1) * (h1 / d_edge + h1 - down(h1, faces1, signs1, n0, d1))
        a2_down = 2 * (2 * h2 - down(h2, faces2, signs2, n1, d2))

        from_edges = fn.coboundary(h1, faces1, n0, signs1) / rows(d1, h0)
        from_vertices = d_edge * fn.boundary(h0 / rows(d1, h0), faces1, signs1)
        from_triangles = fn.coboundary(h2 / 3, faces2, n1, signs2)
        to_triangles = fn.boundary(h1 / d_edge, faces2, signs2)
        return [
            self.act(w["00"](a0_up) + w["01"](from_edges)),
            self.act(w["10"](from_vertices) + w["11"](a1_down + a1_up) + w["12"](from_triangles)),
            self.act(w["21"](to_triangles) + w["22"](a2_down)),
        ]

    def extra_repr(self) -> str:
        """Say what the parameters do not."""
        return f"{self.in_channels}, {self.out_channels}"
