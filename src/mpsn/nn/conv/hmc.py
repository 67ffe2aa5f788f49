"""Higher-order mesh attention of Hajij et al."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import Kind
from mpsn.nn._checks import Activation, activation, cochains
from mpsn.nn._layer import Layer
from mpsn.nn.conv._attend import Attend

FIRST: tuple[tuple[int, Kind], ...] = (
    (0, "upper"), (0, "coboundary"), (1, "boundary"), (1, "coboundary"), (2, "boundary")
)  # fmt: skip
SECOND: tuple[tuple[int, Kind], ...] = (
    (0, "upper"), (1, "boundary"), (1, "upper"), (2, "boundary"), (2, "lower")
)  # fmt: skip


class HMCConv(Layer):
    r"""The layer of the network for meshes in topological deep learning (Hajij et al. 2022).

    Two rounds of attention between vertices, edges and polygons. In the first, vertices receive
    from adjacent vertices and from edges, edges from vertices and polygons, polygons from edges; in
    the second, vertices from adjacent vertices, edges from vertices and from edges of the same
    polygon, polygons from edges and from polygons that share one:

    .. math:: h_\sigma' = \psi\Bigl(\sum_N \psi\Bigl(\sum_{\tau \in N(\sigma)}
        \operatorname{softmax}_\tau f(a_N \cdot W_N h_\tau + b_N \cdot V_N h_\sigma)\,
        W_N h_\tau\Bigr)\Bigr)

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output, and between the rounds.
        heads: Number of heads. Defaults to 1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"relu"``.

    Shapes:
        Three tensors (n_k, F), or (n_k, B, F), in; G instead of F out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 3) for n in K.counts]
        >>> [tuple(x.shape) for x in mpsn.nn.HMCConv(3, 8)(K, xs)]
        [(34, 8), (78, 8), (45, 8)]
    """

    max_dim = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        heads: int = 1,
        act: str | Activation = "relu",
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.rounds = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {
                    f"{k} {kind}": Attend(
                        width,
                        out_channels,
                        heads,
                        receiver_channels=None if kind in ("lower", "upper") else width,
                    )
                    for k, kind in neighborhoods
                }
            )
            for width, neighborhoods in ((in_channels, FIRST), (out_channels, SECOND))
        )
        self.act = activation(act)

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        like = next(self.parameters())
        hs = cochains(K, xs, 2, self.in_channels, like)
        for attend, neighborhoods in zip(self.rounds, (FIRST, SECOND), strict=True):
            received: list[list[Tensor]] = [[], [], []]
            for k, kind in neighborhoods:
                near = {"boundary": k - 1, "coboundary": k + 1}.get(kind, k)
                message = attend[f"{k} {kind}"](K, k, kind, hs[near], hs[k])  # type: ignore[index]
                received[k].append(self.act(message))
            hs = [self.act(torch.stack(messages).sum(0)) for messages in received]
        return hs
