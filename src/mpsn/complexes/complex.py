"""The base class of all complexes: cells by dimension, and the incidences between them."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import torch
from torch import Tensor

from mpsn._rows.checks import (
    as_tensor,
    check_features,
    check_labels,
    check_orientation,
    check_same_device,
)
from mpsn._rows.memory import check_vertices
from mpsn._rows.value import SAVED, Value
from mpsn.complexes import (
    _batching,
    _homology,
    _operators,
    _parts,
    _saving,
    _subdivision,
    _symmetries,
)
from mpsn.complexes._pytree import register
from mpsn.complexes._saving import restored
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    import networkx as nx

torch.serialization.add_safe_globals([restored])

FIELDS = ("_incidences", "_ptr", "_x", "_y", "_y_ptr")  # that hold tensors


class Complex(Value):
    """Base class of all complexes: incidences with features, labels and names.

    Complexes are immutable values: methods return new ones. A disjoint union of complexes is again
    a complex (:func:`mpsn.collate`); :meth:`batch` maps its cells to the complexes. A complex moves
    with ``.to(device)``, and is a pytree, so ``torch.export`` and ``torch.func`` accept it as an
    argument.
    """

    _incidences: tuple[Incidence, ...]
    _ptr: tuple[Tensor, ...]
    _x: tuple[Tensor | None, ...]
    _y: Tensor | None
    _y_ptr: Tensor | None
    _counts: tuple[int, ...]
    _labels: tuple[Hashable, ...] | None
    _ascending = False  # whether the vertices of each cell ascend, which orients it

    @classmethod
    def unchecked(
        cls,
        incidences: Sequence[Incidence],
        ptr: Sequence[Tensor] | None = None,
        *,
        x: Sequence[Tensor | None] = (),
        y: Tensor | None = None,
        y_ptr: Tensor | None = None,
        num_vertices: int | None = None,
        labels: tuple[Hashable, ...] | None = None,
    ) -> Self:
        """Build from parts that are known to be valid, without checks: for lifts of your own.

        Args:
            incidences: Those of dimension 1, 2, ..., with signs.
            ptr: Offsets of the cells of each complex of a union, per dimension. Defaults to those
                of a single complex.
            x: Features per dimension.
            y: Labels, with one row or more for each complex.
            y_ptr: Offsets of the labels of each complex.
            num_vertices: Number of vertices. Defaults to what the incidences or offsets say.
            labels: Names of the vertices.
        """
        if num_vertices is None:
            assert incidences or ptr is not None
            num_vertices = incidences[0].count if incidences else int(ptr[0][-1])  # type: ignore[index]
        counts = [num_vertices, *map(len, incidences)]
        if ptr is None:
            device = incidences[0].face.device if incidences else None
            ptr = torch.tensor([[0, n] for n in counts], device=device).unbind()
        while counts and counts[-1] == 0:
            counts.pop()
        size = max(1, len(counts))
        out: Self = object.__new__(cls)
        out.__dict__.update(
            _counts=tuple(counts),
            _labels=labels,
            _incidences=tuple(incidences[: size - 1]),
            _ptr=tuple(ptr[:size]),
            _x=tuple(x),
            _y=y,
            _y_ptr=y_ptr,
        )
        return out

    @classmethod
    def _checked(
        cls, num_vertices: int, incidences: Sequence[Incidence], x: Sequence[object] | None
    ) -> Self:
        """Build from a user's incidences, on the device of the first tensor given."""
        tensors = [*(B.face for B in incidences), *(t for t in x or () if isinstance(t, Tensor))]
        check_same_device([B.face for B in incidences])
        device = tensors[0].device if tensors else torch.device("cpu")
        check_vertices(num_vertices, device)
        checked = cls._check(num_vertices, incidences)
        ptr = torch.tensor([[0, n] for n in (num_vertices, *map(len, checked))], device=device)
        return cls.unchecked(checked, ptr.unbind(), num_vertices=num_vertices)

    @staticmethod
    @abstractmethod
    def _width(k: int) -> int | None:
        """Return the number of faces of a k-cell, or None if it varies."""

    @staticmethod
    @abstractmethod
    def _check(num_vertices: int, incidences: Sequence[Incidence]) -> Sequence[Incidence]:
        """Return the incidences, with signs, if they form a complex of this kind, else raise."""

    # Contents ------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Largest dimension of any cell; -1 for the empty complex."""
        return len(self._counts) - 1

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of cells of dimension 0, 1, ..., dim."""
        return self._counts

    def count(self, k: int) -> int:
        """Return the number of k-cells, 0 above the dimension of the complex."""
        if 0 <= k < len(self._counts):
            return self._counts[k]
        if k < 0:
            raise ComplexError(f"Expected a dimension k >= 0, got {k}.")
        return 0

    @property
    def num_nodes(self) -> int:
        """Number of vertices, by the name PyG uses."""
        return self.count(0)

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
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
        """Names of vertices 0, 1, ..., or None if they have no other names."""
        return self._labels

    def incidence(self, k: int) -> Incidence:
        """Return the incidence between k-cells and (k-1)-cells; empty for k = 0.

        Example:
            >>> SimplicialComplex.from_simplices([[0, 1, 2]]).incidence(2)
            Incidence(cells=1, count=3, width=3)
        """
        if 1 <= k < len(self._counts):
            return self._incidences[k - 1]
        nothing = torch.zeros(0, dtype=torch.int64, device=self.device)
        width = self._width(k) if self.count(k) == 0 and k else None
        ptr = nothing.new_zeros(self.count(k) + 1) if width is None else None
        return Incidence.unchecked(nothing, self.count(k - 1) if k else 0, width, ptr)

    def _table(self, k: int) -> Tensor:
        if k == 0:
            return torch.zeros((self.count(0), 0), dtype=torch.int64, device=self.device)
        return self.incidence(k).table

    def orientation(self, k: int) -> Tensor:
        """Return the sign ±1 of each k-cell relative to its default orientation, (n_k,) int8.

        By default a cell is oriented so that its first face, in its default orientation, has sign
        +1. Of simplices that is the orientation by ascending vertices.
        """
        signs = torch.ones(self.count(0), dtype=torch.int8, device=self.device)
        for B in map(self.incidence, range(1, k + 1)):
            first = B.offsets[:-1]
            signs = B.signs[first] * signs[B.face[first]]
        return signs

    def replace(
        self,
        *,
        x: Sequence[Tensor | None] | None = None,
        y: Tensor | float | None = None,
        orientation: Sequence[Tensor | None] | None = None,
        vertex_labels: Iterable[Hashable] | None = None,
    ) -> Self:
        """Return the same complex with new features, labels, orientation or vertex names.

        Arguments that are None keep the current values. A new ``orientation`` does not change the
        features; use :meth:`flip` to flip cells together with their features.
        """
        changes: dict[str, Any] = {}
        if x is not None:
            features = changes["_x"] = tuple(self._adopt(t, f"x[{k}]") for k, t in enumerate(x))
            check_features(features, self._counts)
        if y is not None:
            labels = self._adopt(y, "y")
            assert labels is not None
            labels = labels.reshape(1) if labels.dim() == 0 else labels
            sizes = self.num_complexes, self.num_nodes, self._ptr
            changes |= {"_y": labels, "_y_ptr": _batching.label_offsets(labels, *sizes)}
        if vertex_labels is not None:
            names = changes["_labels"] = tuple(vertex_labels)
            check_labels(names, self.num_nodes)
        out = self._with(**changes)
        if orientation is None:
            return out
        signs = [self._adopt(s, f"orientation {k}") for k, s in enumerate(orientation)]
        check_orientation(signs, self._counts)
        return _symmetries.reorient(out, signs)

    def _adopt(self, value: object, what: str) -> Tensor | None:
        """Return a user's numbers as a tensor on our device; tensors elsewhere are refused."""
        if value is None:
            return None
        tensor = as_tensor(value, what)
        if not isinstance(value, Tensor):
            return tensor.to(self.device)
        check_same_device([self._ptr[0], tensor])
        return tensor

    # Parts -----------------------------------------------------------------------------------

    def bare(self) -> Self:
        """Return the complex without features, labels and vertex names; orientation stays."""
        return self._with(_x=(), _y=None, _y_ptr=None, _labels=None)

    cells = _parts.cells
    skeleton = _parts.skeleton
    subcomplex = _parts.subcomplex
    barycentric_subdivision = _subdivision.barycentric_subdivision

    # Memory ------------------------------------------------------------------------------------

    def apply(self, func: Callable[[Tensor], Tensor]) -> Self:
        """Return a copy with ``func`` applied to every tensor."""

        def each(t: Tensor | None) -> Tensor | None:
            return None if t is None else func(t)

        return self._with(
            _incidences=tuple(B.apply(func) for B in self._incidences),
            _ptr=tuple(map(func, self._ptr)),
            _x=tuple(map(each, self._x)),
            _y=each(self._y),
            _y_ptr=each(self._y_ptr),
        )

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Self:
        """Return the complex on another device."""
        return self.apply(lambda t: t.to(device, non_blocking=non_blocking))

    def cpu(self) -> Self:
        """Return the complex in main memory."""
        return self.to("cpu")

    def cuda(self) -> Self:
        """Return the complex on the current GPU."""
        return self.to("cuda")

    def pin_memory(self) -> Self:
        """Return the complex in pinned memory, from where it moves to a GPU while others work."""
        return self.apply(Tensor.pin_memory)

    # Unions and batches --------------------------------------------------------------------

    @property
    def num_complexes(self) -> int:
        """Number of complexes in this disjoint union; 1 for a single complex."""
        return self._ptr[0].numel() - 1

    def ptr(self, k: int) -> Tensor:
        """Return the offsets of the k-cells of each complex, (num_complexes + 1,) int64."""
        return self._ptr[k] if k < len(self._ptr) else torch.zeros_like(self._ptr[0])

    def batch(self, k: int) -> Tensor:
        """Return the index of the complex that each k-cell belongs to, (n_k,) int64.

        Example:
            >>> edge = SimplicialComplex.from_simplices([[0, 1]])
            >>> mpsn.collate([edge, edge]).batch(0)
            tensor([0, 0, 1, 1])
        """
        return torch.repeat_interleave(self.ptr(k).diff(), output_size=self.count(k))

    def membership(self, k: int) -> Incidence:
        """Return the unsigned incidence between the complexes of a union and their k-cells."""
        cells = torch.arange(self.count(k), device=self.device)
        return Incidence.unchecked(cells, self.count(k), None, self.ptr(k))

    to_list = _batching.to_list
    save = _saving.save

    def to_networkx(self) -> "nx.Graph[Hashable]":
        """Return the graph of vertices and edges, with the vertex labels as node names."""
        from mpsn.convert import to_networkx

        return to_networkx(self)

    def hasse_graph(self) -> Any:
        """Return the Hasse diagram as PyG ``Data``: a node for each cell, vertices first.

        Its edges lead from faces to cells, ``edge_type`` 2(k - 1) for k-cells, and back, 2k - 1;
        ``sign`` holds relative orientations, ``dim`` the dimension of each node, and ``x`` the
        features, if all cells have features of one width.

        Example:
            >>> data = SimplicialComplex.from_simplices([[0, 1, 2]]).hasse_graph()
            >>> data.num_nodes, data.edge_index[:, :2].tolist(), data.edge_type.bincount().tolist()
            (7, [[1, 0], [3, 3]], [6, 6, 3, 3])
        """
        from mpsn.convert import to_hasse

        return to_hasse(self)

    # Operators -----------------------------------------------------------------------------

    boundary_matrix = _operators.boundary_matrix
    hodge_laplacian = _operators.hodge_laplacian
    adjacency = _operators.adjacency
    flip = _symmetries.flip
    permute = _symmetries.permute
    betti_numbers = _homology.betti_numbers
    harmonic_basis = _homology.harmonic_basis
    hodge_decomposition = _homology.hodge_decomposition

    def euler_number(self) -> int:
        """Return the Euler number, the alternating sum of the counts."""
        return sum((-1) ** k * n for k, n in enumerate(self._counts))

    # Comparing and showing -----------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Return whether structure, features, labels, orientation and vertex names all agree."""
        if not isinstance(other, Complex) or type(self) is not type(other):
            return NotImplemented
        plain, theirs = (self._counts, self._labels), (other._counts, other._labels)
        if plain != theirs or self.device != other.device:
            return False
        return self._incidences == other._incidences and all(
            a is b or (a is not None and b is not None and a.dtype == b.dtype and torch.equal(a, b))
            for a, b in zip(self._tensors(), other._tensors(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle, for ``torch.save`` such that ``torch.load`` checks it."""
        if protocol != SAVED:
            return super().__reduce_ex__(protocol)
        return restored, (type(self).__name__, _saving.to_parts(self), self._labels)

    def _tensors(self) -> list[Tensor | None]:
        return [*self._ptr, *self.x[: len(self._counts)], self._y, self._y_ptr]

    def __getitem__(self, key: object) -> Any:
        raise TypeError(
            f"Expected an attribute or a method of {self}, got an index {key!r:.40}; take a union "
            f"apart with to_list(), and make batches with mpsn.DataLoader."
        )

    __iter__ = None

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
        return f"{type(self).__name__}({', '.join(parts)})"

    def __init_subclass__(cls) -> None:
        _saving.KINDS[cls.__name__] = cls
        register(cls, FIELDS, ("_counts", "_labels"))
