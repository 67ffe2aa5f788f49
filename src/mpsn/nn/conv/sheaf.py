"""Sheaf diffusion with learned restriction maps."""

from typing import Literal, get_args

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Incidence
from mpsn.errors import LayerError
from mpsn.nn._checks import Activation, activation, check_cochain, check_least
from mpsn.nn._layer import Layer

Maps = Literal["diagonal", "orthogonal", "general"]


class SheafConv(Layer):
    r"""A step of sheaf diffusion on the k-cells, through the cells above.

    .. math::
        H' &= H - \psi\bigl(\Delta (I \otimes W_1) H W_2\bigr), \qquad
            \Delta = D^{-1/2} \delta^\top \delta D^{-1/2} \\
        (\delta H)_\tau &= \sum_{\sigma \prec \tau} o_{\sigma\tau} F_{\sigma\tau} h_\sigma, \qquad
            F_{\sigma\tau} = \Phi\bigl(|h_\sigma|, |{\textstyle\sum_{\rho \prec \tau,
            \rho \ne \sigma} o_{\rho\tau} h_\rho}|\bigr)

    Each cell holds a stalk of d numbers per channel, and each incidence a learned restriction map F
    of size d × d. D holds the diagonal blocks of :math:`I + \delta^\top \delta`; for general maps
    its root is that of Cholesky, which differs from the symmetric one by a rotation of each stalk.
    For k = 0 this is neural sheaf diffusion on graphs (Bodnar et al. 2022). The layer is
    orientation equivariant if ψ is odd.

    Args:
        channels: Width F of input and output, a multiple of ``stalk``.
        stalk: Dimension d of the stalks. Defaults to 2.
        dim: Dimension k of the cells. Defaults to 0.
        maps: ``"diagonal"``, ``"orthogonal"`` or ``"general"``. Defaults to ``"diagonal"``.
        act: ψ: an activation of torch by name, ``"id"``, or a function. Defaults to ``"tanh"``.

    Shapes:
        (n_dim, F) in and out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> mpsn.nn.SheafConv(8, stalk=2, maps="orthogonal")(K, torch.randn(34, 8)).shape
        torch.Size([34, 8])
    """

    def __init__(
        self,
        channels: int,
        stalk: int = 2,
        dim: int = 0,
        *,
        maps: Maps = "diagonal",
        act: str | Activation = "tanh",
    ) -> None:
        super().__init__()
        check_least(0, dim=dim)
        check_least(1, stalk=stalk)
        if maps not in get_args(Maps):
            raise LayerError(f"Expected maps 'diagonal', 'orthogonal' or 'general', got {maps!r}.")
        if channels % stalk:
            raise LayerError(f"Expected channels as a multiple of stalk={stalk}, got {channels}.")
        self.in_channels = self.out_channels = channels
        self.stalk, self.dim, self.maps = stalk, dim, maps
        entries = stalk if maps == "diagonal" else stalk * stalk
        self.restrict = torch.nn.Linear(2 * channels, entries)
        self.left = torch.nn.Linear(stalk, stalk, bias=False)  # W_1
        self.right = torch.nn.Linear(channels // stalk, channels // stalk, bias=False)  # W_2
        self.act = activation(act)

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return new features of the same cells."""
        check_cochain(K, self.dim, h, self.in_channels, self.right.weight)
        B = K.incidence(self.dim + 1)
        F = self.restriction_maps(B, h)  # (nnz, d, d)
        stalks = h.reshape(len(h), self.stalk, self.in_channels // self.stalk)  # (n, d, F / d)
        x = self.right(self.left(stalks.mT).mT)
        eye = torch.eye(self.stalk, dtype=F.dtype, device=F.device)
        root = torch.linalg.cholesky(eye + B.to_faces(F.mT @ F))  # (n, d, d)
        x = torch.linalg.solve_triangular(root.mT, x, upper=True)
        above = B.to_cells(F @ B.gather(x, signed=True))  # δ x
        x = B.to_faces(F.mT @ B.spread(above), signed=True)
        x = torch.linalg.solve_triangular(root, x, upper=False)
        out: Tensor = (stalks - self.act(x)).flatten(-2)
        return out

    def restriction_maps(self, B: Incidence, h: Tensor) -> Tensor:
        """Return the map of every incidence of two cells, (nnz, d, d)."""
        own = B.gather(h, signed=True)
        pair = torch.cat([own.abs(), B.sum_others(own, "cells").abs()], dim=-1)
        entries = torch.tanh(self.restrict(pair))
        if self.maps == "diagonal":
            return torch.diag_embed(entries)
        square = entries.reshape(len(entries), self.stalk, self.stalk)
        return torch.matrix_exp(square - square.mT) if self.maps == "orthogonal" else square
