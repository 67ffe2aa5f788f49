"""The incidence relation: which cells bound which, and with what sign."""

import warnings
from typing import Any, Literal, Self, SupportsIndex

import torch
from torch import Tensor

from mpsn._rows.checks import check_incidence
from mpsn._rows.rows import Rows
from mpsn._rows.sums import per_row
from mpsn._rows.value import SAVED
from mpsn.complexes._pytree import register
from mpsn.complexes._sums import (
    SIDES,
    Operator,
    incidence_sum,
    living,
    operator_of,
    remember,
    side_sizes,
    signs_of,
)
from mpsn.errors import ComplexError

Reduce = Literal["sum", "mean"]
Parts = tuple[Tensor, Tensor | None, Tensor | None, int, int]  # what the operator is called with


class Incidence(Rows):
    r"""The faces of the k-cells of a complex: :math:`B_k`, by columns.

    An immutable value. Derived data (co-faces, lists of neighbors) is computed once and kept on
    it. Cells with a fixed number of faces, ``width``, are the fast case: k+1 for simplices, 2k for
    cubes. If the number varies, ``ptr`` holds the offsets of each cell's faces. An *entry* is a
    pair of a cell and one of its faces; there are nnz of them, cell after cell.

    The methods take features (n, ..., F) and cost linear time. They can be differentiated any
    number of times, forward and backward, and compiled with ``fullgraph=True``.

    Args:
        face: The faces of every cell, cell after cell, (nnz,) int64.
        count: Number :math:`n_{k-1}` of cells below.
        width: Number of faces of every cell, if it is the same for all; otherwise pass ``ptr``.
        ptr: Offsets (n_k + 1,) of the cells in ``face``, if the number of faces varies.
        sign: Relative orientations ±1, (nnz,) int8. Defaults to :math:`(-1)^i` for the i-th face
            of a cell, which is correct for simplices with ascending vertices.

    Example:
        >>> triangles = mpsn.complexes.Incidence(torch.tensor([2, 1, 0]), count=3, width=3)
        >>> triangles
        Incidence(cells=1, count=3, width=3)
        >>> triangles.upper(torch.tensor([[1.0], [2.0], [4.0]])).T
        tensor([[6., 5., 3.]])
    """

    sign: Tensor | None

    def __init__(
        self,
        face: Tensor,
        count: int,
        width: int | None = None,
        ptr: Tensor | None = None,
        sign: Tensor | None = None,
    ) -> None:
        super().__init__(face, count, width, ptr)
        self.__dict__["sign"] = sign
        check_incidence(self)
        remember(self, sign)

    @classmethod
    def unchecked(
        cls,
        face: Tensor,
        count: int,
        width: int | None = None,
        ptr: Tensor | None = None,
        sign: Tensor | None = None,
    ) -> "Incidence":
        """Build from valid parts, without checks."""
        out = object.__new__(cls)
        Rows.__init__(out, face, count, width, ptr)
        out.__dict__["sign"] = sign
        remember(out, sign)
        return out

    def _entries(self) -> dict[str, Tensor | None]:
        return {"item": self.item, "sign": self.sign}

    def _with(self, **changes: Any) -> Self:
        out = super()._with(**changes)
        remember(out, out.sign)
        return out

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickle without what is kept, for ``torch.save`` such that ``torch.load`` checks it."""
        make = restored if protocol == SAVED else Incidence.unchecked
        return make, (self.face, self.count, self.width, self.ptr, self.sign)

    def ragged(self) -> "Incidence":
        """Return the same incidence with offsets and signs, as of cells of any number of faces."""
        if self.ptr is not None:
            return self
        return Incidence.unchecked(self.face, self.count, None, self.offsets, self.signs)

    def with_sign(self, sign: Tensor | None) -> "Incidence":
        """Return the same incidence with other signs; what does not depend on signs is kept."""
        out = self._with(sign=sign)
        kept = {key: value for key, value in self._kept.items() if key[-1] is not True}
        out._kept.update(kept)
        return out

    @property
    def face(self) -> Tensor:
        """The faces of every cell, cell after cell, (nnz,) int64."""
        return self.item

    @property
    def cell(self) -> Tensor:
        """The cell of every entry, (nnz,) int64."""
        return self.row

    @property
    def table(self) -> Tensor:
        """The faces as a table (n_k, width)."""
        if self.width is None:
            raise ComplexError(
                f"Expected cells with one number of faces for a table, got {self}; use face and "
                f"ptr instead."
            )
        return self.face.view(-1, self.width)

    @property
    def signs(self) -> Tensor:
        """The sign of every entry, (nnz,) int8, also if ``sign`` is None."""
        return signs_of(self, self.sign)

    @property
    def degree(self) -> Tensor:
        """Number of co-faces of every cell below, (count,) int64."""
        if torch.compiler.is_compiling():
            return self.from_cofaces(self.face.new_ones(len(self)))
        return self.positions.sizes

    def __eq__(self, other: object) -> bool:
        """Return whether both relate the same cells, with the same signs."""
        if not isinstance(other, Incidence):
            return NotImplemented
        signs = self.sign is other.sign or torch.equal(self.signs, other.signs)
        return self.width == other.width and signs and super().__eq__(other)

    __hash__ = None

    def __repr__(self) -> str:
        how = f"width={self.width}" if self.ptr is None else f"entries={len(self.face)}"
        return f"Incidence(cells={len(self)}, count={self.count}, {how})"

    def matrix(self, signed: bool = True, dtype: torch.dtype | None = None) -> Tensor:
        r"""Return :math:`B_k`, or :math:`|B_k|`, as a coalesced sparse COO tensor (n_{k-1}, n_k).

        Args:
            signed: Whether entries are relative orientations ±1 instead of 1. Defaults to True.
            dtype: Type of the entries. Defaults to torch's default type.
        """
        order = self.positions.item
        index = torch.stack([self.face[order], self.cell[order]])
        values = self.signs[order] if signed else torch.ones_like(order)
        values = values.to(dtype or torch.get_default_dtype())
        return coo(index, values, (self.count, len(self)))

    def from_faces(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Return the sum or mean over the faces of every cell, :math:`m_B` or :math:`B_k^\top h`.

        Args:
            h: Features of the cells below, (n_{k-1}, ..., F).
            signed: Whether to multiply by relative orientations. Defaults to False.
            reduce: ``"sum"`` or ``"mean"``. Defaults to ``"sum"``.

        Returns:
            (n_k, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1, 2]])
            >>> K.incidence(2).from_faces(torch.tensor([[1.0], [2.0], [4.0]]))
            tensor([[7.]])
        """
        return self._sum("from_faces", h, signed, reduce)

    def from_cofaces(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Return the sum or mean over co-faces of the cells below, :math:`m_C` or :math:`B_k h`.

        From (n_k, ..., F) to (n_{k-1}, ..., F). The mean over no co-faces is zero.

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
            >>> K.incidence(1).from_cofaces(torch.tensor([[1.0], [2.0]])).T
            tensor([[3., 1., 2.]])
        """
        return self._sum("from_cofaces", h, signed, reduce)

    def upper(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Return the sum or mean over the upper neighbors of every cell below, :math:`m_\uparrow`.

        .. math:: \sum_{\delta \succ \sigma} \sum_{\tau \prec \delta, \tau \neq \sigma}
            o_{\sigma\delta} o_{\tau\delta} h_\tau
            = \bigl(B_k B_k^\top h - \operatorname{diag}(B_k B_k^\top)\, h\bigr)_\sigma

        From (n_{k-1}, ..., F) to the same shape. Only the other faces are summed, nothing is
        subtracted, so rounding is that of a plain sum.

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
            >>> K.incidence(1).upper(torch.tensor([[1.0], [2.0], [4.0]])).T
            tensor([[6., 1., 1.]])
        """
        return self._sum("upper", h, signed, reduce)

    def lower(self, h: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Return the sum or mean over the lower neighbors of every cell, :math:`m_\downarrow`.

        .. math:: \sum_{\delta \prec \sigma} \sum_{\tau \succ \delta, \tau \neq \sigma}
            o_{\sigma\delta} o_{\tau\delta} h_\tau
            = \bigl(B_k^\top B_k h - \operatorname{diag}(B_k^\top B_k)\, h\bigr)_\sigma

        From (n_k, ..., F) to the same shape, in linear time, even with quadratically many pairs.
        Nothing is subtracted, so rounding is that of a plain sum.

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2], [3, 4]])
            >>> h = torch.tensor([[1.0], [2.0], [4.0]])
            >>> K.incidence(1).lower(h, reduce="mean").T  # the last edge has no neighbors
            tensor([[2., 1., 0.]])
        """
        return self._sum("lower", h, signed, reduce)

    def gather(self, h: Tensor, *, signed: bool = False) -> Tensor:
        """Return the features of the faces, one row per entry: (n_{k-1}, ..., F) to (nnz, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1]])
            >>> K.incidence(1).gather(torch.tensor([[10.0], [20.0]])).T
            tensor([[20., 10.]])
        """
        return self._sum("gather", h, signed)

    def spread(self, h: Tensor) -> Tensor:
        """Return the features of the cells, one row per entry: (n_k, ..., F) to (nnz, ..., F)."""
        if self.width is None:
            return self._sum("spread", h, False)
        self._check("spread", h, len(self))
        return h.unsqueeze(1).expand(-1, self.width, *h.shape[1:]).flatten(0, 1)

    def upper_messages(self, m: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Sum messages :math:`\varphi(h_\tau, h_\delta)` over the upper neighbors τ of σ.

        The message of a face τ to a co-face δ is computed once; each face of δ then receives what
        the *other* faces sent, times :math:`o_{\sigma\delta} o_{\tau\delta}` if signed.

        Args:
            m: The message of each entry (δ, τ), (nnz, ..., F); see :meth:`gather` and
                :meth:`spread`.
            signed: Whether to multiply by relative orientations. Defaults to False.
            reduce: ``"sum"`` or ``"mean"``; the mean over no neighbors is zero. Defaults to
                ``"sum"``.

        Returns:
            (n_{k-1}, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
            >>> B, vertex = K.incidence(1), torch.tensor([[1.0], [2.0], [4.0]])
            >>> m = B.gather(vertex) + B.spread(torch.tensor([[10.0], [20.0]]))
            >>> B.upper_messages(m).T
            tensor([[36., 11., 21.]])
        """
        return self._sum("upper_messages", m, signed, reduce)

    def lower_messages(self, m: Tensor, *, signed: bool = False, reduce: Reduce = "sum") -> Tensor:
        r"""Sum messages :math:`\varphi(h_\tau, h_\delta)` over the lower neighbors τ of σ.

        The message of a cell τ to its face δ is computed once; each cell then receives, from each
        of its faces, what the *other* cells sent there. From (nnz, ..., F) to (n_k, ..., F).

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
            >>> B, edge = K.incidence(1), torch.tensor([[1.0], [2.0]])
            >>> m = B.spread(edge) + B.gather(torch.tensor([[0.0], [10.0], [0.0]]))
            >>> B.lower_messages(m).T
            tensor([[12., 11.]])
        """
        return self._sum("lower_messages", m, signed, reduce)

    def to_faces(self, m: Tensor, *, signed: bool = False) -> Tensor:
        """Return the sum over the entries of every cell below, from (nnz, ..., F).

        The transpose of :meth:`gather`.

        Example:
            >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
            >>> K.incidence(1).to_faces(torch.ones(4, 1)).T
            tensor([[2., 1., 1.]])
        """
        return self._sum("to_faces", m, signed)

    def to_cells(self, m: Tensor) -> Tensor:
        """Return the sum over the entries of every cell, from (nnz, ..., F).

        The transpose of :meth:`spread`.
        """
        return self._sum("to_cells", m, False)

    def sum_others(self, m: Tensor, within: Literal["cells", "faces"]) -> Tensor:
        """Return for every entry the sum over the other entries of its cell, or of its face.

        From (nnz, ..., F) to the same shape, in linear time; nothing is subtracted.

        Example:
            >>> B = mpsn.complexes.Incidence(torch.tensor([2, 1, 0]), count=3, width=3)
            >>> B.sum_others(torch.tensor([[1.0], [2.0], [4.0]]), "cells").T
            tensor([[6., 5., 3.]])
        """
        return self._sum("cell_others" if within == "cells" else "face_others", m, False)

    def _sum(self, name: str, h: Tensor, signed: bool, reduce: Reduce = "sum") -> Tensor:
        if torch.compiler.is_compiling():
            self._check(name, h, side_sizes(self)[SIDES[name][1]])
            out: Tensor = incidence_sum(h, *self.parts(), name, signed, False)
        else:
            operator = self._kept.get((name, signed)) or self.operator(name, signed)
            if h.shape[0] != operator.columns:
                self._check(name, h, operator.columns)
            out = operator @ h
        return out if reduce == "sum" else out / per_row(self._divisor(name, reduce), out)

    def _check(self, name: str, h: Tensor, expected: int) -> None:
        if h.shape[0] != expected:
            raise ComplexError(
                f"Expected a row for each of the {expected} {SIDES[name][1]} of {self}, got "
                f"{tuple(h.shape)}."
            )

    def _divisor(self, name: str, reduce: str) -> Tensor:
        """Return what a mean divides by: the number of senders of each receiver, or 1."""
        if reduce != "mean":
            raise ComplexError(
                f"Expected reduce 'sum' or 'mean', got {reduce!r}; use MPSNConv for others."
            )
        if name == "from_cofaces":
            number = self.degree
        elif name == "from_faces":
            number = self.sizes
        elif name.startswith("upper"):
            number = self.from_cofaces(self.sizes - 1)
        else:
            number = self.from_faces(self.degree - 1)
        return number.clamp(min=1)

    def operator(self, name: str, signed: bool) -> Operator:
        """Return the sparse matrix that computes a sum, named after its method; it is kept."""
        return operator_of(self, self.sign, name, signed)

    def parts(self) -> Parts:
        """Return what :meth:`of_parts` finds the incidence by, as arguments of an operator."""
        return self.face, self.ptr, self.sign, self.count, self.width or 0

    @staticmethod
    def of_parts(
        face: Tensor, ptr: Tensor | None, sign: Tensor | None, count: int, width: int
    ) -> "Incidence":
        """Return the incidence that has these parts: a living one, with what it keeps, if any."""
        B = living(face, ptr, sign, count, width)
        if isinstance(B, Incidence):
            return B
        return Incidence.unchecked(face, count, width or None, ptr, sign)


def restored(
    face: Tensor, count: int, width: int | None, ptr: Tensor | None, sign: Tensor | None
) -> Incidence:
    """Return an incidence from a file of ``torch.save``: ``torch.load`` may call this on any."""
    return Incidence(face, count, width, ptr, sign)


def coo(index: Tensor, values: Tensor, shape: tuple[int, ...], coalesced: bool = True) -> Tensor:
    """Return a sparse COO matrix; entries that are sorted, each once, are coalesced."""
    with warnings.catch_warnings():  # torch 2.11 warns even if check_invariants is given
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        return torch.sparse_coo_tensor(
            index, values, shape, check_invariants=False, is_coalesced=coalesced
        )


torch.serialization.add_safe_globals([restored])
register(Incidence, ("item", "ptr", "sign"), ("count", "width"), ("_kept",))
