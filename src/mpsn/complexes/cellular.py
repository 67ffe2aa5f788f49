"""Regular cell complexes: cells with any number of faces, such as the rings of a molecule."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

import torch
from torch import Tensor

from mpsn._rows.checks import INTEGERS, as_int, as_tensor
from mpsn.complexes._regular import check_regular
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Incidence
from mpsn.complexes.simplicial import SimplicialComplex
from mpsn.errors import ComplexError


class CellComplex(Complex):
    """A regular cell complex, with optional features, labels and orientation.

    The boundary of a k-cell is a sphere of (k-1)-cells: an edge has two vertices, a 2-cell is a
    polygon, and so on. Two cells may share several faces, but not their whole boundary, except for
    two edges in opposite directions, as in digraphs.

    *Orientation.* The signs of the incidences say how cells are oriented. By default the first
    face of each cell has sign +1; ``flip`` reverses orientations.

    Args:
        num_vertices: Number of vertices. Defaults to 0.
        incidences: The :class:`mpsn.complexes.Incidence` of dimension 1, 2, ... Defaults to none.
        x: Features per dimension, each (n_k, F_k) or None.
        y: Labels: a number, or a tensor with one row per complex or per vertex.
        orientation: Signs ±1 per dimension, each (n_k,) or None for the default orientation.
            Defaults to that of the signs of the incidences.
        vertex_labels: Names of the vertices. Defaults to 0, 1, ...

    Example:
        >>> square = [[0, 1], [1, 2], [2, 3], [3, 0]]
        >>> K = mpsn.CellComplex.from_boundaries(4, [square, [[0, 1, 2, 3]]])
        >>> K, K.betti_numbers()
        (CellComplex(dim=2, counts=(4, 4, 1)), (1, 0, 0))
    """

    def __init__(
        self,
        num_vertices: int = 0,
        incidences: Sequence[Incidence] = (),
        *,
        x: Sequence[Tensor | None] | None = None,
        y: Tensor | float | None = None,
        orientation: Sequence[Tensor | None] | None = None,
        vertex_labels: Iterable[Hashable] | None = None,
    ) -> None:
        built = self._checked(as_int(num_vertices, "num_vertices"), incidences, x)
        changed = built.replace(x=x, y=y, orientation=orientation, vertex_labels=vertex_labels)
        self.__dict__.update(changed.__dict__)

    @staticmethod
    def _width(k: int) -> int | None:
        return 2 if k == 1 else None

    @staticmethod
    def _check(num_vertices: int, incidences: Sequence[Incidence]) -> Sequence[Incidence]:
        edges = [_as_rows(B) for B in incidences[:1]]
        return check_regular(num_vertices, [*edges, *(B.ragged() for B in incidences[1:])])

    @staticmethod
    def from_boundaries(
        num_vertices: int,
        boundaries: Sequence[Sequence[Sequence[int]]],
        signs: Sequence[Sequence[Sequence[int]]] | None = None,
    ) -> "CellComplex":
        """Build from the faces of every cell, and find the signs if they are not given.

        Args:
            num_vertices: Number of vertices.
            boundaries: For dimension 1, 2, ..., the list of cells, each the list of its faces.
            signs: Relative orientations ±1 in the same layout. Defaults to edges that run from the
                smaller to the larger vertex, and cells of which the first face has sign +1.

        Example:
            >>> edges = [[0, 1], [1, 2], [0, 2], [2, 3], [3, 0]]
            >>> mpsn.CellComplex.from_boundaries(4, [edges, [[0, 1, 2], [2, 3, 4]]])
            CellComplex(dim=2, counts=(4, 5, 2))
        """
        n = as_int(num_vertices, "num_vertices")
        tables = [_flat(cells, f"faces of {k}-cells") for k, cells in enumerate(boundaries, 1)]
        sign_lists = [_flat(cells, f"signs of {k}-cells") for k, cells in enumerate(signs or (), 1)]
        sizes = [[ptr.tolist() for _, ptr in rows] for rows in (tables, sign_lists)]
        if signs is not None and sizes[0] != sizes[1]:
            raise ComplexError(
                "Expected a sign for each face of each cell, got signs of another shape; leave "
                "signs out to have them found."
            )
        if any(bool((flat.abs() != 1).any()) for flat, _ in sign_lists):
            raise ComplexError("Expected signs ±1 in all dimensions, got others.")
        incidences = []
        for k, (face, ptr) in enumerate(tables):
            sign = sign_lists[k][0].to(torch.int8) if sign_lists else None
            B = Incidence.unchecked(face, n, None, ptr, sign)
            if k == 0 and sign is None and bool((ptr.diff() == 2).all()):
                face = face.view(-1, 2).sort(dim=1, descending=True).values.reshape(-1)
                B = Incidence.unchecked(face, n, 2)
            incidences.append(B)
            n = len(B)
        return CellComplex(num_vertices, incidences)

    @staticmethod
    def from_complex(K: Complex) -> "CellComplex":
        """Return any complex as a cell complex, with its features, labels and orientation.

        Example:
            >>> CellComplex.from_complex(SimplicialComplex.from_simplices([[0, 1, 2]]))
            CellComplex(dim=2, counts=(3, 3, 1))
        """
        incidences = (*K._incidences[:1], *(B.ragged() for B in K._incidences[1:]))
        out = object.__new__(CellComplex)
        out.__dict__.update(K.__dict__, _incidences=incidences)
        return out

    def to_simplicial(self) -> SimplicialComplex:
        """Return the complex with its cells as simplices, if each k-cell has k+1 vertices.

        Features and the orientation of each cell stay as they are.
        """
        incidences: list[Incidence] = []
        totals = torch.arange(self.num_nodes, device=self.device)  # sum of each cell's vertices
        for k in range(1, self.dim + 1):
            B, (vertex, ptr) = self.incidence(k), self.cells(k)
            if bool((ptr.diff() != k + 1).any()):
                cell = int((ptr.diff() != k + 1).nonzero()[0])
                raise ComplexError(
                    f"Expected k-cells with k+1 vertices, got {k}-cell {cell} with "
                    f"{int(ptr.diff()[cell])} vertices; it is not a simplex."
                )
            rows, below, totals = vertex.view(-1, k + 1), totals, vertex.view(-1, k + 1).sum(1)
            omitted = totals[B.cell] - below[B.face]
            column = (rows[B.cell] == omitted[:, None]).to(torch.int8).argmax(1)
            table, signs = torch.empty_like(rows), torch.empty_like(rows, dtype=torch.int8)
            table[B.cell, column], signs[B.cell, column] = B.face, B.signs
            if k == 1 and len(torch.unique(table, dim=0)) < len(table):
                raise ComplexError(
                    "Expected at most one edge between two vertices, got edges in both directions."
                )
            out = Incidence.unchecked(table.reshape(-1), B.count, k + 1)
            same = torch.equal(out.signs, signs.reshape(-1))
            incidences.append(out if same else out.with_sign(signs.reshape(-1)))
        return SimplicialComplex.unchecked(
            incidences,
            self._ptr,
            num_vertices=self.num_nodes,
            x=self._x,
            y=self._y,
            y_ptr=self._y_ptr,
            labels=self._labels,
        )


def _as_rows(B: Incidence) -> Incidence:
    """Return edges as rows of two vertices; the sign +1, -1 of each row is the default."""
    if bool((B.offsets.diff() != 2).any()):
        return B.ragged()  # to be refused by name
    sign = B.signs
    default = Incidence.unchecked(B.face, B.count, 2)
    return default if torch.equal(default.signs, sign) else default.with_sign(sign)


def _flat(cells: Sequence[Sequence[int]], what: str) -> tuple[Tensor, Tensor]:
    """Return integers given as one list for each cell, cell after cell, and their offsets."""
    try:
        rows = [list(row) for row in cells]
    except TypeError as error:
        raise ComplexError(
            f"Expected {what} as a list for each cell, got {cells!r:.60}."
        ) from error
    flat = as_tensor(list(chain(*rows)), what)
    if len(flat) and (flat.dim() != 1 or flat.dtype not in INTEGERS):
        raise ComplexError(f"Expected {what} as integers, got {flat.dtype}.")
    return flat.to(torch.int64), torch.tensor([0, *map(len, rows)]).cumsum(0)
