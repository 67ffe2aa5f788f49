"""Vietoris-Rips complexes of points."""

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

from mpsn._rows.memory import Budget
from mpsn.complexes import SimplicialComplex
from mpsn.complexes.internal import as_incidences
from mpsn.convert import clean_graphs, complex_of
from mpsn.errors import ComplexError
from mpsn.lifting._near import as_points, check_radius, closer, lengths, nearest, within
from mpsn.lifting._shared import Device, check_size
from mpsn.lifting.clique import cliques

CELL_BYTES = 32  # of a simplex, while its diameter is found


def rips_complex(
    points: object,
    radius: float | None = None,
    max_dim: int | None = 2,
    *,
    k: int | None = None,
    device: Device = None,
    max_bytes: int | None = None,
) -> SimplicialComplex:
    """Build the Vietoris-Rips complex: points close to one another span a simplex.

    The cliques of the graph of close pairs: those at a distance of at most ``radius``, those of
    which one is among the ``k`` nearest of the other, or with both arguments those of both kinds.
    The complex is on the device of the points; there pairs are found in a grid, on the CPU in a k-d
    tree. Distances are found in float64, and the simplices are the same on every device. Time is
    linear in the size of the result if points do not crowd.

    Args:
        points: Coordinates (n, d), or PyG ``Data`` with ``pos``.
        radius: Largest distance of two vertices of a simplex; the ``max_edge_length`` of gudhi.
        max_dim: Largest dimension of a simplex; None for all cliques.
        k: Number of nearest neighbors of each point. Of several at the same distance, any.
        device: Device of the complex. Defaults to that of the points.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Returns:
        A complex with features x[0], the coordinates (followed by ``data.x``), and x[k] (n_k, 1),
        the diameters of the simplices, which are their filtration values. Labels ``data.y`` stay.

    Example:
        >>> K = mpsn.rips_complex([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [9.0, 9.0]], radius=5)
        >>> K, K.x[2]
        (SimplicialComplex(dim=2, counts=(4, 3, 1), features=(2, 1, 1)), tensor([[5.]]))
        >>> mpsn.rips_complex([[0.0], [1.0], [5.0]], k=1).simplices(1)
        tensor([[0, 1],
                [1, 2]])
    """
    check_size(max_dim, "max_dim", 0, "all cliques")
    check_size(k, "k", 1, "all points within the radius")
    if radius is None and k is None:
        raise ComplexError("Expected a radius or a number k of nearest neighbors, got neither.")
    if radius is not None:
        check_radius(radius)
    position, x, y = as_points(points, device)
    n = len(position)
    with Budget(max_bytes, position.device, [n], CELL_BYTES) as budget:
        if k is None:
            assert radius is not None
            pairs = within(position, radius, budget)
        else:
            pairs = nearest(position, k, budget)
            if radius is not None:
                pairs = closer(position, pairs, radius)
        clean = clean_graphs([(pairs.T, n)])
        del pairs
        tables = cliques(clean, max_dim, budget)
        edges = lengths(position, clean.edges)
        values = [v.to(x.dtype)[:, None] for v in diameters(edges, tables)]
        K = complex_of(SimplicialComplex, clean, as_incidences(tables, n))
        return K.replace(x=[x, *values], y=y)


def diameters(edges: Tensor, tables: Sequence[Tensor]) -> list[Tensor]:
    """Return the largest length of an edge in each simplex, per dimension from 1 on."""
    out: list[Tensor] = []
    for table in tables:
        if out:
            edges = reduce(torch.maximum, (edges[column] for column in table.T))
        out.append(edges)
    return out
