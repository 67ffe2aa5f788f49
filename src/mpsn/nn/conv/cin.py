"""The layer of cellular, and so of simplicial, isomorphism networks."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from mpsn.complexes import Incidence
from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn._checks import Activation, activation, check_least, cochains
from mpsn.nn._layer import Layer
from mpsn.nn.conv._mlp import Project, mlp
from mpsn.nn.functional.coface import messages


class SplitLinear(torch.nn.Linear):
    """A dense layer on a concatenation of tensors (n, ..., F_i), without forming it."""

    def forward(self, x: Tensor | Sequence[Tensor]) -> Tensor:
        """Return (n, ..., G)."""
        parts = [x] if isinstance(x, Tensor) else x
        return reduce(torch.add, fn.split_linear(parts, self.weight, self.bias))

    def split(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """Return the projection of each part, whose sum is the result, if they have equal n."""
        return fn.split_linear(parts, self.weight, self.bias)


class CINConv(Layer):
    r"""The layer of the cellular isomorphism network, CIN (Bodnar et al. 2021), on any complex.

    .. math::
        h_\sigma' = \mathrm{MLP}_{U,p}\Bigl(
            \mathrm{MLP}_{B,p}\bigl((1+\epsilon_B) h_\sigma + \sum_{\delta \in B(\sigma)} h_\delta
            \bigr) \,\Big\|\,
            \mathrm{MLP}_{\uparrow,p}\bigl((1+\epsilon_\uparrow) h_\sigma
            + \sum_{\tau \in N_\uparrow(\sigma)} M_{\uparrow,p}(h_\tau, h_\delta)\bigr)
        \Bigr)

    where δ is the co-face that σ and τ share; neighbors that share several send one message through
    each. :math:`M_{\uparrow,p}(h_\tau, h_\delta) = \mathrm{MLP}_{M,p}(h_\tau \| h_\delta)`, or
    :math:`h_\tau`. MLP_B and MLP_↑ have two dense layers, MLP_U and MLP_M one, each with the
    non-linearity, and the first three with batch normalization if ``norm`` is set. Each dimension p
    has its own MLPs.

    Boundaries and upper neighbors suffice for the full power of SWL, on cells of CWL, and cost
    linear time. With ``lower``, MLP_U also reads
    :math:`\mathrm{MLP}_{\downarrow,p}\bigl((1+\epsilon_\downarrow) h_\sigma
    + \sum_{\tau \in N_\downarrow(\sigma)} M_{\downarrow,p}(h_\tau, h_\delta)\bigr)`, where δ is the
    shared face, as in CIN++ (Giusti et al. 2023); in linear time too.

    Args:
        in_channels: Width F of the input; or a width per dimension, 0 for none. Features of
            different widths are projected to G first; cells without features then get the mean
            over their faces.
        out_channels: Width G of the output.
        max_dim: Largest dimension of the cells used.
        coface_message: Whether messages pass through MLP_M together with the shared cell.
            Defaults to True.
        lower: Whether lower neighbors send messages too. Defaults to False.
        act: The non-linearity: an activation of torch by name, ``"id"``, or a function. Defaults to
            ``"elu"``.
        norm: Whether to use batch normalization. Defaults to False.
        eps: Initial value of ε_B, ε_↑ and ε_↓. Defaults to 0.
        train_eps: Whether they are learned. Defaults to False.

    Shapes:
        One tensor (n_k, F), or (n_k, B, F), per dimension 0, ..., max_dim in; G instead of F out,
        for each of ``dims`` if given.

    Example:
        >>> edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [4, 5]]
        >>> K = mpsn.CellComplex.from_boundaries(6, [edges, [[0, 1, 2, 3, 4]]])  # a ring, a tail
        >>> xs = [torch.randn(n, 16) for n in K.counts]
        >>> [tuple(x.shape) for x in mpsn.nn.CINConv(16, 8, max_dim=2, lower=True)(K, xs)]
        [(6, 8), (6, 8), (1, 8)]
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        out_channels: int,
        max_dim: int,
        *,
        coface_message: bool = True,
        lower: bool = False,
        act: str | Activation = "elu",
        norm: bool = False,
        eps: float = 0.0,
        train_eps: bool = False,
    ) -> None:
        super().__init__()
        check_least(0, max_dim=max_dim)
        dims = range(max_dim + 1)
        self.in_channels, self.out_channels, self.max_dim = in_channels, out_channels, max_dim
        width = out_channels if isinstance(in_channels, Sequence) else in_channels
        self.project = Project(_widths(in_channels, max_dim), width)
        two = [width, out_channels, out_channels]
        self.mlp_boundary = torch.nn.ModuleList(mlp(two, act, norm) for _ in dims)
        self.mlp_upper = torch.nn.ModuleList(mlp(two, act, norm) for _ in dims)
        self.mlp_update = torch.nn.ModuleList(
            mlp([(2 + lower) * out_channels, out_channels], act, norm, SplitLinear) for _ in dims
        )
        # Cells of dimension max_dim have no co-faces, hence no messages.
        self.message = torch.nn.ModuleList(
            SplitLinear(2 * width, width) for _ in dims[:-1] if coface_message
        )
        self.mlp_lower = torch.nn.ModuleList(mlp(two, act, norm) for _ in dims if lower)
        self.lower_message = torch.nn.ModuleList(  # entry k belongs to dimension k + 1
            SplitLinear(2 * width, width) for _ in dims[1:] if lower and coface_message
        )
        self.act = activation(act, inplace=True)  # for messages, which nothing else uses
        start = torch.full((max_dim + 1, 2 + lower), float(eps))  # (dimension, part of the update)
        self.eps = torch.nn.Parameter(start) if train_eps else None
        self.fixed_eps, self.weighs = float(eps), bool(train_eps or eps)

    def forward(
        self, K: Complex, xs: Sequence[Tensor | None], dims: Sequence[int] | None = None
    ) -> list[Tensor]:
        """Return new features of ``dims``, by default all; the inputs are not modified."""
        weight = self.mlp_update[0][0].weight  # type: ignore
        hs = cochains(K, xs, self.max_dim, self.in_channels, weight)
        if len(self.project):
            hs = self.project(K, hs)
        dims = range(self.max_dim + 1) if dims is None else dims
        if not set(dims) <= set(range(self.max_dim + 1)):
            raise LayerError(f"Expected dims from 0 to {self.max_dim}, got {dims}.")
        # Gradients are computed in reverse order: perceptrons of low dimensions first, messages
        # last. This order needs the least memory in training.
        ups, out = [], []
        for k in dims:
            up = self.own(k, hs[k], 1)
            if k < self.max_dim:
                up = up + self.upper(k, hs[k], hs[k + 1], K.incidence(k + 1))
            ups.append(up)
        for k in reversed(dims):
            parts = [self.own(k, hs[k], 0), ups.pop()]
            if k:
                parts[0] = parts[0] + K.incidence(k).from_faces(hs[k - 1])
            if self.mlp_lower:
                parts.append(self.own(k, hs[k], 2))
                if k:
                    parts[2] = parts[2] + self.lower(k, hs[k], hs[k - 1], K.incidence(k))
            out.append(self.update(k, *parts))
        return out[::-1]

    def own(self, k: int, h: Tensor, part: int) -> Tensor:
        """Return (1 + ε_B) h, part 0, (1 + ε_↑) h, part 1, or (1 + ε_↓) h, part 2."""
        if not self.weighs:
            return h
        eps = self.fixed_eps if self.eps is None else self.eps[k, part]
        return (1 + eps) * h

    def upper(self, k: int, h: Tensor, coface: Tensor, incidence: Incidence) -> Tensor:
        """Return the sums of messages from the upper neighbors of the k-cells."""
        if not self.message:
            return incidence.upper(h)
        dense: Any = self.message[k]
        p, q = dense.split([h, coface])
        return messages(p, q, incidence, self.act)

    def lower(self, k: int, h: Tensor, face: Tensor, incidence: Incidence) -> Tensor:
        """Return the sums of messages from the lower neighbors of the k-cells."""
        if not self.lower_message:
            return incidence.lower(h)
        dense: Any = self.lower_message[k - 1]
        p, q = dense.split([h, face])
        return incidence.lower_messages(self.act(incidence.spread(p) + incidence.gather(q)))

    def update(self, k: int, *parts: Tensor) -> Tensor:
        """Return MLP_U(MLP_B(·) ‖ MLP_↑(·) [‖ MLP_↓(·)]), without forming the concatenation."""
        perceptrons = (self.mlp_boundary, self.mlp_upper, self.mlp_lower)
        rows = [mlps[k](part) for mlps, part in zip(perceptrons, parts, strict=False)]
        out: Tensor = self.mlp_update[k](rows)
        return out


class SINConv(CINConv):
    r"""The layer of the simplicial isomorphism network, SIN (appendix F of the paper).

    The same as :class:`CINConv`, under the paper's name. Of simplices, σ and τ share one co-face,
    :math:`\delta = \sigma\cup\tau`. The paper uses MLP_M for the strongly regular graphs, and
    ``coface_message=False`` for the TU graphs.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> xs = [torch.randn(n, 16) for n in K.counts]
        >>> xs = mpsn.nn.SINConv(16, 16, max_dim=2)(K, xs)
        >>> [tuple(x.shape) for x in xs]
        [(34, 16), (78, 16), (45, 16)]
    """


def _widths(in_channels: int | Sequence[int], max_dim: int) -> Sequence[int]:
    """Return the widths of the dimensions if there is one for each, checked; else nothing."""
    if not isinstance(in_channels, Sequence):
        check_least(1, in_channels=in_channels)
        return ()
    if len(in_channels) != max_dim + 1:
        raise LayerError(
            f"Expected in_channels as one width, or as one for each dimension from 0 to {max_dim}, "
            f"got {in_channels!r}."
        )
    for k, width in enumerate(in_channels):
        check_least(int(k == 0), **{f"in_channels[{k}]": width})
    return in_channels
