"""SCoNe, the simplicial network of Roddenberry, Glaze and Segarra."""

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_cochain, check_least
from mpsn.nn._layer import Layer


class SCoNeConv(Layer):
    r"""The SCoNe layer (Roddenberry, Glaze and Segarra 2021; appendix D of the paper).

    .. math:: H' = \psi\bigl(B_k^\top B_k H W_0 + H W_1 + B_{k+1} B_{k+1}^\top H W_2\bigr)

    The layer is orientation equivariant if ψ is odd. It differs from :class:`OrientedConv` in the
    diagonals of the two Laplacians.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        dim: Dimension k of the cells. Defaults to 1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"tanh"``.

    Shapes:
        (n_dim, F) in and (n_dim, G) out; (n_dim, B, F) for a batch of cochains on one complex.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> mpsn.nn.SCoNeConv(1, 8)(K, torch.randn(78, 1)).shape
        torch.Size([78, 8])
    """

    def __init__(
        self, in_channels: int, out_channels: int, dim: int = 1, *, act: str | Activation = "tanh"
    ) -> None:
        super().__init__()
        check_least(0, dim=dim)
        self.in_channels, self.out_channels, self.dim = in_channels, out_channels, dim
        self.down = torch.nn.Linear(in_channels, out_channels, bias=False)  # W_0
        self.own = torch.nn.Linear(in_channels, out_channels, bias=False)  # W_1
        self.up = torch.nn.Linear(in_channels, out_channels, bias=False)  # W_2
        self.act = activation(act)

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return new features of the same cells."""
        check_cochain(K, self.dim, h, self.in_channels, self.own.weight)
        down, up = (fn.laplacian(K, self.dim, h, part) for part in ("down", "up"))
        return self.act(self.down(down) + self.own(h) + self.up(up))
