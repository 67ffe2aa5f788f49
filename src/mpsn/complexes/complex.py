"""The one data type: a simplicial complex as a short list of dense face tables.

This file is long because it is the whole public face of the type; the work is done next door.
"""

import copy
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from mpsn.complexes import batching, convert, homology, operators, orientation
from mpsn.complexes.checks import (
    as_index_table,
    as_int,
    as_tensor,
    check_face_tables,
    check_features,
    check_labels,
    check_orientation,
    check_same_device,
)
from mpsn.complexes.memory import check_vertices
from mpsn.complexes.pyg import PyGValue
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    import networkx as nx


class SimplicialComplex(PyGValue):
    r"""A simplicial complex, with optional features, labels and orientation.

    A :math:`k`-simplex has exactly :math:`k+1` faces, so a complex is a list of face tables:
    row ``s``, column ``i`` of ``faces(k)`` is the index of the :math:`(k-1)`-simplex that omits
    vertex ``i`` of simplex ``s``. All else is derived from them.

    *Order.* The vertices of a simplex ascend. The builders (:meth:`from_simplices`,
    :meth:`from_graph`, :func:`mpsn.clique_complex`, ...) list the simplices of each dimension in
    lexicographic order of their vertices; only :meth:`permute` and face tables given by hand have
    rows in another order.

    *Orientation.* By default every simplex is oriented by its ascending vertices, so that
    ``faces(k)[s, i]`` enters the boundary of ``s`` with sign :math:`(-1)^i`. :meth:`flip` turns
    simplices round.

    A disjoint union of complexes is again a complex (:func:`mpsn.collate`); :meth:`batch` tells
    which simplex came from where. Complexes are values: methods return new ones.

    Args:
        num_vertices: Number of vertices.
        faces: Face tables of dimension 1, 2, ..., the one of dimension k of shape (n_k, k+1).
        x: Features per dimension, each (n_k, F_k) or None.
        y: Labels; a number, or a tensor with one row per labelled thing.
        orientation: Signs ±1 per dimension, each (n_k,) or None for the canonical orientation.
        vertex_labels: The user's names of the vertices, if they had other names than 0, 1, ...

    Example:
        >>> K = SimplicialComplex(4, [[[1, 0], [2, 0], [2, 1], [3, 2]], [[2, 1, 0]]])
        >>> K
        SimplicialComplex(dim=2, counts=(4, 4, 1))
        >>> K == SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]])
        True
    """

    _tensors = ("_faces", "_ptr", "_x", "_y", "_y_ptr", "_signs")

    _faces: tuple[Tensor, ...]
    _ptr: tuple[Tensor, ...]
    _x: tuple[Tensor | None, ...]
    _y: Tensor | None
    _y_ptr: Tensor | None
    _signs: tuple[Tensor | None, ...]
    _counts: tuple[int, ...]
    _labels: tuple[Hashable, ...] | None

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
        check_same_device(tables)
        device = tables[0].device if tables else _device_of(x)
        n0 = as_int(num_vertices, "num_vertices")
        check_vertices(n0, device)
        check_face_tables(n0, tables)
        self._fill(tables, [torch.tensor([0, n], device=device) for n in (n0, *map(len, tables))])
        changed = self.replace(x=x, y=y, orientation=orientation, vertex_labels=vertex_labels)
        self.__dict__.update(changed.__dict__)

    @classmethod
    def _trusted(cls, faces: Sequence[Tensor], ptr: Sequence[Tensor], **fields: Any) -> Self:
        """Build from parts that are known to fit: no checks."""
        out = cls.__new__(cls)
        out._fill(faces, ptr, **fields)
        return out

    def _fill(
        self,
        faces: Sequence[Tensor],
        ptr: Sequence[Tensor],
        *,
        num_vertices: int | None = None,
        x: Sequence[Tensor | None] = (),
        y: Tensor | None = None,
        y_ptr: Tensor | None = None,
        signs: Sequence[Tensor | None] = (),
        labels: tuple[Hashable, ...] | None = None,
    ) -> None:
        n0 = int(ptr[0][-1]) if num_vertices is None else num_vertices
        counts = [n0, *(table.shape[0] for table in faces)]
        while counts and counts[-1] == 0:
            counts.pop()
        size = max(1, len(counts))
        self._counts = tuple(counts)
        self._faces = tuple(faces[: size - 1])
        self._ptr = tuple(ptr[:size])
        self._x, self._y, self._y_ptr = tuple(x), y, y_ptr
        self._signs = tuple(signs[:size]) + (None,) * (size - len(signs))
        self._labels = labels

    # What a complex is made of -------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Largest dimension of a simplex; -1 for the empty complex."""
        return len(self._counts) - 1

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of simplices of dimension 0, 1, ..., dim."""
        return self._counts

    def count(self, k: int) -> int:
        """Return the number of k-simplices, 0 above the dimension of the complex."""
        if k < 0:
            raise ComplexError(f"Expected a dimension k >= 0, got {k}.")
        return self._counts[k] if k < len(self._counts) else 0

    @property
    def num_nodes(self) -> int:
        """Number of vertices, by the name PyG uses."""
        return self.count(0)

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self._ptr[0].device

    @property
    def x(self) -> tuple[Tensor | None, ...]:
        """Features per dimension, each (n_k, F_k) or None; at least dim + 1 entries."""
        return self._x + (None,) * (len(self._counts) - len(self._x))

    @property
    def y(self) -> Tensor | None:
        """Labels, or None."""
        return self._y

    @property
    def vertex_labels(self) -> tuple[Hashable, ...] | None:
        """The user's names of vertices 0, 1, ..., or None if those are the names."""
        return self._labels

    def faces(self, k: int) -> Tensor:
        """Return the face table of dimension k, (n_k, k+1) int64; (n_0, 0) for vertices.

        Example:
            >>> SimplicialComplex.from_simplices([[0, 1, 2]]).faces(2)  # edges 12, 02, 01
            tensor([[2, 1, 0]])
        """
        if 1 <= k <= self.dim:
            return self._faces[k - 1]
        width = k + 1 if k else 0
        return torch.zeros((self.count(k), width), dtype=torch.int64, device=self.device)

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
        below, table = self.simplices(k - 1), self._faces[k - 1]
        return torch.cat([below[table[:, k]], below[table[:, 0], -1:]], dim=1)

    def orientation(self, k: int) -> Tensor:
        """Return the signs of the k-simplices against the canonical orientation, (n_k,) int8."""
        signs = self._signs[k] if k < len(self._signs) else None
        if signs is None:
            return torch.ones(self.count(k), dtype=torch.int8, device=self.device)
        return signs

    def replace(
        self,
        *,
        x: Sequence[Tensor | None] | None = None,
        y: Tensor | float | None = None,
        orientation: Sequence[Tensor | None] | None = None,
        vertex_labels: Iterable[Hashable] | None = None,
    ) -> Self:
        """Return the same complex with other features, labels, orientation or vertex names.

        What is None stays as it is. Features do not follow a new ``orientation``; use
        :meth:`flip` to turn simplices round together with their features.
        """
        out = copy.copy(self)
        if x is not None:
            out._x = tuple(self._adopt(t, f"x[{k}]") for k, t in enumerate(x))
            check_features(out._x, self._counts)
        if y is not None:
            rows = self._adopt(y, "y")
            assert rows is not None
            out._y = rows.reshape(1) if rows.dim() == 0 else rows
            out._y_ptr = batching.label_offsets(
                out._y, self.num_complexes, self.num_nodes, self._ptr
            )
        if orientation is not None:
            signs = [self._adopt(s, f"orientation {k}") for k, s in enumerate(orientation)]
            check_orientation(signs, self._counts)
            small = [None if s is None else s.to(torch.int8) for s in signs]
            size = len(self._ptr)
            out._signs = tuple(small[:size]) + (None,) * (size - len(small))
        if vertex_labels is not None:
            out._labels = tuple(vertex_labels)
            check_labels(out._labels, self.num_nodes)
        return out

    def _adopt(self, value: object, what: str) -> Tensor | None:
        """Take in what a user handed over: a tensor on our device, or numbers to make one of."""
        if value is None:
            return None
        tensor = as_tensor(value, what)
        if not isinstance(value, Tensor):
            return tensor.to(self.device)
        check_same_device([self._ptr[0], tensor])
        return tensor

    # Unions and batches --------------------------------------------------------------------

    @property
    def num_complexes(self) -> int:
        """Number of complexes this one is the disjoint union of; 1 unless collated."""
        return self._ptr[0].numel() - 1

    def ptr(self, k: int) -> Tensor:
        """Return offsets (num_complexes + 1,): where the k-simplices of each complex start."""
        return self._ptr[k] if k < len(self._ptr) else torch.zeros_like(self._ptr[0])

    def batch(self, k: int) -> Tensor:
        """Return the complex each k-simplex belongs to, (n_k,) int64.

        Example:
            >>> edge = SimplicialComplex.from_simplices([[0, 1]])
            >>> mpsn.collate([edge, edge]).batch(0)
            tensor([0, 0, 1, 1])
        """
        return torch.repeat_interleave(self.ptr(k).diff(), output_size=self.count(k))

    @classmethod
    def _join(cls, items: "list[SimplicialComplex]") -> "SimplicialComplex":
        return batching.collate(items)

    def to_list(self) -> "list[SimplicialComplex]":
        """Take a union apart into its complexes."""
        return batching.split(self)

    # Builders and converters ---------------------------------------------------------------

    @classmethod
    def from_simplices(
        cls, simplices: Iterable[Collection[int]], num_vertices: int | None = None
    ) -> "SimplicialComplex":
        """Build the complex of the given simplices and all their faces.

        Args:
            simplices: Vertex lists, in any order and of any mix of sizes; repeats are welcome.
            num_vertices: Number of vertices, all of which exist even if no simplex names them.
                By default one more than the largest vertex named.
        """
        return convert.from_simplices(simplices, num_vertices)

    @classmethod
    def from_graph(cls, graph: object) -> "SimplicialComplex":
        """Build the 1-dimensional complex of a graph.

        See :func:`mpsn.clique_complex` for the kinds of graph, and for their cliques.
        """
        return convert.from_graph(graph)

    @classmethod
    def from_gudhi(cls, tree: Any) -> "SimplicialComplex":
        """Build from a gudhi ``SimplexTree``; its vertex numbers become ``vertex_labels``."""
        return convert.from_gudhi(tree)

    def to_simplices(self) -> list[list[int]]:
        """Return all simplices as vertex lists, vertices first."""
        return convert.to_simplices(self)

    def to_networkx(self) -> "nx.Graph[Hashable]":
        """Return the graph of vertices and edges, with the user's vertex names."""
        return convert.to_networkx(self)

    def to_pyg(self) -> Any:
        """Return vertices and edges as PyG ``Data``: x[0] as x, x[1] as edge_attr, y."""
        return convert.to_pyg(self)

    def to_gudhi(self) -> Any:
        """Return a gudhi ``SimplexTree`` with all simplices at filtration value 0."""
        return convert.to_gudhi(self)

    # Operators -----------------------------------------------------------------------------

    def boundary_matrix(
        self, k: int, signed: bool = True, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Return B_k as sparse (n_{k-1}, n_k); see :func:`mpsn.complexes.boundary_matrix`."""
        return operators.boundary_matrix(self, k, signed, dtype)

    def hodge_laplacian(
        self,
        k: int,
        part: operators.Part = "full",
        normalized: bool = False,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """Return L_k as sparse (n_k, n_k); see :func:`mpsn.complexes.hodge_laplacian`."""
        return operators.hodge_laplacian(self, k, part, normalized, dtype)

    def adjacency(self, k: int, kind: operators.Kind) -> operators.Adjacency:
        """Return the adjacent pairs of one kind; see :func:`mpsn.complexes.adjacency`."""
        return operators.adjacency(self, k, kind)

    def flip(self, which: Mapping[int, Tensor]) -> "SimplicialComplex":
        """Turn simplices round; see :func:`mpsn.complexes.flip`."""
        return orientation.flip(self, which)

    def permute(self, order: Mapping[int, Tensor]) -> "SimplicialComplex":
        """List the simplices in another order; see :func:`mpsn.complexes.permute`."""
        return orientation.permute(self, order)

    def euler_number(self) -> int:
        """Return the alternating sum of the counts."""
        return sum((-1) ** k * n for k, n in enumerate(self._counts))

    def betti_numbers(self) -> tuple[int, ...]:
        """Return the number of holes per dimension; see :func:`mpsn.complexes.betti_numbers`."""
        return homology.betti_numbers(self)

    def harmonic_basis(self, k: int) -> Tensor:
        """Return an orthonormal basis of ker L_k; see :func:`mpsn.complexes.harmonic_basis`."""
        return homology.harmonic_basis(self, k)

    def hodge_decomposition(self, k: int, cochain: Tensor) -> homology.HodgeParts:
        """Split a cochain; see :func:`mpsn.complexes.hodge_decomposition`."""
        return homology.hodge_decomposition(self, k, cochain)

    # Comparing and showing -----------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Tell whether structure, features, labels, orientation and vertex names all agree."""
        if not isinstance(other, SimplicialComplex):
            return NotImplemented
        if (self._counts, self._labels, self.device) != (
            other._counts,
            other._labels,
            other.device,
        ):
            return False
        mine, theirs = self._parts(), other._parts()
        return all(
            a is b or (a is not None and b is not None and a.dtype == b.dtype and torch.equal(a, b))
            for a, b in zip(mine, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _parts(self) -> list[Tensor | None]:
        n = len(self._counts)
        signs = [self.orientation(k) for k in range(n)]
        return [*self._faces, *self._ptr, *signs, *self.x[:n], self._y, self._y_ptr]

    def __repr__(self) -> str:
        parts = [f"dim={self.dim}", f"counts={self.counts}"]
        if any(x is not None for x in self._x):
            widths = tuple(None if x is None else x.shape[1] for x in self.x)
            parts.append(f"features={widths}")
        if self._y is not None:
            parts.append(f"y={tuple(self._y.shape)}")
        if self.num_complexes != 1:
            parts.append(f"complexes={self.num_complexes}")
        if self.device.type != "cpu":
            parts.append(f"device='{self.device}'")
        return f"SimplicialComplex({', '.join(parts)})"


def _device_of(x: Sequence[object] | None) -> torch.device:
    return next((t.device for t in x or () if isinstance(t, Tensor)), torch.device("cpu"))
