"""Attention with learned scores, which the attentional layers share."""

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import Kind
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_least


class Attend(torch.nn.Module):
    r"""Attention of cells to their neighbors of one kind, as in graph attention networks.

    .. math:: m_\sigma = \Big\Vert_h \sum_\tau \operatorname{softmax}_\tau
        f(a_h \cdot W_h h_\tau + b_h \cdot V_h h_\sigma)\, W_h h_\tau

    Args:
        in_channels: Width of the senders.
        out_channels: Width of the result, all heads together.
        heads: Number of heads. Defaults to 1.
        receiver_channels: Width of the receivers, if they are of another dimension, with V of their
            own. Defaults to None, for V = W.
        act: f. Defaults to LeakyReLU with slope 0.2.
        loops: Whether cells are neighbors of their own. Defaults to False.

    Shapes:
        Senders (n, ..., F) and receivers (n_k, ..., F'), in; (n_k, ..., G) out.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        receiver_channels: int | None = None,
        act: str | Activation = fn.leaky_relu,
        loops: bool = False,
    ) -> None:
        super().__init__()
        check_least(1, heads=heads, out_channels=out_channels)
        if out_channels % heads:
            raise LayerError(
                f"Expected out_channels as a multiple of heads={heads}, got {out_channels}."
            )
        self.heads, self.loops, self.act = heads, loops, activation(act)
        self.value = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.receiver = self.value
        if receiver_channels is not None:
            self.receiver = torch.nn.Linear(receiver_channels, out_channels, bias=False)
        self.sender_score = torch.nn.Parameter(torch.empty(heads, out_channels // heads))
        self.receiver_score = torch.nn.Parameter(torch.empty(heads, out_channels // heads))
        torch.nn.init.xavier_uniform_(self.sender_score)
        torch.nn.init.xavier_uniform_(self.receiver_score)

    def forward(
        self, K: Complex, k: int, kind: Kind, sender: Tensor, receiver: Tensor | None = None
    ) -> Tensor:
        """Return messages to the k-cells; receivers are the senders themselves by default."""
        value = self.value(sender)
        own = value if receiver is None else self.receiver(receiver)
        value, own = (h.unflatten(-1, (self.heads, -1)) for h in (value, own))
        out = fn.attention(
            K,
            k,
            kind,
            value,
            (value * self.sender_score).sum(-1),
            (own * self.receiver_score).sum(-1),
            act=self.act,
            loops=self.loops,
        )
        return out.flatten(-2)
