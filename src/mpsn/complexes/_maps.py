"""Images of simplicial maps."""

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes._building import as_incidences
from mpsn.complexes._symmetries import orientation
from mpsn.complexes.incidence import Incidence
from mpsn.complexes.simplicial import SimplicialComplex


def image(K: SimplicialComplex, cluster: Tensor) -> tuple[SimplicialComplex, tuple[Incidence, ...]]:
    """Return the image of K under the map of its vertices to clusters, and the chain map onto it.

    A simplex with two vertices in one cluster is degenerate: it becomes nothing. The map has one
    incidence per dimension, from the simplices of K to those they become, with signs. Clusters of
    different complexes of a union are different. There is no loop over simplices.

    Args:
        K: A simplicial complex, or a union.
        cluster: The cluster of each vertex, (n_0,) int64.
    """
    n = max(K.num_nodes, 1)
    local = torch.unique(cluster, return_inverse=True)[1]
    vertices, number = torch.unique(K.batch(0) * n + local, return_inverse=True)
    complexes = torch.arange(K.num_complexes + 1, device=K.device)
    of = vertices // n  # the complex of each new vertex
    ptr, tables = [torch.searchsorted(of, complexes)], []
    maps = [Incidence.unchecked(number, len(vertices), 1)]
    below = number  # the new index of each simplex one dimension lower; degenerate ones have any
    for k in range(1, K.dim + 1):
        values, columns = number[K.simplices(k)].sort(dim=1)
        alive = (values.diff(dim=1) > 0).all(1)
        kept = alive.nonzero()[:, 0]
        values, columns = values[kept], columns[kept]
        faces = below[K.faces(k)[kept]].gather(1, columns)  # column i omits the i-th new vertex
        key = faces[:, k] * n + values[:, k]  # lexicographic, as the keys of the faces are
        simplices, inverse = torch.unique(key, return_inverse=True)
        table, first = faces.new_empty(len(simplices), k + 1), faces.new_empty(len(simplices))
        table[inverse], first[inverse] = faces, values[:, 0]  # duplicates agree
        below = faces.new_zeros(K.count(k))
        below[kept] = inverse
        sign = orientation(columns) * K.orientation(k)[kept]
        ends = nnf.pad(alive.cumsum(0), (1, 0))
        maps.append(Incidence.unchecked(inverse, len(simplices), None, ends, sign))
        tables.append(table)
        ptr.append(torch.searchsorted(of[first], complexes))
    incidences = as_incidences(tables, len(vertices))
    L = SimplicialComplex.unchecked(incidences, ptr, num_vertices=len(vertices))
    return L, tuple(maps)
