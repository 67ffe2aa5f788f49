"""A network with an output for each cell of one dimension."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn.conv import CINConv, LinearMPSNConv
from mpsn.nn.models._model import Config, Model, features_of
from mpsn.nn.readout import ComplexReadout, jump

LARGE = 1 << 20  # cells from which on a layer is computed again for its gradient, to save memory


@dataclass(frozen=True)
class CellConfig(Config):
    """Settings of :class:`CellNet`."""

    in_channels: tuple[int, ...] = (1, 1, 1)
    """Width of the features of cells, for each dimension; 0 for none."""
    hidden: int = 32
    """Width of all layers."""
    out_channels: int = 2
    """Number of outputs for each cell."""
    layers: int = 2
    """Number of message passing layers."""
    max_dim: int = 2
    """Largest dimension of the cells used."""
    dim: int = 0
    """Dimension of the cells that get outputs."""
    oriented: bool = False
    """Whether features of edges and higher cells change sign with the orientation."""
    odd: bool = False
    """Whether outputs change sign with it too, or do not depend on it; only if oriented."""
    norm: bool = True
    """Whether to use batch normalization in the layers; not if oriented."""
    dropout: float = 0.0
    """Dropout rate before the last dense layer; not of odd outputs."""


class CellNet(Model):
    """Outputs for all cells of one dimension, from messages between cells of all dimensions.

    Layers of :class:`mpsn.nn.CINConv`; if ``oriented``, of :class:`mpsn.nn.LinearMPSNConv` with
    tanh, which is orientation equivariant. Then the same perceptron for each cell, on the features
    of all layers (jumping knowledge): without biases and with tanh for ``odd`` outputs, on absolute
    values for other outputs of an oriented network, which do not depend on the orientation.

    Args:
        config: The settings.

    Shapes:
        Reads K.x, or features (n_k, F_k) per dimension passed beside K; returns
        (n_dim, out_channels).

    Example:
        >>> from mpsn.nn.models import CellConfig, CellNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> CellNet(CellConfig(dim=1))(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([78, 2])
    """

    def __init__(self, config: CellConfig) -> None:
        super().__init__(config)
        if config.dim > config.max_dim or len(config.in_channels) != config.max_dim + 1:
            raise LayerError(
                f"Expected dim up to max_dim={config.max_dim}, and widths of all dimensions up to "
                f"it, got dim={config.dim} and in_channels={config.in_channels}."
            )
        last = config.hidden * config.layers
        self.project = torch.nn.ModuleList(
            torch.nn.Linear(n, config.hidden, bias=False) if n else torch.nn.Identity()
            for n in config.in_channels
            if config.oriented
        )
        self.convs = torch.nn.ModuleList(
            LinearMPSNConv(config.hidden, config.hidden, config.max_dim, act="tanh")
            if config.oriented
            else CINConv(
                config.hidden if i else config.in_channels,
                config.hidden,
                config.max_dim,
                act="relu",
                norm=config.norm,
            )
            for i in range(config.layers)
        )
        self.head: ComplexReadout | torch.nn.Sequential
        if config.oriented and config.odd:
            self.head = torch.nn.Sequential(
                torch.nn.Linear(last, config.hidden, bias=False),
                torch.nn.Tanh(),
                torch.nn.Linear(config.hidden, config.out_channels, bias=False),
            )
        else:
            self.head = ComplexReadout(
                last,
                2 * config.hidden,
                config.out_channels,
                dims=(config.dim,),
                dropout=config.dropout,
            )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per cell of dimension ``dim``."""
        hs = features_of(K, xs, self.config.max_dim)
        if self.config.oriented:
            hs = self._projected(K, hs)
        layers = []
        for i, conv in enumerate(self.convs):
            final = i == len(self.convs) - 1
            hs = self._layer(conv, K, hs, final)
            layers.append([hs[self.config.dim]])
        (found,) = jump(layers)  # (n_dim, layers * hidden)
        if isinstance(self.head, ComplexReadout):
            return self.head.combine([found.abs() if self.config.oriented else found])
        out: Tensor = self.head(found)
        return out

    def _projected(self, K: Complex, xs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return features of width ``hidden``, zeros where there are none."""
        out = []
        for k, project in enumerate(self.project):
            x = xs[k] if k < len(xs) and self.config.in_channels[k] else None
            nothing = self.convs[0].own[0].weight.new_zeros(K.count(k), self.config.hidden)  # type: ignore
            out.append(nothing if x is None else project(x))
        return out

    def _layer(
        self, conv: torch.nn.Module, K: Complex, hs: Sequence[Tensor | None], final: bool
    ) -> Any:
        """Return the features after a layer; of the last one, only those of ``dim`` matter."""
        if isinstance(conv, LinearMPSNConv):
            return conv(K, hs)
        dims = (self.config.dim,) if final else tuple(range(self.config.max_dim + 1))
        if self.training and torch.is_grad_enabled() and sum(K.counts) > LARGE:
            found = [recomputed(conv, K, hs, k) for k in dims]
        else:
            found = conv(K, hs, dims)
        return {self.config.dim: found[0]} if final else found


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
