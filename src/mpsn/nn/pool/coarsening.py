"""Coarsening by clusters of vertices."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Reduce
from mpsn.complexes.internal import image
from mpsn.errors import LayerError
from mpsn.nn._checks import check_input
from mpsn.nn.pool.pooled import Pooled


def coarsen(
    K: Complex,
    xs: Sequence[Tensor | None],
    cluster: Tensor,
    *,
    reduce: Reduce = "mean",
    signed: bool = False,
) -> Pooled:
    r"""Merge the vertices of each cluster: the image of K under a simplicial map.

    A simplex becomes the simplex of its vertices' clusters; simplices with the same clusters become
    one, and those with two vertices in one cluster are degenerate and become nothing. With the
    signs of ``maps`` this is a chain map, :math:`B_k f_k = f_{k-1} B_k`, so cycles stay cycles.

    Args:
        K: A simplicial complex, or a union of them.
        xs: Features per dimension, each (n_k, ..., F) or None.
        cluster: The cluster of each vertex, (n_0,) int64, any integers. New vertices are sorted by
            them. Clusters of different complexes of a union are different.
        reduce: How features of simplices that become one are combined, ``"mean"`` or ``"sum"``.
            Defaults to ``"mean"``.
        signed: Whether to multiply by the orientation of a simplex relative to its image, for odd
            features such as flows. Defaults to False.

    Example:
        >>> K = mpsn.clique_complex(nx.cycle_graph(6))
        >>> xs = [torch.arange(6.0)[:, None], None]
        >>> small = mpsn.nn.coarsen(K, xs, torch.tensor([0, 0, 1, 1, 2, 2]))
        >>> small.K, small.xs[0].T
        (SimplicialComplex(dim=1, counts=(3, 3)), tensor([[0.5000, 2.5000, 4.5000]]))
    """
    check_input(K, xs)
    if not isinstance(K, SimplicialComplex):
        raise LayerError(
            f"Expected a simplicial complex to coarsen, got {type(K).__name__}, whose cells need "
            f"not stay cells if vertices merge; use TopKPool, which takes any complex, or convert "
            f"a CellComplex of simplices with to_simplicial()."
        )
    if cluster.shape != (K.num_nodes,) or cluster.dtype != torch.int64:
        raise LayerError(
            f"Expected the cluster of each vertex as int64 of shape ({K.num_nodes},), got "
            f"{cluster.dtype} of shape {tuple(cluster.shape)}."
        )
    L, maps = image(K, cluster)
    out = list(xs)
    for k, (x, B) in enumerate(zip(xs, maps, strict=False)):
        out[k] = None if x is None else B.from_cofaces(x, signed=signed, reduce=reduce)
    return Pooled(L, out, maps)
