"""The one relation everything is read off: which cells bound which, and with what sign."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from mpsn.complexes import _plain
from mpsn.complexes._checks import check_incidence
from mpsn.complexes._pytree import register
from mpsn.complexes._sparse import LeaveOneOut, SparseRows, coo, grouped, is_traced, repeat, rows
from mpsn.errors import ComplexError

Reduce = Literal["sum", "mean"]


class Cofaces(NamedTuple):
    """The transpose of an incidence.

    Attributes:
        order: Entries grouped by the face they name, ascending within a group, (nnz,) int64.
        ptr: Offsets of the groups in it, (count + 1,).
    """

    order: Tensor
    ptr: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Incidence:
    r"""The faces of the k-cells of a complex: :math:`B_k`, by columns.

    A small immutable value. What is derived from it (co-faces, lists of neighbors) is found once
    and kept on it. Cells of one ``width`` are the fast case: k+1 faces for simplices, 2k for cubes;
    where the number of faces varies, ``ptr`` says where the faces of each cell start. An *entry* is
    a pair of a cell and one of its faces, and there are nnz of them, cell after cell.

    The methods take features (n, ..., F) and cost linear time. They can be differentiated any
    number of times, forward and backward, and compiled with ``fullgraph=True``.

    Args:
        face: The faces of every cell, cell after cell, (nnz,) int64.
        count: Number :math:`n_{k-1}` of cells below.
        width: Number of faces of every cell, where all have the same; else give ``ptr``.
        ptr: Offsets (n_k + 1,) of the cells in ``face``, where the number of faces varies.
        sign: Relative orientations ±1, (nnz,) int8. Defaults to :math:`(-1)^i` for face number i
            of a cell, which is right for simplices with ascending vertices.

    Example:
        >>> triangles = mpsn.complexes.Incidence(torch.tensor([2, 1, 0]), count=3, width=3)
        >>> triangles
        Incidence(cells=1, count=3, width=3)
        >>> triangles.matrix(signed=True).to_dense().T
        tensor([[ 1., -1.,  1.]])
        >>> triangles.upper(torch.tensor([[1.0], [2.0], [4.0]])).T
        tensor([[6., 5., 3.]])
    """

    face: Tensor
    count: int
    width: int | None = None
    ptr: Tensor | None = None
    sign: Tensor | None = None
    _kept: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_incidence(self)

    @classmethod
    def _trusted(
        cls,
        face: Tensor,
        count: int,
        width: int | None = None,
        ptr: Tensor | None = None,
        sign: Tensor | None = None,
    ) -> "Incidence":
        """Build from parts that are known to fit: nothing is read."""
        out, d = (made := object.__new__(cls)), made.__dict__
        d["face"], d["count"], d["width"], d["ptr"], d["sign"] = face, count, width, ptr, sign
        d["_kept"] = {}
        return out

    def apply(self, func: Callable[[Tensor], Tensor]) -> "Incidence":
        """Apply a function such as a move to a device to every tensor."""
        parts = [self.face, self.ptr, self.sign]
        new = [None if part is None else func(part) for part in parts]
        if all(a is b for a, b in zip(parts, new, strict=True)):
            return self  # with all that is kept
        assert new[0] is not None
        return Incidence._trusted(new[0], self.count, self.width, *new[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what is kept."""
        return Incidence._trusted, (self.face, self.count, self.width, self.ptr, self.sign)

    def with_sign(self, sign: Tensor | None) -> "Incidence":
        """Return the same incidence with other signs; what does not depend on them is kept."""
        out = Incidence._trusted(self.face, self.count, self.width, self.ptr, sign)
        out._kept.update({key: value for key, value in self._kept.items() if key[-1] is False})
        return out

    # What it is made of ----------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number n_k of cells."""
        if self.ptr is not None:
            return self.ptr.shape[0] - 1
        return self.face.shape[0] // self.width if self.width else 0

    @property
    def table(self) -> Tensor:
        """The faces as a table (n_k, width)."""
        if self.width is None:
            raise ComplexError(
                f"Expected cells with one number of faces for a table, got {self}; read face and "
                f"ptr instead."
            )
        return self.face.view(-1, self.width)

    @property
    def signs(self) -> Tensor:
        """The sign of every entry, (nnz,) int8, spelled out where ``sign`` is None."""
        if self.sign is not None:
            return self.sign
        width = self.width or 1
        parity = 1 - 2 * (torch.arange(width, device=self.face.device) % 2)
        return parity.to(torch.int8).repeat(len(self.face) // width)

    @property
    def offsets(self) -> Tensor:
        """Where the entries of each cell start, and the end, (n_k + 1,)."""
        if self.ptr is not None:
            return self.ptr
        return torch.arange(len(self) + 1, device=self.face.device) * (self.width or 0)

    @property
    def cell(self) -> Tensor:
        """The cell of every entry, (nnz,) int64."""
        if self.ptr is not None:
            return repeat(self.ptr, len(self.face))
        return torch.arange(len(self.face), device=self.face.device) // (self.width or 1)

    @property
    def cofaces(self) -> Cofaces:
        """The entries by face: the transpose."""
        return self._keep(("cofaces", False), lambda: Cofaces(*grouped(self.face, self.count)))  # type: ignore[no-any-return]

    @property
    def degree(self) -> Tensor:
        """Number of co-faces of every cell below, (count,) int64."""
        if is_traced(self.face):
            zeros = self.face.new_zeros(self.count)
            return zeros.index_add(0, self.face, torch.ones_like(self.face))
        return self.cofaces.ptr.diff()

    def __eq__(self, other: object) -> bool:
        """Return whether both relate the same cells, with the same signs."""
        if not isinstance(other, Incidence):
            return NotImplemented
        return (
            (self.count, self.width, len(self)) == (other.count, other.width, len(other))
            and torch.equal(self.face, other.face)
            and torch.equal(self.offsets, other.offsets)
            and (self.sign is other.sign or torch.equal(self.signs, other.signs))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        how = f"width={self.width}" if self.ptr is None else f"entries={len(self.face)}"
        return f"Incidence(cells={len(self)}, count={self.count}, {how})"

    # Sums ------------------------------------------------------------------------------------

    def boundary(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Give every cell the sum or mean over its faces: :math:`m_B`, or :math:`B_k^\top h`.

        Args:
            h: Features of the cells below, (n_{k-1}, ..., F).
            signed: Whether to multiply with relative orientations.
            reduce: ``"sum"`` or ``"mean"``.

        Returns:
            (n_k, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
            >>> K.incidence(2).boundary(torch.tensor([[1.0], [2.0], [4.0]]))
            tensor([[7.]])
        """
        self._check(h, self.count, "below", reduce)
        out = _plain.boundary(self, h, signed) if _is_plain(h) else self._faces(signed) @ h
        return out if reduce == "sum" else _mean(out, self.offsets.diff())

    def coboundary(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Give every cell below the sum or mean over its co-faces: :math:`m_C`, or :math:`B_k h`.

        Args:
            h: Features of the cells, (n_k, ..., F).
            signed: Whether to multiply with relative orientations.
            reduce: ``"sum"`` or ``"mean"``; the mean over no co-face is zero.

        Returns:
            (n_{k-1}, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
            >>> K.incidence(1).coboundary(torch.tensor([[1.0], [2.0]])).T
            tensor([[3., 1., 2.]])
        """
        self._check(h, len(self), "above", reduce)
        out = _plain.coboundary(self, h, signed) if _is_plain(h) else self._faces(signed).T @ h
        return out if reduce == "sum" else _mean(out, self.degree)

    def upper(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Give every cell below the sum or mean over its upper neighbors, :math:`m_\uparrow`.

        .. math:: \sum_{\delta \succ \sigma} \sum_{\tau \prec \delta, \tau \neq \sigma}
            o_{\sigma\delta} o_{\tau\delta} h_\tau
            = \bigl(B_k B_k^\top h - \operatorname{diag}(B_k B_k^\top)\, h\bigr)_\sigma

        The other faces are added up themselves; nothing is taken off a total, so rounding is that
        of a plain sum.

        Args:
            h: Features of the cells below, (n_{k-1}, ..., F).
            signed: Whether to multiply with relative orientations.
            reduce: ``"sum"`` or ``"mean"``; the mean over no neighbor is zero.

        Returns:
            (n_{k-1}, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
            >>> K.incidence(1).upper(torch.tensor([[1.0], [2.0], [4.0]])).T
            tensor([[6., 1., 1.]])
        """
        self._check(h, self.count, "below", reduce)
        if _is_plain(h):
            out = _plain.upper(self, h, signed)
        else:
            out = self._keep(("upper", signed), lambda: self._others_above(signed)) @ h
        return self._mean_upper(out, reduce)

    def lower(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Give every cell the sum or mean over its lower neighbors, :math:`m_\downarrow`.

        .. math:: \sum_{\delta \prec \sigma} \sum_{\tau \succ \delta, \tau \neq \sigma}
            o_{\sigma\delta} o_{\tau\delta} h_\tau
            = \bigl(B_k^\top B_k h - \operatorname{diag}(B_k^\top B_k)\, h\bigr)_\sigma

        Linear in the number of cells, where there can be quadratically many pairs. Rounding is that
        of a plain sum over the neighbors; compiled, single precision is added up in double.

        Args:
            h: Features of the cells, (n_k, ..., F).
            signed: Whether to multiply with relative orientations.
            reduce: ``"sum"`` or ``"mean"``; the mean over no neighbor is zero.

        Returns:
            (n_k, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2], [3, 4]])
            >>> h = torch.tensor([[1.0], [2.0], [4.0]])
            >>> K.incidence(1).lower(h, reduce="mean").T  # the last edge is alone
            tensor([[2., 1., 0.]])
        """
        self._check(h, len(self), "above", reduce)
        if _is_plain(h):
            out = _plain.lower(self, h, signed)
        else:
            out = self._keep(("lower", signed), lambda: self._others_below(signed)) @ h
        return self._mean_lower(out, reduce)

    # Messages, one per entry -------------------------------------------------------------------

    def gather(self, h: Tensor, *, signed: bool = False) -> Tensor:
        """Read the features of the faces, one row per entry.

        Args:
            h: Features of the cells below, (n_{k-1}, ..., F).
            signed: Whether to multiply with relative orientations.

        Returns:
            (nnz, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1]])
            >>> K.incidence(1).gather(torch.tensor([[10.0], [20.0]])).T
            tensor([[20., 10.]])
        """
        self._check(h, self.count, "below")
        if _is_plain(h):
            return _plain.flat(self, _plain.gather(self, h, signed))
        return self._keep(("gather", signed), lambda: self._rows(signed, each=True)) @ h  # type: ignore

    def spread(self, h: Tensor) -> Tensor:
        """Read the features of the cells, one row per entry: (n_k, ..., F) to (nnz, ..., F)."""
        self._check(h, len(self), "above")
        if self.width is not None:
            return h.unsqueeze(1).expand(-1, self.width, *h.shape[1:]).flatten(0, 1)
        if _is_plain(h):
            return _plain.flat(self, _plain.spread(self, h))
        found = self._keep(
            ("spread", False),
            lambda: SparseRows(self.cell, None, len(self), None, self._entries),
        )
        return found @ h  # type: ignore[no-any-return]

    def upper_messages(self, m: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Sum messages :math:`\varphi(h_\tau, h_\delta)` over the upper neighbors τ of σ.

        The message of a face τ to a co-face δ is computed once; each face of δ then receives what
        the *other* faces sent.

        Args:
            m: The message of each entry (δ, τ), (nnz, ..., F); see :meth:`gather` and
                :meth:`spread`.
            signed: Whether to multiply with :math:`o_{\sigma\delta} o_{\tau\delta}`.
            reduce: ``"sum"`` or ``"mean"``; the mean over no neighbor is zero.

        Returns:
            (n_{k-1}, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
            >>> B, vertex = K.incidence(1), torch.tensor([[1.0], [2.0], [4.0]])
            >>> m = B.gather(vertex) + B.spread(torch.tensor([[10.0], [20.0]]))
            >>> B.upper_messages(m).T
            tensor([[36., 11., 21.]])
        """
        self._check(m, len(self.face), "entries", reduce)
        if _is_plain(m):
            out = _plain.upper_messages(self, m, signed)
        else:
            out = self._keep(("m", signed), lambda: self._others_above(signed, True)) @ m
        return self._mean_upper(out, reduce)

    def lower_messages(self, m: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Sum messages :math:`\varphi(h_\tau, h_\delta)` over the lower neighbors τ of σ.

        The message of a cell τ to its face δ is computed once; each cell then receives, from each
        of its faces, what the *other* cells sent there.

        Args:
            m: The message of each entry (τ, δ), (nnz, ..., F); see :meth:`gather` and
                :meth:`spread`.
            signed: Whether to multiply with :math:`o_{\sigma\delta} o_{\tau\delta}`.
            reduce: ``"sum"`` or ``"mean"``; the mean over no neighbor is zero.

        Returns:
            (n_k, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
            >>> B, edge = K.incidence(1), torch.tensor([[1.0], [2.0]])
            >>> m = B.spread(edge) + B.gather(torch.tensor([[0.0], [10.0], [0.0]]))
            >>> B.lower_messages(m).T
            tensor([[12., 11.]])
        """
        self._check(m, len(self.face), "entries", reduce)
        if _is_plain(m):
            out = _plain.lower_messages(self, m, signed)
        else:
            out = self._keep(("w", signed), lambda: self._others_below(signed, True)) @ m
        return self._mean_lower(out, reduce)

    def matrix(self, signed: bool = True, dtype: torch.dtype | None = None) -> Tensor:
        r"""Return :math:`B_k`, or :math:`|B_k|`, as a coalesced sparse COO tensor (n_{k-1}, n_k).

        Args:
            signed: Whether entries carry relative orientations ±1, or are all 1.
            dtype: Type of the entries. Defaults to torch's default type.
        """
        order = self.cofaces.order
        index = torch.stack([self.face[order], self.cell[order]])
        values = self.signs[order] if signed else torch.ones_like(order)
        values = values.to(dtype or torch.get_default_dtype())
        return coo(index, values, (self.count, len(self)))

    @property
    def sorted_entries(self) -> Tensor:
        """The entries by cell and, within a cell, by ascending face, (nnz,) int64."""

        def find() -> Tensor:
            order = self.cofaces.order
            return order[grouped(self.cell[order], len(self))[0]]

        return self._keep(("sorted", False), find)  # type: ignore[no-any-return]

    # How they are computed ---------------------------------------------------------------------

    def _keep(self, key: tuple[str, bool], find: Callable[[], Any]) -> Any:
        if torch.compiler.is_compiling():
            return find()
        if key not in self._kept:
            with temporarily_clear_interpreter_stack():  # what is kept outlives any transform
                self._kept[key] = find()
        return self._kept[key]

    def _faces(self, signed: bool) -> SparseRows:
        return self._keep(("rows", signed), lambda: self._rows(signed))  # type: ignore[no-any-return]

    def _rows(self, signed: bool, each: bool = False) -> SparseRows:
        """Return the matrix that sums over faces, or reads each of them."""
        ptr, weight = None if each else self.offsets, self.signs if signed else None
        return SparseRows(self.face, ptr, self.count, weight, lambda: self.cofaces)

    def _entries(self) -> tuple[Tensor, Tensor]:
        return torch.arange(len(self.face), device=self.face.device), self.offsets

    def _others_above(self, signed: bool, messages: bool = False) -> LeaveOneOut:
        sign, entries, width = self.signs if signed else None, self._entries(), self.width
        if messages:
            parts = (entries, self.cofaces, entries[0], len(entries[0]), sign, width)
            return LeaveOneOut(*parts)
        return LeaveOneOut(entries, self.cofaces, self.face, self.count, sign, width).symmetric()

    def _others_below(self, signed: bool, messages: bool = False) -> LeaveOneOut:
        sign, entries = self.signs if signed else None, self._entries()
        if messages:
            return LeaveOneOut(self.cofaces, entries, entries[0], len(entries[0]), sign)
        return LeaveOneOut(self.cofaces, entries, self.cell, len(self), sign).symmetric()

    def _mean_upper(self, total: Tensor, reduce: Reduce) -> Tensor:
        if reduce == "sum":
            return total
        others = self.offsets.diff() - 1
        return _mean(total, _plain.coboundary(self, others, signed=False))

    def _mean_lower(self, total: Tensor, reduce: Reduce) -> Tensor:
        if reduce == "sum":
            return total
        return _mean(total, _plain.boundary(self, self.degree - 1, signed=False))

    def _check(self, h: Tensor, expected: int, where: str, reduce: str = "sum") -> None:
        if reduce not in ("sum", "mean"):
            raise ComplexError(
                f"Expected reduce 'sum' or 'mean', got {reduce!r}; MPSNConv takes other "
                f"aggregations."
            )
        if h.shape[0] != expected:
            what = {"below": "cells below", "above": "cells", "entries": "entries"}[where]
            raise ComplexError(
                f"Expected a row for each of the {expected} {what} of {self}, got {tuple(h.shape)}."
            )


def _is_plain(h: Tensor) -> bool:
    """Return whether only torch's own operations will do."""
    return is_traced(h) or not h.is_floating_point()


def _mean(total: Tensor, number: Tensor) -> Tensor:
    return total / rows(number.clamp(min=1), total)


register(Incidence, ("face", "ptr", "sign"), ("count", "width"), ("_kept",))
