"""Simplicial complexes, stored as dense face tables."""

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn._rows.checks import as_index_table, as_int, check_face_tables
from mpsn.complexes import _building
from mpsn.complexes._building import as_incidences
from mpsn.complexes.complex import Complex
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

    from_simplices = staticmethod(_building.from_simplices)
    to_simplices = _building.to_simplices

    # Conversion: that room is imported when it is used ---------------------------------------

    @staticmethod
    def from_graph(graph: object) -> "SimplicialComplex":
        """Build the 1-dimensional complex of a graph.

        See :func:`mpsn.clique_complex` for the supported kinds of graphs, and to add cliques.
        """
        from mpsn.convert import from_graph

        return from_graph(graph)

    @staticmethod
    def from_gudhi(tree: Any) -> "SimplicialComplex":
        """Build from a gudhi ``SimplexTree``; its filtration becomes x[k], (n_k, 1) float64.

        Vertex numbers other than 0, 1, ... become ``vertex_labels``.

        Example:
            >>> import gudhi
            >>> rips = gudhi.RipsComplex(points=[[0], [2], [5]])
            >>> K = SimplicialComplex.from_gudhi(rips.create_simplex_tree(max_dimension=2))
            >>> K, K.x[1].T
            (SimplicialComplex(dim=2, counts=(3, 3, 1), features=(1, 1, 1)),
             tensor([[2., 5., 3.]], dtype=torch.float64))
        """
        from mpsn.convert import from_gudhi

        return from_gudhi(tree)

    @staticmethod
    def from_hif(
        source: str | os.PathLike[str] | dict[str, Any], max_dim: int | None = None
    ) -> "SimplicialComplex":
        """Build from hyperedges in the Hypergraph Interchange Format, and all their faces.

        Names of nodes become ``vertex_labels``. Directions, weights and attributes are left out,
        with a warning :class:`mpsn.errors.LeftOut`.

        Args:
            source: A file ``.json`` or ``.json.gz``, or its content.
            max_dim: Largest dimension to keep. Defaults to no bound.

        Example:
            >>> K = SimplicialComplex.from_simplices([["ann", "bob", "carl"], ["dora"]])
            >>> _ = K.to_hif(tmp_path / "K.hif.json")
            >>> SimplicialComplex.from_hif(tmp_path / "K.hif.json") == K
            True
        """
        from mpsn.convert import from_hif

        return from_hif(source, max_dim)

    @staticmethod
    def from_toponetx(complex: Any) -> "SimplicialComplex":
        """Build from a TopoNetX ``SimplicialComplex``; names of vertices become ``vertex_labels``.

        Attributes of simplices are left out, with a warning :class:`mpsn.errors.LeftOut`.
        """
        from mpsn.convert import from_toponetx

        return from_toponetx(complex)

    @staticmethod
    def from_xgi(complex: Any, max_dim: int | None = None) -> "SimplicialComplex":
        """Build from an XGI ``SimplicialComplex``, or a ``Hypergraph`` and all faces of its edges.

        Names of vertices become ``vertex_labels``. Attributes of vertices and simplices are left
        out, with a warning :class:`mpsn.errors.LeftOut`.

        Args:
            complex: The complex or hypergraph.
            max_dim: Largest dimension to keep. Defaults to no bound.
        """
        from mpsn.convert import from_xgi

        return from_xgi(complex, max_dim)

    def to_gudhi(self, filtration: Sequence[Tensor | None] | None = None) -> Any:
        """Return a gudhi ``SimplexTree``, to compute persistence for example.

        Args:
            filtration: Values per dimension, each (n_k,) or (n_k, 1), or None for zeros; no simplex
                may come before its faces. ``K.x`` of :meth:`from_gudhi`, ``[None, *K.x[1:]]`` of
                :func:`mpsn.rips_complex`. Defaults to zeros.
        """
        from mpsn.convert import to_gudhi

        return to_gudhi(self, filtration)

    def to_hif(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Return the complex in the Hypergraph Interchange Format, by the vertices' names.

        Every simplex is listed. Names must be strings or integers.

        Args:
            path: A file to write it to, as JSON. Defaults to none.
        """
        from mpsn.convert import to_hif

        return to_hif(self, path)

    def to_pyg(self) -> Any:
        """Return vertices and edges as PyG ``Data``, every edge in both directions."""
        from mpsn.convert import to_pyg

        return to_pyg(self)

    def to_scipy(self, k: int | None = None) -> Any:
        """Return the adjacency matrix of the vertices, or the signed boundary matrix B_k.

        Args:
            k: None for the adjacency matrix (n_0, n_0) of zeros and ones; else the dimension.

        Returns:
            A ``scipy.sparse.csr_array`` of float64.

        Example:
            >>> SimplicialComplex.from_simplices([[0, 1], [1, 2]]).to_scipy().toarray()
            array([[0., 1., 0.],
                   [1., 0., 1.],
                   [0., 1., 0.]])
        """
        from mpsn.convert import to_scipy

        return to_scipy(self, k)

    def to_toponetx(self) -> Any:
        """Return a TopoNetX ``SimplicialComplex`` of all simplices, by the vertices' names."""
        from mpsn.convert import to_toponetx

        return to_toponetx(self)

    def to_xgi(self) -> Any:
        """Return an XGI ``SimplicialComplex`` of all simplices, by the vertices' names."""
        from mpsn.convert import to_xgi

        return to_xgi(self)
