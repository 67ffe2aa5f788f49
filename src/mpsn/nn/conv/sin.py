"""Simplicial isomorphism networks."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn.checks import activation, cochains
from mpsn.nn.conv.mlp import mlp


class SINConv(torch.nn.Module):
    r"""The layer of the simplicial isomorphism network, SIN (appendix F of the paper).

    .. math::
        h_\sigma' = \mathrm{MLP}_{U,p}\Bigl(
            \mathrm{MLP}_{B,p}\bigl((1+\epsilon_B) h_\sigma + \sum_{\delta \in B(\sigma)} h_\delta
            \bigr) \,\Big\|\,
            \mathrm{MLP}_{\uparrow,p}\bigl((1+\epsilon_\uparrow) h_\sigma
            + \sum_{\tau \in N_\uparrow(\sigma)} M_{\uparrow,p}(h_\tau, h_{\sigma\cup\tau})\bigr)
        \Bigr)

    with :math:`M_{\uparrow,p} = \mathrm{MLP}_{M,p}(h_\tau \| h_{\sigma\cup\tau})`, as for the
    strongly regular graphs, or :math:`M_{\uparrow,p} = h_\tau`, as for the TU graphs.
    MLP_B and MLP_↑ have two dense layers, MLP_U and MLP_M one, each with the non-linearity, and the
    first three with batch normalisation if ``norm`` is set. All are per dimension p.

    Boundaries and upper neighbours suffice for the full power of SWL, and cost linear time.

    Args:
        in_channels: Width F of the input.
        out_channels: Width G of the output.
        max_dim: Largest dimension of a simplex that takes part.
        coface_message: Whether messages pass through MLP_M together with the shared co-face.
        act: ``"elu"``, ``"relu"``, ``"tanh"`` or ``"id"``.
        norm: Whether to use batch normalisation.
        eps: Value of ε_B and ε_↑ at the start.
        train_eps: Whether both are learned.

    Shapes:
        One tensor (n_k, F), or (n_k, B, F), per dimension 0, ..., max_dim in; G instead of F out,
        for each of ``dims`` if they are given.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 16) for n in K.counts]
        >>> xs = mpsn.nn.SINConv(16, 16, max_dim=2)(K, xs)
        >>> [tuple(x.shape) for x in xs]
        [(34, 16), (78, 16), (45, 16)]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        max_dim: int,
        *,
        coface_message: bool = True,
        act: str = "elu",
        norm: bool = False,
        eps: float = 0.0,
        train_eps: bool = False,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.max_dim = in_channels, out_channels, max_dim
        dims = range(max_dim + 1)
        two = [in_channels, out_channels, out_channels]
        self.mlp_boundary = torch.nn.ModuleList(mlp(two, act, norm) for _ in dims)
        self.mlp_upper = torch.nn.ModuleList(mlp(two, act, norm) for _ in dims)
        self.mlp_update = torch.nn.ModuleList(
            mlp([2 * out_channels, out_channels], act, norm) for _ in dims
        )
        # Nothing lies above dimension max_dim, so it has no co-face messages.
        self.message = torch.nn.ModuleList(
            torch.nn.Linear(2 * in_channels, in_channels) for _ in dims[:-1] if coface_message
        )
        self.act = activation(act, inplace=True)  # of messages, which are no one else's
        start = torch.full((max_dim + 1, 2), float(eps))  # (dimension, [boundary, upper])
        self.eps = torch.nn.Parameter(start) if train_eps else None
        self.fixed_eps = float(eps)

    def forward(
        self,
        K: SimplicialComplex,
        xs: Sequence[Tensor | None],
        dims: Sequence[int] | None = None,
    ) -> list[Tensor]:
        """Return new features of ``dims``, of all unless said; those handed in stay as they are."""
        hs = cochains(K, xs, self.max_dim, self.in_channels, self.mlp_update[0][0].weight)  # type: ignore
        out = []
        for k in range(len(hs)) if dims is None else dims:
            if not 0 <= k <= self.max_dim:
                raise LayerError(f"Expected dims from 0 to {self.max_dim}, got {dims}.")
            low, up = self.own(k, hs[k])
            if k > 0:
                low = low + fn.boundary(hs[k - 1], K.faces(k))
            if k < self.max_dim:
                up = up + self._upper(k, hs[k], hs[k + 1], K.faces(k + 1))
            out.append(self.update(k, low, up))
        return out

    def own(self, k: int, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return (1 + ε_B) h and (1 + ε_↑) h."""
        if self.eps is not None:
            return (1 + self.eps[k, 0]) * h, (1 + self.eps[k, 1]) * h
        own = (1 + self.fixed_eps) * h if self.fixed_eps else h
        return own, own

    def _upper(self, k: int, h: Tensor, coface: Tensor, faces: Tensor) -> Tensor:
        if not self.message:
            return fn.upper(h, faces)
        return fn.upper_exchange(self.messages(k, h, coface, faces), faces, h.shape[0])

    def messages(
        self, k: int, h: Tensor, coface: Tensor, faces: Tensor, at: Tensor | None = None
    ) -> list[Tensor]:
        """Return M(h_τ, h_δ) for the face τ in each column of a table, k+2 of (n_{k+1}, F).

        Args:
            k: Dimension of the faces.
            h: Their features.
            coface: Features of the co-faces.
            faces: Rows of ``h`` for each co-face.
            at: Rows of ``coface`` for each co-face, where they are not its rows in order.
        """
        if not self.message:
            return fn.gather(h, faces)
        dense = self.message[k]
        p, q = fn.split_linear([h, coface], dense.weight, dense.bias)  # type: ignore[arg-type]
        q = q if at is None else q.index_select(0, at)
        return [self.act(m.add_(q)) for m in fn.gather(p, faces)]

    def update(self, k: int, low: Tensor, up: Tensor) -> Tensor:
        """Return MLP_U(MLP_B(low) ‖ MLP_↑(up))."""
        both = torch.cat([self.mlp_boundary[k](low), self.mlp_upper[k](up)], dim=-1)
        out: Tensor = self.mlp_update[k](both)
        return out

    def extra_repr(self) -> str:
        """Say what the parameters do not."""
        return f"{self.in_channels}, {self.out_channels}, max_dim={self.max_dim}"
