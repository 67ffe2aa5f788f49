"""Simplicial complexes, stored as dense face tables."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn._rows.checks import as_index_table, as_int, check_face_tables
from mpsn.complexes import _bridges, _convert, _gudhi
from mpsn.complexes.complex import Complex, as_incidences
from mpsn.complexes.incidence import Incidence


class SimplicialComplex(Complex):
    r"""A simplicial complex, with optional features, labels and orientation.

    A :math:`k`-simplex has exactly :math:`k+1` faces, so a complex is a list of face tables:
    row ``s``, column ``i`` of ``faces(k)`` is the index of the :math:`(k-1)`-simplex that omits
    vertex ``i`` of simplex ``s``.

    *Order.* The vertices of a simplex are sorted. The builders (:meth:`from_simplices`,
    :meth:`from_graph`, :func:`mpsn.clique_complex`, ...) sort the simplices of each dimension
    lexicographically; ``permute`` and custom face tables may have any order.

    *Orientation.* By default every simplex is oriented by its ascending vertices, so
    ``faces(k)[s, i]`` enters the boundary of ``s`` with sign :math:`(-1)^i`. ``flip`` reverses
    orientations.

    A disjoint union of complexes is again a complex (:func:`mpsn.collate`); ``batch`` maps its
    simplices to the complexes. Complexes are values: methods return new ones.

    Args:
        num_vertices: Number of vertices. Defaults to 0.
        faces: Face tables of dimension 1, 2, ..., each (n_k, k+1). Defaults to none.
        x: Features per dimension, each (n_k, F_k) or None.
        y: Labels: a number, or a tensor with one row per complex or per vertex.
        orientation: Signs ±1 per dimension, each (n_k,) or None for the default orientation.
        vertex_labels: Names of the vertices. Defaults to 0, 1, ...

    Example:
        >>> K = SimplicialComplex(4, [[[1, 0], [2, 0], [2, 1], [3, 2]], [[2, 1, 0]]])
        >>> K
        SimplicialComplex(dim=2, counts=(4, 4, 1))
        >>> K == SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]])
        True
    """

    _ascending = True

    def __init__(
        self,
        num_vertices: int = 0,
        faces: Sequence[object] = (),
        *,
        x: Sequence[Tensor | None] | None = None,
        y: Tensor | float | None = None,
        orientation: Sequence[Tensor | None] | None = None,
        vertex_labels: Iterable[Hashable] | None = None,
    ) -> None:
        tables = [
            as_index_table(table, k + 1, f"face table {k}") for k, table in enumerate(faces, 1)
        ]
        n0 = as_int(num_vertices, "num_vertices")
        built = self._checked(n0, as_incidences(tables, n0), x)
        changed = built.replace(x=x, y=y, orientation=orientation, vertex_labels=vertex_labels)
        self.__dict__.update(changed.__dict__)

    @classmethod
    def _of_tables(
        cls, tables: Sequence[Tensor], ptr: Sequence[Tensor], **fields: Any
    ) -> "SimplicialComplex":
        """Build from valid face tables, without checks."""
        n0 = fields.pop("num_vertices", None)
        n0 = int(ptr[0][-1]) if n0 is None else n0
        return cls._trusted(as_incidences(tables, n0), ptr, num_vertices=n0, **fields)

    @staticmethod
    def _width(k: int) -> int:
        return k + 1

    @staticmethod
    def _check(num_vertices: int, incidences: Sequence[Incidence]) -> Sequence[Incidence]:
        check_face_tables(num_vertices, [B.table for B in incidences])
        return incidences

    def faces(self, k: int) -> Tensor:
        """Return the face table of dimension k, (n_k, k+1) int64; (n_0, 0) for vertices.

        Example:
            >>> SimplicialComplex.from_simplices([[0, 1, 2]]).faces(2)  # edges 12, 02, 01
            tensor([[2, 1, 0]])
        """
        return self._table(k)

    def simplices(self, k: int) -> Tensor:
        """Return the vertices of the k-simplices, (n_k, k+1) int64, each row ascending.

        Example:
            >>> SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]]).simplices(1)
            tensor([[0, 1],
                    [0, 2],
                    [1, 2],
                    [2, 3]])
        """
        if self.count(k) == 0:
            return torch.zeros((0, k + 1), dtype=torch.int64, device=self.device)
        if k == 0:
            return torch.arange(self.count(0), device=self.device)[:, None]
        below, table = self.simplices(k - 1), self.faces(k)
        return torch.cat([below[table[:, k]], below[table[:, 0], -1:]], dim=1)

    from_simplices = staticmethod(_convert.from_simplices)
    from_graph = staticmethod(_convert.from_graph)
    from_gudhi = staticmethod(_gudhi.from_gudhi)
    from_toponetx = staticmethod(_bridges.from_toponetx)
    from_xgi = staticmethod(_bridges.from_xgi)
    to_simplices = _convert.to_simplices
    to_pyg = _convert.to_pyg
    to_gudhi = _gudhi.to_gudhi
    to_scipy = _bridges.to_scipy
    to_toponetx = _bridges.to_toponetx
    to_xgi = _bridges.to_xgi
