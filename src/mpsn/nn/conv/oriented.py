"""The edge-flow layer: signed messages from lower and upper neighbors."""

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_cochain, check_least
from mpsn.nn._layer import Layer


class OrientedConv(Layer):
    r"""Message passing between oriented cells of one dimension (appendix F, trajectories).

    .. math::
        h_\sigma' = \psi\Bigl(W_0 h_\sigma
            + \sum_{\tau \in N_\downarrow(\sigma)} W_1 h_\tau o_{\sigma\tau}
            + \sum_{\delta \in N_\uparrow(\sigma)} W_2 h_\delta o_{\sigma\delta}\Bigr)

    With odd ψ and no bias the layer is orientation equivariant (Theorem 14). Unsigned and with
    absolute values as input it is the L₀-inv layer, without ``upper`` that of the GNN.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        dim: Dimension of the cells. Defaults to 1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"id"``.
        signed: Whether messages are multiplied by o. Defaults to True.
        upper: Whether upper neighbors send messages. Defaults to True.
        bias: Whether to add a bias, which breaks orientation equivariance. Defaults to False.

    Shapes:
        (n_dim, F) in and (n_dim, G) out; (n_dim, B, F) for a batch of cochains on one complex.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> mpsn.nn.OrientedConv(1, 8, act="tanh")(K, torch.randn(78, 1)).shape
        torch.Size([78, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        *,
        act: str | Activation = "id",
        signed: bool = True,
        upper: bool = True,
        bias: bool = False,
    ) -> None:
        super().__init__()
        check_least(0, dim=dim)
        self.in_channels, self.out_channels, self.dim = in_channels, out_channels, dim
        self.signed = signed
        self.own = torch.nn.Linear(in_channels, out_channels, bias=bias)
        self.lower = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.upper = torch.nn.Linear(in_channels, out_channels, bias=False) if upper else None
        self.act = activation(act)

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return new features of the same cells."""
        check_cochain(K, self.dim, h, self.in_channels, self.own.weight)
        k = self.dim
        out = self.own(h) + self.lower(fn.aggregate(K, k, "lower", h, signed=self.signed))
        if self.upper is not None:
            out = out + self.upper(fn.aggregate(K, k, "upper", h, signed=self.signed))
        return self.act(out)
