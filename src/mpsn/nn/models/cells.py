"""A network with an output for each cell of one dimension."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn.conv import CINConv, LinearMPSNConv
from mpsn.nn.models._model import Model
from mpsn.nn.readout import ComplexReadout, jump

LARGE = 1 << 20  # cells from which on a layer is computed again for its gradient, to save memory


class CellNet(Model):
    """Outputs for all cells of one dimension, from messages between cells of all dimensions.

    Layers of :class:`mpsn.nn.CINConv`; if ``oriented``, of :class:`mpsn.nn.LinearMPSNConv` with
    tanh, which is orientation equivariant. Then the same perceptron for each cell, on the features
    of all layers (jumping knowledge): without biases and with tanh for ``odd`` outputs, on absolute
    values for other outputs of an oriented network, which do not depend on the orientation.

    Args:
        in_channels: Width of the features of cells, for each dimension; 0 for none. Defaults to 1.
        hidden: Width of all layers. Defaults to 32.
        out_channels: Number of outputs for each cell. Defaults to 2.
        layers: Number of message passing layers. Defaults to 2.
        max_dim: Largest dimension of the cells used. Defaults to 2.
        dim: Dimension of the cells that get outputs. Defaults to 0.
        oriented: Whether features of edges and higher cells change sign with the orientation.
            Defaults to False.
        odd: Whether outputs change sign with it too, or do not depend on it; only if oriented.
            Defaults to False.
        norm: Whether to use batch normalization in the layers; not if oriented. Defaults to True.
        dropout: Dropout rate before the last dense layer; not of odd outputs. Defaults to 0.

    Shapes:
        Reads K.x, or features (n_k, F_k) per dimension passed beside K; returns
        (n_dim, out_channels).

    Example:
        >>> from mpsn.nn.models import CellNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> CellNet(dim=1)(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([78, 2])
    """

    def __init__(
        self,
        in_channels: tuple[int, ...] = (1, 1, 1),
        hidden: int = 32,
        out_channels: int = 2,
        layers: int = 2,
        max_dim: int = 2,
        dim: int = 0,
        oriented: bool = False,
        odd: bool = False,
        norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(locals())
        if dim > max_dim or len(in_channels) != max_dim + 1:
            raise LayerError(
                f"Expected dim up to max_dim={max_dim}, and widths of all dimensions up to it, got "
                f"dim={dim} and in_channels={in_channels}."
            )
        self.in_channels, self.max_dim, self.out_dim = in_channels, max_dim, dim
        self.hidden, self.oriented = hidden, oriented
        last = hidden * layers
        self.project = torch.nn.ModuleList(
            torch.nn.Linear(n, hidden, bias=False) if n else torch.nn.Identity()
            for n in in_channels
            if oriented
        )
        self.convs = torch.nn.ModuleList(
            LinearMPSNConv(hidden, hidden, max_dim, act="tanh")
            if oriented
            else CINConv(hidden if i else in_channels, hidden, max_dim, act="relu", norm=norm)
            for i in range(layers)
        )
        self.head: ComplexReadout | torch.nn.Sequential
        if oriented and odd:
            self.head = torch.nn.Sequential(
                torch.nn.Linear(last, hidden, bias=False),
                torch.nn.Tanh(),
                torch.nn.Linear(hidden, out_channels, bias=False),
            )
        else:
            self.head = ComplexReadout(last, 2 * hidden, out_channels, dims=(dim,), dropout=dropout)

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per cell of dimension ``dim``."""
        hs = self.features_of(K, xs)
        if self.oriented:
            hs = self._projected(K, hs)
        layers = []
        for i, conv in enumerate(self.convs):
            final = i == len(self.convs) - 1
            hs = self._layer(conv, K, hs, final)
            layers.append([hs[self.out_dim]])
        (found,) = jump(layers)  # (n_dim, layers * hidden)
        if isinstance(self.head, ComplexReadout):
            return self.head.combine([found.abs() if self.oriented else found])
        out: Tensor = self.head(found)
        return out

    def _projected(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return features of width ``hidden``, zeros where there are none."""
        out = []
        for k, project in enumerate(self.project):
            x = xs[k] if k < len(xs) and self.in_channels[k] else None
            nothing = self.convs[0].own[0].weight.new_zeros(K.count(k), self.hidden)  # type: ignore
            out.append(nothing if x is None else project(x))
        return out

    def _layer(
        self, conv: torch.nn.Module, K: Complex, hs: Sequence[Tensor | None], final: bool
    ) -> Any:
        """Return the features after a layer; of the last one, only those of ``dim`` matter."""
        if isinstance(conv, LinearMPSNConv):
            return conv(K, hs)
        dims = (self.out_dim,) if final else tuple(range(self.max_dim + 1))
        if self.training and torch.is_grad_enabled() and sum(K.counts) > LARGE:
            found = [recomputed(conv, K, hs, k) for k in dims]
        else:
            found = conv(K, hs, dims)
        return {self.out_dim: found[0]} if final else found


def recomputed(conv: torch.nn.Module, K: Complex, hs: Sequence[Tensor | None], k: int) -> Tensor:
    """Return what a layer computes for the k-cells; nothing is kept for the gradient but inputs.

    Inner features are computed again then, without counting twice in batch normalization.
    """
    norms = [part for part in conv.modules() if isinstance(part, torch.nn.BatchNorm1d)]

    @contextmanager
    def again() -> Iterator[None]:
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.momentum = 0.0
        yield
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum

    out: Tensor = checkpoint(
        lambda *given: conv(K, given, (k,))[0],
        *hs,
        use_reentrant=False,
        preserve_rng_state=False,
        context_fn=lambda: (nullcontext(), again()),
    )
    return out
