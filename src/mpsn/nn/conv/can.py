"""Cell attention networks of Giusti et al."""

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_cochain, check_least
from mpsn.nn._layer import Layer
from mpsn.nn.conv._attend import Attend


class CANConv(Layer):
    r"""The layer of cell attention networks (Giusti et al. 2022).

    .. math:: h_\sigma' = \psi\Bigl(W h_\sigma
        + \sum_{\tau \in N_\downarrow(\sigma)} \alpha^\downarrow_{\sigma\tau} W_\downarrow h_\tau
        + \sum_{\tau \in N_\uparrow(\sigma)} \alpha^\uparrow_{\sigma\tau} W_\uparrow h_\tau\Bigr)

    with attention α as in graph attention networks, and heads side by side. It lists all lower
    pairs, which are quadratically many at hubs.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output, a multiple of ``heads``.
        dim: Dimension of the cells. Defaults to 1.
        heads: Number of heads. Defaults to 1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"relu"``.
        score_act: The activation of scores. Defaults to LeakyReLU with slope 0.2.

    Shapes:
        (n_dim, F) in and (n_dim, G) out; (n_dim, B, F) for a batch of cochains on one complex.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> mpsn.nn.CANConv(3, 8, heads=2)(K, torch.randn(78, 3)).shape
        torch.Size([78, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        *,
        heads: int = 1,
        act: str | Activation = "relu",
        score_act: str | Activation = fn.leaky_relu,
    ) -> None:
        super().__init__()
        check_least(0, dim=dim)
        self.in_channels, self.out_channels, self.dim = in_channels, out_channels, dim
        self.heads = heads
        self.own = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.lower = Attend(in_channels, out_channels, heads, act=score_act)
        self.upper = Attend(in_channels, out_channels, heads, act=score_act)
        self.act = activation(act)

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return new features of the same cells."""
        check_cochain(K, self.dim, h, self.in_channels, self.own.weight)
        lower, upper = self.lower(K, self.dim, "lower", h), self.upper(K, self.dim, "upper", h)
        return self.act(self.own(h) + lower + upper)
