"""A network for flows on a map: position-aware and orientation invariant."""

from collections.abc import Iterator

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn._checks import check_cochain
from mpsn.nn.models import Model
from mpsn.nn.readout import global_pool


class MapFlowNet(Model):
    r"""A classifier of flows that uses the positions of their ends, edges and triangles.

    The flow h on edges sends orientation invariant messages: to vertices
    :math:`(\mp B_1 h)_+`, where it starts and where it ends; on edges :math:`|h|`; to triangles,
    or other 2-cells, :math:`|B_2^\top h|`. Each is multiplied by the position of its cell, the mean
    :math:`p` of the coordinates of its vertices, and summed,

    .. math:: r_\mp = \sum_{v} (\mp B_1 h)_{v+}\, p_v, \quad r_1 = \sum_{e} |h_e|\, p_e, \quad
        r_2 = \sum_{t} |B_2^\top h|_t\, p_t,

    and a perceptron with one hidden layer reads the sums, which are unchanged under
    :math:`h \to T_1 h`, :math:`B_1 \to B_1 T_1`, :math:`B_2 \to T_1 B_2 T_2`. Reversing a flow
    swaps r₋ and r₊, so the two can be distinguished.

    The coordinates are features of the vertices, ``K.x[0]``: those of a map, or
    :func:`laplacian_coordinates`. With the identity matrix as coordinates, the first
    dense layer is a learned embedding of the vertices.

    Args:
        coordinates: Number d of coordinates of a vertex. Defaults to 8.
        dims: Dimensions to use: ends of the flow (0), its edges (1), 2-cells it curls around (2).
            Defaults to its ends.
        hidden: Width of the perceptron. Defaults to 64.
        out_channels: Number of classes. Defaults to 2.

    Shapes:
        As for :class:`mpsn.nn.models.EdgeFlowNet`, with h of width 1; ``K.x[0]`` is (n_0, d).

    Example:
        >>> from mpsn_reproduction.papers.coordinates import laplacian_coordinates
        >>> from mpsn_reproduction.papers.map_flow import MapFlowNet
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> K = K.replace(x=[laplacian_coordinates(K, 8).float()])
        >>> MapFlowNet()(K, torch.randn(78, 5, 1)).shape
        torch.Size([5, 2])
    """

    dim, in_channels = 1, 1

    def __init__(
        self,
        coordinates: int = 8,
        dims: tuple[int, ...] = (0,),
        hidden: int = 64,
        out_channels: int = 2,
    ) -> None:
        super().__init__(locals())
        if not dims or not set(dims) <= {0, 1, 2}:
            raise LayerError(f"Expected dims among 0, 1 and 2, got {dims}.")
        self.coordinates, self.dims = coordinates, dims
        sums = len(dims) + (0 in dims)
        self.head = torch.nn.Sequential(
            torch.nn.Linear(sums * coordinates, hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, out_channels),
        )

    def forward(self, K: Complex, h: Tensor) -> Tensor:
        """Return one row per complex, or per flow of a batch."""
        check_cochain(K, 1, h, 1, self.head[0].weight)  # type: ignore[arg-type]
        d, position = self.coordinates, K.x[0] if K.x else None
        if position is None or position.shape[1] != d:
            raise LayerError(
                f"Expected coordinates of the vertices in K.x[0], of shape ({K.num_nodes}, {d}), "
                f"got {None if position is None else tuple(position.shape)}; set them with replace."
            )
        out: Tensor = self.head(torch.cat(list(self._sums(K, h, position.to(h.dtype))), dim=-1))
        return out

    def _sums(self, K: Complex, h: Tensor, position: Tensor) -> Iterator[Tensor]:
        places = [position]  # up to dimension 2, the mean over faces is that over vertices
        for k in range(1, max(self.dims) + 1):
            places.append(K.incidence(k).from_faces(places[-1], reduce="mean"))  # (n_k, d)
        for k in self.dims:
            if k == 0:
                change = fn.aggregate(K, 0, "coboundary", h, signed=True)  # B_1 h, (n_0, ..., 1)
                signals = [(-change).relu(), change.relu()]
            elif k == 1:
                signals = [h.abs()]
            else:
                signals = [fn.aggregate(K, 2, "boundary", h, signed=True).abs()]  # |B_2ᵀ h|
            where = places[k][:, None] if h.dim() == 3 else places[k]
            for signal in signals:
                yield global_pool(K, k, signal * where)  # (..., d)
