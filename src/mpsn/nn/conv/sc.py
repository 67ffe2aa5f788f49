"""Simplicial 2-complex convolutions of Bunch et al."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn._rows.sums import per_row
from mpsn.complexes import Incidence, SimplicialComplex
from mpsn.errors import LayerError
from mpsn.nn._checks import Activation, activation, cochains
from mpsn.nn._layer import Layer

MAPS = ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2))  # (to, from)


class SCConv(Layer):
    r"""The convolution on 2-complexes of Bunch et al. 2020 (appendix C of the paper).

    .. math::
        H_0' &= \psi(\tilde A_0^u H_0 W_{00} + D_1^{-1} B_1 H_1 W_{01}) \\
        H_1' &= \psi(D_2 B_1^\top D_1^{-1} H_0 W_{10} + (\tilde A_1^d + \tilde A_1^u) H_1 W_{11}
            + B_2 D_3 H_2 W_{12}) \\
        H_2' &= \psi(D_4 B_2^\top D_5^{-1} H_1 W_{21} + \tilde A_2^d H_2 W_{22})

    with :math:`D_0 = \max(\operatorname{diag}(|B_1| 1), I)`,
    :math:`D_1 = 2\operatorname{diag}(|B_1| D_2 1)`,
    :math:`D_2 = \max(\operatorname{diag}(|B_2| 1), I)`, :math:`D_3 = I/3`, :math:`D_4 = I`,
    :math:`D_5 = \operatorname{diag}(|B_2| 1)`, with 0 as the inverse of 0, and the adjacencies of
    the normalized Laplacians, with self-loops:

    .. math::
        \tilde A_0^u &= (A_0^u + I)(D_0 + I)^{-1}, & A_0^u &= D_0 - B_1 B_1^\top \\
        \tilde A_1^u &= (A_1^u + I)(D_2 + I)^{-1}, & A_1^u &= D_2 - B_2 D_3 B_2^\top \\
        \tilde A_1^d &= (D_2 + I)(A_1^d + I), & A_1^d &= D_2^{-1} - B_1^\top D_1^{-1} B_1 \\
        \tilde A_2^d &= (D_4 + I)(A_2^d + I), & A_2^d &= D_4^{-1} - B_2^\top D_5^{-1} B_2

    The layer is defined for dimensions 0, 1 and 2 and ignores higher simplices. It is a special
    case of :class:`MPSNConv` (Theorem 12).

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"relu"``.

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
                for to, from_ in MAPS
            }
        )
        self.act = activation(act)

    def forward(self, K: SimplicialComplex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        if not isinstance(K, SimplicialComplex):
            raise LayerError(
                f"Expected a simplicial complex, as the layer is defined for triangles, got "
                f"{type(K).__name__}; use CINConv or LinearMPSNConv."
            )
        w = self.weights
        h0, h1, h2 = cochains(K, xs, 2, self.in_channels, w["00"].weight)  # type: ignore[arg-type]
        edges, triangles = K.incidence(1), K.incidence(2)
        d0 = edges.degree.clamp(min=1).to(h0.dtype)  # (n_0,)
        d2 = triangles.degree.clamp(min=1).to(h0.dtype)  # (n_1,), also D_5, whose zeros are unused
        d1 = (2 * edges.from_cofaces(d2)).clamp(min=1)  # (n_0,)

        def down(h: Tensor, B: Incidence, d: Tensor) -> Tensor:
            below = B.from_cofaces(h, signed=True)
            return B.from_faces(below / per_row(d, below), signed=True)  # Bᵀ D⁻¹ B h

        def up(h: Tensor, B: Incidence, d: Tensor) -> Tensor:
            above = B.from_faces(h / per_row(d + 1, h), signed=True)
            return B.from_cofaces(above, signed=True)  # B Bᵀ (D + I)⁻¹ h

        d_edge = per_row(d2, h1)
        a0_up = h0 - up(h0, edges, d0)
        a1_up = h1 - up(h1, triangles, d2) / 3
        a1_down = (d_edge + 1) * (h1 / d_edge + h1 - down(h1, edges, d1))
        a2_down = 2 * (2 * h2 - down(h2, triangles, d2))

        from_edges = edges.from_cofaces(h1, signed=True) / per_row(d1, h0)
        from_vertices = d_edge * edges.from_faces(h0 / per_row(d1, h0), signed=True)
        from_triangles = triangles.from_cofaces(h2 / 3, signed=True)
        to_triangles = triangles.from_faces(h1 / d_edge, signed=True)
        return [
            self.act(w["00"](a0_up) + w["01"](from_edges)),
            self.act(w["10"](from_vertices) + w["11"](a1_down + a1_up) + w["12"](from_triangles)),
            self.act(w["21"](to_triangles) + w["22"](a2_down)),
        ]
