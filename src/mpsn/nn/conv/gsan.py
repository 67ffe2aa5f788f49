"""Generalized simplicial attention networks of Battiloro et al."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import Kind
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_least, cochains
from mpsn.nn._layer import Layer
from mpsn.nn.conv._attend import Attend
from mpsn.nn.conv.san import AttentionFilter, harmonic_part


class GSANConv(Layer):
    r"""Simplicial attention in all dimensions at once, after Battiloro et al. 2023.

    .. math::
        H_k' = \psi\Bigl(\sum_{p=1}^{J} A_{\downarrow k}^p H_k W_p
            + \sum_{p=1}^{J} A_{\uparrow k}^p H_k W_p' + A_{B_k} H_{k-1} V
            + A_{C_k} H_{k+1} V' + (I - \varepsilon L_k)^{J_h} H_k W_h\Bigr)

    The terms are even and first powers of the two halves of the Dirac operator, with attentions as
    entries: A_↓ and A_↑ between cells of one dimension as in :class:`SANConv`, A_B to faces and A_C
    to co-faces. Each dimension has weights of its own.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        max_dim: Largest dimension of the cells used.
        degree: J, the number of powers of the attentions. Defaults to 1.
        harmonic_degree: J_h. Defaults to 5.
        step: ε, at most two over the largest eigenvalue of L. Defaults to 0.1.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"tanh"``.

    Shapes:
        One tensor (n_k, F), or (n_k, B, F), per dimension 0, ..., max_dim in; G instead of F out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 3) for n in K.counts]
        >>> [tuple(x.shape) for x in mpsn.nn.GSANConv(3, 8, max_dim=2)(K, xs)]
        [(34, 8), (78, 8), (45, 8)]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        max_dim: int,
        degree: int = 1,
        *,
        harmonic_degree: int = 5,
        step: float = 0.1,
        act: str | Activation = "tanh",
    ) -> None:
        super().__init__()
        check_least(0, max_dim=max_dim, harmonic_degree=harmonic_degree)
        check_least(1, degree=degree)
        self.in_channels, self.out_channels, self.max_dim = in_channels, out_channels, max_dim
        self.degree, self.harmonic_degree, self.step = degree, harmonic_degree, step
        self.harmonic = torch.nn.ModuleList(
            torch.nn.Linear(in_channels, out_channels, bias=False) for _ in range(max_dim + 1)
        )
        self.within = torch.nn.ModuleDict()  # filters of the cells themselves
        self.between = torch.nn.ModuleDict()  # attention to faces and co-faces
        for k, kind, across, _ in self._neighborhoods():
            self.within[f"{k} {kind}"] = AttentionFilter(
                in_channels, out_channels, degree, fn.leaky_relu
            )
            self.between[f"{k} {across}"] = Attend(
                in_channels, out_channels, receiver_channels=in_channels
            )
        self.act = activation(act)

    def _neighborhoods(self) -> list[tuple[int, Kind, Kind, int]]:
        """Return the dimension of receivers, both kinds of senders, and the other dimension."""
        lower = [(k, "lower", "boundary", k - 1) for k in range(1, self.max_dim + 1)]
        return lower + [(k, "upper", "coboundary", k + 1) for k in range(self.max_dim)]  # type: ignore[return-value]

    def forward(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return new features per dimension; the inputs are not modified."""
        like = self.harmonic[0].weight
        hs = cochains(K, xs, self.max_dim, self.in_channels, like)  # type: ignore[arg-type]
        out = [
            dense(harmonic_part(K, k, h, self.harmonic_degree, self.step))
            for k, (dense, h) in enumerate(zip(self.harmonic, hs, strict=True))
        ]
        for k, kind, across, near in self._neighborhoods():
            out[k] = out[k] + self.within[f"{k} {kind}"](K, k, kind, hs[k])
            out[k] = out[k] + self.between[f"{k} {across}"](K, k, across, hs[near], hs[k])
        return [self.act(h) for h in out]
