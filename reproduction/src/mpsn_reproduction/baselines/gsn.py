"""Graph substructure networks."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn.complexes import Complex, SimplicialComplex
from mpsn.nn.models import GIN, Model
from mpsn_reproduction.baselines._layered import vertex_features

LARGEST = 8  # vertices of a substructure
# Dimension and number of vertices: rings, triangles among them, and larger cliques.
SHAPES = [(2, n) for n in range(3, LARGEST + 1)] + [(n - 1, n) for n in range(4, LARGEST + 1)]


def substructures(K: Complex) -> Tensor:
    """Return how many cells of each of :data:`SHAPES` each vertex is in, (n_0, shapes) int64.

    On a clique complex these are cliques, on a ring complex chordless cycles.

    Example:
        >>> from mpsn_reproduction.baselines.gsn import substructures
        >>> K = mpsn.clique_complex(nx.complete_graph(4), max_dim=None)
        >>> substructures(K)[0, [0, 6]].tolist()  # triangles and 4-cliques
        [3, 1]
    """
    out = torch.zeros((K.num_nodes, len(SHAPES)), dtype=torch.int64, device=K.device)
    for k in range(2, K.dim + 1):
        if isinstance(K, SimplicialComplex):
            vertex, sizes = K.simplices(k).reshape(-1), None
        else:
            vertex, ptr = K.cells(k)
            sizes = ptr.diff().repeat_interleave(ptr.diff())
        for column, (dim, size) in enumerate(SHAPES):
            if dim == k and (sizes is not None or size == k + 1):
                inside = vertex if sizes is None else vertex[sizes == size]
                out[:, column] = torch.bincount(inside, minlength=len(out))
    return out


class GSN(Model):
    r"""The graph substructure network (Bouritsas et al. 2023, GSN-v) with GIN's layers.

    .. math:: h_v^0 = x_v \,\|\, \log(1 + s_v)

    where s_v are the numbers of substructures at vertex v: the cells, of up to 8 vertices, of the
    complexes that the network is given, such as cliques or rings, see :func:`substructures`. They
    are input features only, and logarithms.

    Args:
        in_channels: Width of the features of vertices.
        gin: The other keywords of GIN.

    Shapes:
        As :class:`mpsn.nn.models.GIN`, for features (n_0, F).

    Example:
        >>> from mpsn_reproduction.baselines import BASELINES
        >>> K = mpsn.clique_complex(nx.karate_club_graph()).replace(x=[torch.ones(34, 1)])
        >>> BASELINES["gsn"]()(K).shape
        torch.Size([1, 16])
    """

    def __init__(self, in_channels: int = 1, **gin: Any) -> None:
        super().__init__(locals())
        self.in_channels, self.max_dim = in_channels, 0
        self.gin = GIN(in_channels + len(SHAPES), **gin)
        self.hidden = self.gin.hidden

    @property
    def readout(self) -> torch.nn.Module:
        """The readout of GIN."""
        return self.gin.readout

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        x = vertex_features(self, K, xs)
        out: Tensor = self.gin(K, [torch.cat([x, substructures(K).to(x.dtype).log1p()], dim=1)])
        return out
