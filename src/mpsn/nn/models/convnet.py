"""A network of any of the layers, with a readout."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn._checks import cochains
from mpsn.nn.conv import (
    CANConv,
    CellTransformerConv,
    GSANConv,
    HMCConv,
    LinearMPSNConv,
    SANConv,
    SCCNNConv,
    SCNConv,
    SCNNConv,
    SheafConv,
)
from mpsn.nn.conv._mlp import Project, RowNorm
from mpsn.nn.models._model import Model
from mpsn.nn.readout import jump

Conv = Literal[
    "linear", "scn", "scnn", "sccnn", "san", "gsan", "can", "hmc", "sheaf", "transformer"
]
Build = Callable[[int, int], torch.nn.Module]  # from a width and max_dim to a layer
FILTER: Mapping[str, Any] = {"basis": "chebyshev", "normalized": True, "act": "id"}
ALL_DIMS: Mapping[str, Build] = {
    "linear": lambda n, d: LinearMPSNConv(n, n, d),
    "scn": lambda n, d: SCNConv(n, n, d, act="id"),
    "sccnn": lambda n, d: SCCNNConv(n, n, d, **FILTER),
    "gsan": lambda n, d: GSANConv(n, n, d, act="id"),
    "hmc": lambda n, d: HMCConv(n, n, act="relu"),
    "transformer": lambda n, d: CellTransformerConv(n, d),
}
ONE_DIM: Mapping[str, Build] = {  # from a width and the dimension to a layer
    "scnn": lambda n, k: SCNNConv(n, n, dim=k, **FILTER),
    "san": lambda n, k: SANConv(n, n, dim=k, act="id"),
    "can": lambda n, k: CANConv(n, n, k, heads=2, act="id"),
    "sheaf": lambda n, k: SheafConv(n, dim=k, act="tanh"),
}


class ConvNet(Model):
    r"""Layers of one family, each with a norm, a non-linearity and a skip connection.

    .. math:: H^{(l+1)} = H^{(l)} + \psi\bigl(\mathrm{norm}(\mathrm{conv}_l(H^{(l)}))\bigr)

    Features are projected to one width first; cells without features get the mean over their faces.
    Then :class:`mpsn.nn.ComplexReadout`. Layers that act on one dimension have weights of their own
    in each.

    Args:
        conv: The family: ``"linear"``, :class:`mpsn.nn.LinearMPSNConv`; ``"scn"``, ``"scnn"`` or
            ``"sccnn"``, filters of Hodge Laplacians (Chebyshev's polynomials of the normalized
            ones); ``"san"``, ``"gsan"``, ``"can"`` or ``"hmc"``, attention; ``"sheaf"``; or
            ``"transformer"``. Defaults to ``"sccnn"``.
        in_channels: Width of the features of cells, for each dimension; 0 for none. Defaults to
            (1, 1, 1).
        hidden: Width of all layers; twice that in the readout. Defaults to 32.
        out_channels: Number of outputs. Defaults to 2.
        layers: Number of layers. Defaults to 3.
        max_dim: Largest dimension of the cells used. Defaults to 2.
        act: ψ: ``"elu"``, ``"relu"`` or ``"tanh"``. Defaults to ``"relu"``.
        norm: Whether to use batch normalization. Defaults to True.
        jump: Whether the readout uses the features of all layers (jumping knowledge). Defaults to
            True.
        readout: How to pool the cells of one dimension: ``"sum"`` or ``"mean"``. Defaults to
            ``"mean"``.
        dropout: Dropout rate before the last dense layer. Defaults to 0.

    Shapes:
        Reads K.x, or features (n_k, F_k) per dimension passed beside K; returns
        (C, out_channels) for a union of C complexes.

    Example:
        >>> from mpsn.nn.models import ConvNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> ConvNet("gsan", in_channels=(3, 0, 0))(K, [torch.randn(34, 3)]).shape
        torch.Size([1, 2])
    """

    def __init__(
        self,
        conv: Conv = "sccnn",
        in_channels: tuple[int, ...] = (1, 1, 1),
        hidden: int = 32,
        out_channels: int = 2,
        layers: int = 3,
        max_dim: int = 2,
        act: Literal["elu", "relu", "tanh"] = "relu",
        norm: bool = True,
        jump: bool = True,
        readout: Literal["sum", "mean"] = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(locals())
        if conv == "hmc" and max_dim != 2:
            raise LayerError(f"Expected max_dim=2 for hmc, got {max_dim}.")
        if len(in_channels) != max_dim + 1 or not in_channels[0]:
            raise LayerError(
                f"Expected in_channels as the widths of dimensions 0 to {max_dim}, of vertices at "
                f"least 1, got {in_channels}."
            )
        self.in_channels, self.max_dim, self.jump = in_channels, max_dim, jump
        dims = range(max_dim + 1)
        self.project = Project(in_channels, hidden)
        self.convs = torch.nn.ModuleList()
        self.norms = torch.nn.ModuleList()
        for _ in range(layers):
            if conv in ALL_DIMS:
                self.convs.append(ALL_DIMS[conv](hidden, max_dim))
            else:
                self.convs.append(torch.nn.ModuleList(ONE_DIM[conv](hidden, k) for k in dims))
            self.norms.append(
                torch.nn.ModuleList(RowNorm(hidden) if norm else torch.nn.Identity() for _ in dims)
            )
        self.readout = self.new_readout(dims)
        self.act = self.readout.act

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        like = self.readout.last.weight
        hs = cochains(K, self.features_of(K, xs), self.max_dim, self.in_channels, like)
        layers = [self.project(K, hs)]
        for conv, norms in zip(self.convs, self.norms, strict=True):
            hs = layers[-1]
            if isinstance(conv, torch.nn.ModuleList):
                new = [one(K, h) for one, h in zip(conv, hs, strict=True)]
            else:
                new = conv(K, hs)
            steps = [self.act(norm(h)) for norm, h in zip(norms, new, strict=True)]  # type: ignore[call-overload]
            layers.append([h + step for h, step in zip(hs, steps, strict=True)])
        return self.readout.read(K, jump(layers[1:]) if self.jump else layers[-1])
