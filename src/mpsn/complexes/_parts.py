"""Parts of a complex that are complexes themselves."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from mpsn._rows.checks import as_index, check_by_dimension
from mpsn._rows.rows import Rows, ends
from mpsn.complexes._batching import rebuild
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

C = TypeVar("C", bound="Complex")


def cells(K: "Complex", k: int) -> tuple[Tensor, Tensor]:
    """Return the vertices of the k-cells, cell after cell, and their offsets (n_k + 1,).

    The vertices of each cell ascend.

    Example:
        >>> vertex, ptr = SimplicialComplex.from_simplices([[0, 1], [1, 2]]).cells(1)
        >>> vertex, ptr
        (tensor([0, 1, 1, 2]), tensor([0, 2, 4]))
    """
    vertices = vertices_of(K, k)
    return vertices.item, vertices.offsets


def vertices_of(K: "Complex", k: int) -> Rows:
    """Return the vertices of the k-cells."""
    if k == 0:
        return Rows(torch.arange(K.num_nodes, device=K.device), K.num_nodes, 1)
    return (K.incidence(k) @ vertices_of(K, k - 1)).unique()


def skeleton(K: C, d: int) -> C:
    """Return the cells up to dimension ``d``, with their features, orientation and labels.

    Example:
        >>> SimplicialComplex.from_simplices([[0, 1, 2]]).skeleton(1)
        SimplicialComplex(dim=1, counts=(3, 3))
    """
    if d < 0:
        raise ComplexError(f"Expected a dimension d >= 0, got {d}.")
    return K.unchecked(
        K._incidences[:d],
        K._ptr[: d + 1],
        x=K._x[: d + 1],
        y=K._y,
        y_ptr=K._y_ptr,
        num_vertices=K.num_nodes,
        labels=K._labels,
    )


def subcomplex(K: C, cells: Mapping[int, Tensor], full: bool = False) -> C:
    """Return the complex of selected cells and all their faces, with features and labels.

    Args:
        K: The complex.
        cells: For any dimension k, the k-cells to keep: a boolean mask (n_k,) or their indices.
        full: Whether to also keep cells of higher dimensions than those in ``cells`` if all their
            faces are kept; with vertices only, this is the full (induced) subcomplex. Defaults to
            False.

    Example:
        >>> K = mpsn.clique_complex(nx.complete_graph(4))
        >>> K.subcomplex({2: torch.tensor([0, 1])})
        SimplicialComplex(dim=2, counts=(4, 5, 2))
        >>> K.subcomplex({0: torch.tensor([0, 1, 2])}, full=True)
        SimplicialComplex(dim=2, counts=(3, 3, 1))
    """
    return restrict(K, closure(K, cells, full))[0]


def closure(K: "Complex", cells: Mapping[int, Tensor], full: bool = False) -> list[Tensor]:
    """Return masks per dimension of selected cells and all their faces; see :func:`subcomplex`."""
    check_by_dimension(cells, "the cells to keep")
    for k in cells:
        if not 0 <= k <= max(K.dim, 0):
            raise ComplexError(f"Expected dimensions from 0 to {K.dim}, got {k}.")
    kept = [torch.zeros(n, dtype=torch.bool, device=K.device) for n in K.counts or (0,)]
    for k, chosen in cells.items():
        kept[k][as_index(chosen, K.count(k), f"{k}-cells", K.device)] = True
    top = max(cells, default=0)
    for k in range(top, 0, -1):
        incidence = K.incidence(k)
        kept[k - 1][incidence.face[kept[k][incidence.cell]]] = True
    for k in range(top + 1, K.dim + 1 if full else 0):
        kept[k] = K.incidence(k).from_faces((~kept[k - 1]).to(torch.int32)) == 0
    return kept


def restrict(K: C, kept: Sequence[Tensor]) -> tuple[C, tuple[Incidence, ...]]:
    """Return the complex of the cells in ``kept``, masks that are closed under faces, and a map.

    The map has one incidence per dimension, from the cells of K to those they become.
    """
    rows = [mask.nonzero()[:, 0] for mask in kept]
    ptr = [ends(mask.long()) for mask in kept]  # new index of each kept cell
    maps = [
        Incidence.unchecked(torch.arange(len(row), device=K.device), len(row), None, offsets)
        for row, offsets in zip(rows, ptr, strict=True)
    ]
    return extract(K, rows), tuple(maps)


def extract(K: C, rows: Sequence[Tensor]) -> C:
    """Return the subcomplex of cells, by ascending numbers per dimension, closed under faces."""
    incidences = []
    for k in range(1, len(rows)):
        B = K.incidence(k).take(rows[k])
        face = torch.searchsorted(rows[k - 1], B.face)
        incidences.append(B._with(item=face, count=len(rows[k - 1])))
    ptr = [torch.searchsorted(row, ends) for row, ends in zip(rows, K._ptr, strict=True)]
    y, y_ptr = K._y, K._y_ptr
    if y is not None and len(y) == K.num_nodes > K.num_complexes:  # one row per vertex
        y, y_ptr = y[rows[0]], ptr[0]
    return rebuild(K, incidences, ptr, rows, y, y_ptr)
