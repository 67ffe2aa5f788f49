"""Cubical complexes: vertices, edges, squares, cubes, ..."""

from collections.abc import Hashable, Iterable, Sequence

from torch import Tensor

from mpsn._rows.checks import as_index_table, as_int
from mpsn.complexes._building import as_incidences
from mpsn.complexes._regular import check_cubes, check_regular
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Incidence


class CubicalComplex(Complex):
    r"""A cubical complex, with optional features, labels and orientation.

    A :math:`k`-cube has exactly :math:`2k` faces, so a complex is a list of face tables.

    *Orientation.* By default ``faces(k)[s, i]`` enters the boundary of ``s`` with sign
    :math:`(-1)^i`; this is the product orientation if the faces along axis ``a`` are listed as
    (front, back) for even ``a`` and (back, front) for odd ``a``. If these signs do not satisfy
    :math:`B_{k-1} B_k = 0`, signs are found with which the first face has sign +1.

    Args:
        num_vertices: Number of vertices. Defaults to 0.
        faces: Face tables of dimension 1, 2, ..., each (n_k, 2k). Defaults to none.
        x: Features per dimension, each (n_k, F_k) or None.
        y: Labels: a number, or a tensor with one row per complex or per vertex.
        orientation: Signs ±1 per dimension, each (n_k,) or None for the default orientation.
        vertex_labels: Names of the vertices. Defaults to 0, 1, ...

    Example:
        >>> edges = [[1, 0], [3, 2], [2, 0], [3, 1]]
        >>> mpsn.CubicalComplex(4, [edges, [[3, 2, 0, 1]]])
        CubicalComplex(dim=2, counts=(4, 4, 1))
    """

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
        n0 = as_int(num_vertices, "num_vertices")
        tables = [
            as_index_table(table, 2 * k, f"face table {k}") for k, table in enumerate(faces, 1)
        ]
        built = self._checked(n0, as_incidences(tables, n0), x)
        changed = built.replace(x=x, y=y, orientation=orientation, vertex_labels=vertex_labels)
        self.__dict__.update(changed.__dict__)

    @staticmethod
    def _width(k: int) -> int:
        return 2 * k

    @staticmethod
    def _check(num_vertices: int, incidences: Sequence[Incidence]) -> Sequence[Incidence]:
        out = check_regular(num_vertices, incidences)
        check_cubes(out)
        return out

    def faces(self, k: int) -> Tensor:
        """Return the face table of dimension k, (n_k, 2k) int64; (n_0, 0) for vertices.

        Example:
            >>> mpsn.CubicalComplex(2, [[[1, 0]]]).faces(1)
            tensor([[1, 0]])
        """
        return self._table(k)
