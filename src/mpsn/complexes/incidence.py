"""The incidence relation: which cells bound which, and with what sign."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from mpsn._rows.checks import check_incidence
from mpsn._rows.sparse import LeaveOneOut, SparseRows, grouped, is_traced, repeat, rows, wide
from mpsn.complexes import _plain
from mpsn.complexes._matrices import coo, matrix_of, senders
from mpsn.complexes._pytree import register
from mpsn.errors import ComplexError

Reduce = Literal["sum", "mean"]


class Cofaces(NamedTuple):
    """The transpose of an incidence: entries sorted by face, and offsets (count + 1,)."""

    order: Tensor
    ptr: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Incidence:
    r"""The faces of the k-cells of a complex: :math:`B_k`, by columns.

    An immutable value. Derived data (co-faces, lists of neighbors) is computed once and cached on
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

    face: Tensor
    count: int
    width: int | None = None
    ptr: Tensor | None = None
    sign: Tensor | None = None
    _kept: dict[Any, Any] = field(default_factory=dict, init=False)

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
        """Build from valid parts, without checks."""
        out = object.__new__(cls)
        d = out.__dict__
        d["face"], d["count"], d["width"], d["ptr"], d["sign"] = face, count, width, ptr, sign
        d["_kept"] = {}
        return out

    def apply(self, func: Callable[[Tensor], Tensor]) -> "Incidence":
        """Return a copy with ``func``, such as a move to a device, applied to every tensor."""
        parts = [self.face, self.ptr, self.sign]
        new = [None if part is None else func(part) for part in parts]
        if all(a is b for a, b in zip(parts, new, strict=True)):
            return self  # with its caches
        assert new[0] is not None
        return Incidence._trusted(new[0], self.count, self.width, *new[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the caches."""
        return Incidence._trusted, (self.face, self.count, self.width, self.ptr, self.sign)

    def with_sign(self, sign: Tensor | None) -> "Incidence":
        """Return the same incidence with other signs; caches independent of signs are kept."""
        out = Incidence._trusted(self.face, self.count, self.width, self.ptr, sign)
        out._kept.update({key: value for key, value in self._kept.items() if key[-1] is False})
        return out

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
                f"Expected cells with one number of faces for a table, got {self}; use face and "
                f"ptr instead."
            )
        return self.face.view(-1, self.width)

    @property
    def signs(self) -> Tensor:
        """The sign of every entry, (nnz,) int8, also if ``sign`` is None."""
        if self.sign is not None:
            return self.sign
        width = self.width or 1
        parity = 1 - 2 * (torch.arange(width, device=self.face.device) % 2)
        return parity.to(torch.int8).repeat(len(self.face) // width)

    @property
    def offsets(self) -> Tensor:
        """Offsets of the entries of each cell, (n_k + 1,) int64."""
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
        """The transpose, as entries sorted by face."""
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

    def matrix(self, signed: bool = True, dtype: torch.dtype | None = None) -> Tensor:
        r"""Return :math:`B_k`, or :math:`|B_k|`, as a coalesced sparse COO tensor (n_{k-1}, n_k).

        Args:
            signed: Whether entries are relative orientations ±1 instead of 1. Defaults to True.
            dtype: Type of the entries. Defaults to torch's default type.
        """
        order = self.cofaces.order
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
        Rounding is that of a plain sum; compiled code accumulates single precision in double.

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
        self._check("gather", h)
        if _is_plain(h):
            return _plain.flat(self, _plain.gather(self, wide(h), signed)).to(h.dtype)
        return self._matrix("gather", signed) @ h

    def spread(self, h: Tensor) -> Tensor:
        """Return the features of the cells, one row per entry: (n_k, ..., F) to (nnz, ..., F)."""
        self._check("spread", h)
        if self.width is not None:
            return h.unsqueeze(1).expand(-1, self.width, *h.shape[1:]).flatten(0, 1)
        plain = _plain.spread(self, wide(h))[0].to(h.dtype) if _is_plain(h) else None
        return self._matrix("spread", False) @ h if plain is None else plain

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

    def _sum(self, name: str, h: Tensor, signed: bool, reduce: Reduce) -> Tensor:
        self._check(name, h, reduce)
        if _is_plain(h):
            out: Tensor = getattr(_plain, name)(self, wide(h), signed).to(h.dtype)
        else:
            out = self._matrix(name, signed) @ h
        return out if reduce == "sum" else out / rows(senders(self, name).clamp(min=1), out)

    def _keep(self, key: tuple[str, bool], find: Callable[[], Any]) -> Any:
        if torch.compiler.is_compiling():
            return find()
        if key not in self._kept:
            with temporarily_clear_interpreter_stack():  # the cache outlives any transform
                self._kept[key] = find()
        return self._kept[key]

    def _matrix(self, name: str, signed: bool) -> SparseRows | LeaveOneOut:
        return self._keep((name, signed), lambda: matrix_of(self, name, signed))  # type: ignore[no-any-return]

    def _check(self, name: str, h: Tensor, reduce: str = "sum") -> None:
        if reduce not in ("sum", "mean"):
            raise ComplexError(
                f"Expected reduce 'sum' or 'mean', got {reduce!r}; use MPSNConv for others."
            )
        if name.endswith("messages"):
            expected, what = len(self.face), "entries"
        elif name in ("from_faces", "upper", "gather"):
            expected, what = self.count, "cells below"
        else:
            expected, what = len(self), "cells"
        if h.shape[0] != expected:
            raise ComplexError(
                f"Expected a row for each of the {expected} {what} of {self}, got {tuple(h.shape)}."
            )


def _is_plain(h: Tensor) -> bool:
    """Return whether only torch's own operations can be used."""
    return is_traced(h) or not h.is_floating_point()


register(Incidence, ("face", "ptr", "sign"), ("count", "width"), ("_kept",))
