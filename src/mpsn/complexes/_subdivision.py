"""Barycentric subdivision."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from mpsn._rows.rows import Rows, ends
from mpsn.complexes._building import as_incidences, close_under_faces

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex
    from mpsn.complexes.simplicial import SimplicialComplex


def barycentric_subdivision(K: "Complex") -> "SimplicialComplex":
    r"""Return the barycentric subdivision: a vertex for each cell, a simplex for each chain.

    The k-simplices are the chains :math:`\sigma_0 < \ldots < \sigma_k` of cells, each in the
    boundary of the next, so the subdivision of any regular complex is a simplicial complex of the
    same space. The vertices are the cells of dimension 0, 1, ... in order, complex by complex in a
    union. Labels ``y`` of complexes are kept. If the cells of all dimensions have features of one
    width and type, they become the features of the vertices; orientations, vertex names and labels
    of vertices have no counterpart.

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
        >>> K.barycentric_subdivision()
        SimplicialComplex(dim=2, counts=(7, 12, 6))
    """
    from mpsn.complexes.simplicial import SimplicialComplex

    dims = range(K.dim + 1)
    sizes = torch.stack([K.ptr(k).diff() for k in dims] or [K.ptr(0).diff()], dim=1)
    offsets = ends(sizes.reshape(-1))
    starts = offsets[:-1].view_as(sizes)  # number of the first k-cell of each complex
    number = [
        torch.arange(K.count(k), device=K.device) + (starts[:, k] - K.ptr(k)[:-1])[K.batch(k)]
        for k in dims
    ]
    flags: dict[int, Tensor] = {}  # chains of cells of dimension 0, 1, ..., k, by k + 1
    chains = torch.zeros((K.num_nodes, 0), dtype=torch.int64, device=K.device)
    each = torch.arange(K.num_nodes, device=K.device)
    chains_below = Rows(each, K.num_nodes, 1)
    for k in dims:
        if k:
            chains_below = K.incidence(k) @ chains_below.spans
            chains = flags[k][chains_below.item]
        own = number[k][chains_below.row]
        flags[k + 1] = torch.cat([chains, own[:, None]], dim=1)
    n = int(offsets[-1])
    tables = {size: table.cpu() for size, table in flags.items()}
    faces = [table.to(K.device) for table in close_under_faces(tables, max(tables, default=1), n)]
    below, last = offsets[:: sizes.shape[1]].contiguous(), torch.arange(n, device=K.device)
    ptrs = [below]
    for table in faces:
        last = last[
            table[:, -1]
        ]  # the first vertex of a simplex is in the face that omits the last
        ptrs.append(torch.searchsorted(last, below))
    x = [K.x[k] for k in dims]
    present = [t for t in x if t is not None]
    features: list[Tensor] = []
    if present and len(present) == len(x) and len({(t.shape[1:], t.dtype) for t in present}) == 1:
        features = [torch.cat(present)[torch.cat(number).argsort()]]
    whole = K.y is not None and len(K.y) == K.num_complexes
    return SimplicialComplex.unchecked(
        as_incidences(faces, n),
        ptrs,
        num_vertices=n,
        x=features,
        y=K._y if whole else None,
        y_ptr=K._y_ptr if whole else None,
    )
