"""CIN, the cellular isomorphism network, and SIN, its simplicial case."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn.conv import CINConv
from mpsn.nn.models._model import Model
from mpsn.nn.readout import jump


class CIN(Model):
    """The cellular isomorphism network (Bodnar et al. 2021) on any complex.

    Layers of :class:`mpsn.nn.CINConv`, then :class:`mpsn.nn.ComplexReadout`. With jumping knowledge
    the inner dense layers of the readout have no biases, so a dimension without cells contributes
    nothing.

    Args:
        in_channels: Width of the features of cells, or one for each dimension; see
            :class:`mpsn.nn.CINConv`. Defaults to 1.
        hidden: Width of all layers; twice that in the dense layers of the readout. Defaults to 16.
        out_channels: Width of the embedding, or number of classes. Defaults to 16.
        layers: Number of message passing layers. Defaults to 5.
        max_dim: Largest dimension of the cells used. Defaults to 2.
        coface_message: Whether upper messages depend on the shared co-face, through a dense layer.
            Defaults to True.
        act: Non-linearity throughout: ``"elu"``, ``"relu"`` or ``"tanh"``. Defaults to ``"elu"``.
        norm: Whether to use batch normalization in the layers. Defaults to False.
        eps: Initial extra weight of a cell's own features. Defaults to 0.
        train_eps: Whether that weight is learned. Defaults to False.
        jump: Whether the readout uses the features of all layers (jumping knowledge). Defaults to
            False.
        readout: How to pool the cells of one dimension: ``"sum"`` or ``"mean"``. Defaults to
            ``"sum"``.
        readout_dims: Dimensions that the readout uses. Defaults to all.
        dropout: Dropout rate in the readout. Defaults to 0.
        dropout_position: Dropout ``"before_sum"`` over dimensions, or ``"after_sum"``. Defaults to
            ``"after_sum"``.
        final_act: Whether the non-linearity follows the last dense layer, as in the paper for the
            strongly regular graphs, but not in the authors' code. Defaults to False.
        lower: Whether lower neighbors send messages too, as in CIN++. Defaults to False.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn.nn.models import CIN
        >>> K = mpsn.CellComplex.from_boundaries(3, [[[0, 1], [1, 2], [2, 0]], [[0, 1, 2]]])
        >>> CIN(lower=True)(K, [torch.ones(n, 1) for n in K.counts]).shape
        torch.Size([1, 16])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, ...] = 1,
        hidden: int = 16,
        out_channels: int = 16,
        layers: int = 5,
        max_dim: int = 2,
        coface_message: bool = True,
        act: Literal["elu", "relu", "tanh"] = "elu",
        norm: bool = False,
        eps: float = 0.0,
        train_eps: bool = False,
        jump: bool = False,
        readout: Literal["sum", "mean"] = "sum",
        readout_dims: tuple[int, ...] | None = None,
        dropout: float = 0.0,
        dropout_position: Literal["before_sum", "after_sum"] = "after_sum",
        final_act: bool = False,
        lower: bool = False,
    ) -> None:
        super().__init__(locals())
        self.in_channels, self.hidden, self.max_dim = in_channels, hidden, max_dim
        self.jump = jump
        dims = tuple(range(max_dim + 1)) if readout_dims is None else readout_dims
        if not set(dims) <= set(range(max_dim + 1)):
            raise LayerError(f"Expected readout_dims from 0 to max_dim={max_dim}, got {dims}.")
        self.convs = torch.nn.ModuleList(
            CINConv(
                hidden if i else in_channels,
                hidden,
                max_dim,
                coface_message=coface_message,
                lower=lower,
                act=act,
                norm=norm,
                eps=eps,
                train_eps=train_eps,
            )
            for i in range(layers)
        )
        self.readout = self.new_readout(
            dims, dropout_position=dropout_position, final_act=final_act
        )

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        return self.readout.read(K, self.features(K, xs))

    def features(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> list[Tensor]:
        """Return the features (n_k, F) of cells that the readout uses, for each of its dims."""
        hs = self.features_of(K, xs)
        dims = self.readout.dims
        layers = []  # of each, the dimensions read
        for conv in self.convs[:-1]:
            hs = conv(K, hs)
            layers.append([hs[k] for k in dims])
        layers.append(self.convs[-1](K, hs, dims))
        return jump(layers) if self.jump else layers[-1]


class SIN(CIN):
    """The simplicial isomorphism network (section 6 and appendix F of the paper).

    The same as :class:`CIN`, under the paper's name; it takes any complex too. The defaults are
    those for the strongly regular graphs.

    Example:
        The untrained network for strongly regular graphs, and the classifier for TU graphs:

        >>> from mpsn.nn.models import SIN
        >>> embed = SIN(max_dim=3).double()
        >>> classify = SIN(in_channels=3, hidden=32, out_channels=2, layers=3,
        ...     coface_message=False, act="relu", norm=True, jump=True, readout_dims=(0, 2),
        ...     dropout=0.5)
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = mpsn.lift_features(K.replace(x=[torch.ones(34, 3)]), "mean")
        >>> classify(K).shape
        torch.Size([1, 2])
    """
