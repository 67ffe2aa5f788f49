"""Learned features for higher cells, from those of the vertices."""

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.lifting.features import vertices
from mpsn.nn._checks import check_cochain, check_least
from mpsn.nn._layer import Layer


class Populate(Layer):
    r"""Compute higher features as a linear function of vertex features (section 5 of the paper).

    .. math:: h_\sigma = W_k \sum_{v \in \sigma} h_v \qquad (\dim \sigma = k \geq 1)

    Vertices keep their features. Sums are computed along faces: every vertex of a simplex, a cube
    or a polygon of dimension k lies in k of its faces. See :func:`mpsn.lift_features` for lifts
    without parameters.

    Args:
        in_channels: Width F of the vertex features and of the computed features.
        max_dim: Largest dimension to compute features for.

    Shapes:
        (n_0, F) in; one tensor (n_k, F) per dimension 0, ..., max_dim out.

    Example:
        >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
        >>> [tuple(x.shape) for x in mpsn.nn.Populate(3, max_dim=2)(K, torch.randn(34, 3))]
        [(34, 3), (78, 3), (45, 3)]
    """

    def __init__(self, in_channels: int, max_dim: int) -> None:
        super().__init__()
        check_least(0, max_dim=max_dim)
        self.in_channels, self.max_dim = in_channels, max_dim
        self.weights = torch.nn.ModuleList(
            torch.nn.Linear(in_channels, in_channels, bias=False) for _ in range(max_dim)
        )

    def forward(self, K: Complex, x: Tensor) -> list[Tensor]:
        """Return features per dimension."""
        check_cochain(K, 0, x, self.in_channels, next(self.parameters(), x))
        out, total = [x], x
        for k, weight in enumerate(self.weights, start=1):
            B = K.incidence(k)
            if k < 3 or B.width is not None:
                total = B.from_faces(total) / k  # (n_k, F), sums over vertices
            else:
                total = vertices(K, k).from_faces(x)
            out.append(weight(total))
        return out
