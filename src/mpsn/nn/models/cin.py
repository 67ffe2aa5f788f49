"""CIN, the cellular isomorphism network, and SIN, its simplicial case."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn.conv import CINConv
from mpsn.nn.models._model import Config, Model, features_of, readout_of
from mpsn.nn.populate import Populate
from mpsn.nn.readout import jump


@dataclass(frozen=True)
class SINConfig(Config):
    """Settings of SIN. The defaults are those for the strongly regular graphs."""

    lower = False  # not a field: records of experiments are named after all fields

    in_channels: int | tuple[int, ...] = 1
    """Width of the features of cells, or one for each dimension; see :class:`mpsn.nn.CINConv`."""
    hidden: int = 16
    """Width of all layers; twice that in the dense layers of the readout."""
    out_channels: int = 16
    """Width of the embedding, or number of classes."""
    layers: int = 5
    """Number of message passing layers."""
    max_dim: int = 2
    """Largest dimension of the cells used."""
    coface_message: bool = True
    """Whether upper messages depend on the shared co-face, through a dense layer."""
    act: Literal["elu", "relu", "tanh"] = "elu"
    """Non-linearity throughout."""
    norm: bool = False
    """Whether to use batch normalization in the layers."""
    eps: float = 0.0
    """Initial extra weight of a cell's own features."""
    train_eps: bool = False
    """Whether that weight is learned."""
    jump: bool = False
    """Whether the readout uses the features of all layers (jumping knowledge)."""
    readout: Literal["sum", "mean"] = "sum"
    """How to pool the cells of one dimension."""
    readout_dims: tuple[int, ...] | None = None
    """Dimensions that the readout uses. Defaults to all."""
    dropout: float = 0.0
    """Dropout rate in the readout."""
    dropout_position: Literal["before_sum", "after_sum"] = "after_sum"
    """Dropout before the sum over dimensions, or after it."""
    final_act: bool = False
    """Whether the non-linearity follows the last dense layer, as in the paper for the strongly
    regular graphs, but not in the authors' code."""
    populate: bool = False
    """Whether to compute higher features from those of the vertices, by a learned map."""


@dataclass(frozen=True)
class CINConfig(SINConfig):
    """Settings of CIN: those of SIN, and ``lower``."""

    lower: bool = False
    """Whether lower neighbors send messages too, as in CIN++."""


class CIN(Model):
    """The cellular isomorphism network (Bodnar et al. 2021) on any complex.

    Layers of :class:`mpsn.nn.CINConv`, then :class:`mpsn.nn.ComplexReadout`. With jumping knowledge
    the inner dense layers of the readout have no biases, so a dimension without cells contributes
    nothing.

    Args:
        config: The settings.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn.nn.models import CIN, CINConfig
        >>> K = mpsn.CellComplex.from_boundaries(3, [[[0, 1], [1, 2], [2, 0]], [[0, 1, 2]]])
        >>> CIN(CINConfig(lower=True))(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([1, 16])
    """

    def __init__(self, config: SINConfig) -> None:
        super().__init__(config)
        self.in_channels, self.max_dim = config.in_channels, config.max_dim
        dims = tuple(range(config.max_dim + 1))
        if config.readout_dims is not None:
            if not set(config.readout_dims) <= set(dims):
                raise LayerError(
                    f"Expected readout_dims from 0 to max_dim={config.max_dim}, "
                    f"got {config.readout_dims}."
                )
            dims = config.readout_dims
        self.populate = None
        if config.populate:
            if isinstance(config.in_channels, tuple):
                raise LayerError(
                    f"Expected one width to populate with, got in_channels={config.in_channels}."
                )
            self.populate = Populate(config.in_channels, config.max_dim)
        self.convs = torch.nn.ModuleList(
            CINConv(
                config.in_channels if i == 0 else config.hidden,
                config.hidden,
                config.max_dim,
                coface_message=config.coface_message,
                lower=config.lower,
                act=config.act,
                norm=config.norm,
                eps=config.eps,
                train_eps=config.train_eps,
            )
            for i in range(config.layers)
        )
        self.readout = readout_of(
            config, dims, dropout_position=config.dropout_position, final_act=config.final_act
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        return self.readout.read(K, self.features(K, xs))

    def features(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> list[Tensor]:
        """Return the features (n_k, F) of cells that the readout uses, for each of its dims."""
        hs = self.inputs(K, xs)
        dims = self.readout.dims
        layers = []  # of each, the dimensions read
        for conv in self.convs[:-1]:
            hs = conv(K, hs)
            layers.append([hs[k] for k in dims])
        layers.append(self.convs[-1](K, hs, dims))
        return jump(layers) if self.config.jump else layers[-1]

    def inputs(self, K: Complex, xs: Sequence[Tensor | None] | None) -> Sequence[Tensor | None]:
        """Return the features that the first layer reads."""
        hs = features_of(K, xs, self.max_dim)
        if self.populate is None:
            return hs
        if not hs or hs[0] is None:
            raise LayerError("Expected vertex features x[0] to populate from, got none.")
        return self.populate(K, hs[0])  # type: ignore[no-any-return]


class SIN(CIN):
    """The simplicial isomorphism network (section 6 and appendix F of the paper).

    The same as :class:`CIN`, under the paper's name; it takes any complex too.

    Example:
        The untrained network for strongly regular graphs, and the classifier for TU graphs:

        >>> from mpsn.nn.models import SIN, SINConfig
        >>> embed = SIN(SINConfig(max_dim=3)).double()
        >>> classify = SIN(SINConfig(in_channels=3, hidden=32, out_channels=2, layers=3,
        ...     coface_message=False, act="relu", norm=True, jump=True, readout_dims=(0, 2),
        ...     dropout=0.5))
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = mpsn.lift_features(K.replace(x=[torch.ones(34, 3)]), "mean")
        >>> classify(K).shape
        torch.Size([1, 2])
    """
