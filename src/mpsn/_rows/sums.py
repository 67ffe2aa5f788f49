"""Products of sparse 0/±1 matrices with features: all messages are summed here."""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad

from mpsn._rows import cpu
from mpsn._rows.rows import Rows, ends, ranges

LONG = 256  # longest sequential sum in single precision; longer rows are split
REDUCED = (torch.bfloat16, torch.float16)  # what is summed in single precision
CHUNK = 8  # largest group whose entries are listed; longer groups are summed as a tree


def wide(h: Tensor) -> Tensor:
    """Return ``h`` in a type in which it may be summed: half precision becomes single."""
    return h.float() if h.dtype in REDUCED else h


def per_row(weight: Tensor, h: Tensor) -> Tensor:
    """Reshape one weight per row, (n,), to multiply ``h``, (n, ..., F)."""
    return weight.to(h.dtype).view(-1, *(1,) * (h.dim() - 1))


class Matrix:
    """A constant sparse matrix (n, m) by rows; ``A @ h`` multiplies it with features (m, ...).

    The product is differentiable any number of times, forward and backward, and works under the
    transforms of ``torch.func``.

    Args:
        rows: The columns of the entries of every row; ``rows.count`` is the number m of columns.
        weight: The entries, (nnz,). Defaults to ones.
        positions: Returns the entries by column. Defaults to ``rows.positions``.

    Example:
        >>> from mpsn._rows.rows import Rows
        >>> from mpsn._rows.sums import Matrix
        >>> rows = Rows(torch.tensor([2, 0, 1]), 3, ptr=torch.tensor([0, 1, 3]))
        >>> A = Matrix(rows)  # [0 0 1], [1 1 0]
        >>> (A @ torch.tensor([[1.0], [10.0], [100.0]])).T
        tensor([[100.,  11.]])
    """

    __slots__ = ("_cuts", "_positions", "_transpose", "columns", "ptr", "rows", "weight")

    def __init__(
        self,
        rows: Rows,
        weight: Tensor | None = None,
        positions: Callable[[], Rows] | None = None,
    ) -> None:
        self.rows, self.weight, self.columns = rows, weight, rows.count
        self.ptr = None if rows.width == 1 else rows.offsets
        self._positions = positions or (lambda: rows.positions)
        self._transpose: Matrix | None = None
        self._cuts: tuple[Rows, Rows] | bool = True  # not looked for; False if there are none

    @classmethod
    def of(
        cls, row: Tensor, column: Tensor, weight: Tensor | None, shape: tuple[int, int]
    ) -> "Matrix":
        """Build from entries in any order."""
        by_row = Rows(row, shape[0]).positions
        order = by_row.item
        rows = Rows(column[order], shape[1], ptr=by_row.ptr)
        return cls(rows, None if weight is None else weight[order])

    @property
    def T(self) -> "Matrix":
        """The transpose, computed once."""
        if self._transpose is None:
            with temporarily_clear_interpreter_stack():  # what is kept outlives any transform
                by_column = self._positions()
                order = by_column.item
                row = order if self.rows.width == 1 else self.rows.row[order]
                weight = None if self.weight is None else self.weight[order]
                rows = Rows(row, len(self.rows), by_column.width, by_column.ptr)
            self.pair(Matrix(rows, weight))
        assert self._transpose is not None
        return self._transpose

    def pair(self, transpose: "Matrix") -> "Matrix":
        """Set a known transpose; return the matrix."""
        self._transpose, transpose._transpose = transpose, self
        return self

    def __matmul__(self, h: Tensor) -> Tensor:
        recorded = (
            torch.compiler.is_compiling()
            or torch._C._get_tracing_state() is not None
            or torch._C._functorch.is_legacy_batchedtensor(h)
        )
        if recorded or not h.is_floating_point():
            out = self._added(h)
        elif torch._C._are_functorch_transforms_active():
            out = _Transformed.apply(h, self)  # type: ignore[no-untyped-call]
        elif (torch.is_grad_enabled() and h.requires_grad) or forward_ad._current_level >= 0:
            out = _Product.apply(h, self)  # type: ignore[no-untyped-call]
        else:
            out = self.times(h)
        return out

    def times(self, h: Tensor) -> Tensor:
        """Return the product, without gradients."""
        item, ptr, weight = self.rows.item, self.ptr, self.weight
        if ptr is None:
            out = h.index_select(0, item)
            return out if weight is None else out.mul_(per_row(weight, out))
        if self._cuts and (h.dtype in REDUCED or (h.is_cpu and h.dtype != torch.float64)):
            cuts = self.cuts()
            if cuts is not None:
                pieces, of_row = (part.offsets for part in cuts)
                sums = segment_sum(h, item, pieces, weight, wide(h[:0]).dtype)
                return segment_sum(sums, cuts[1].item, of_row, dtype=h.dtype)
        return segment_sum(h, item, ptr, weight)

    def _added(self, h: Tensor) -> Tensor:
        """Return the product by torch's own operators: of integers, or while it is recorded."""
        m = wide(h.index_select(0, self.rows.item))
        m = m if self.weight is None else m * per_row(self.weight, m)
        if self.ptr is not None:
            zeros = m.new_zeros(len(self.rows), *h.shape[1:])
            m = zeros.index_add(0, self.rows.row, m)
        return m.to(h.dtype)

    def cuts(self) -> tuple[Rows, Rows] | None:
        """Return rows of more than ``LONG`` entries in pieces, for less rounding; see Rows.cut.

        None are cut inside a CUDA graph, where sizes cannot be asked for.
        """
        if self._cuts is True:
            if self.rows.item.is_cuda and torch.cuda.is_current_stream_capturing():
                return None
            longest = self.rows.width or (int(self.rows.sizes.max()) if len(self.rows) else 0)
            self._cuts = self.rows.cut(LONG) if longest > LONG else False
        return self._cuts if isinstance(self._cuts, tuple) else None


class _Product(torch.autograd.Function):
    """A sparse matrix times features; the gradient is the transpose times the output's."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, A: Matrix) -> Tensor:
        ctx.A = A
        return A.times(h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.A.T @ grad, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _: None) -> Tensor:
        return ctx.A @ tangent  # type: ignore[no-any-return]


class _Transformed(torch.autograd.Function):
    """The same for the transforms of ``torch.func``, at a higher cost per call."""

    backward, jvp = _Product.backward, _Product.jvp

    @staticmethod
    def forward(h: Tensor, A: Matrix) -> Tensor:
        return A.times(h)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Matrix], output: Tensor) -> None:
        ctx.A = inputs[1]

    @staticmethod
    def vmap(info: Any, in_dims: Any, h: Tensor, A: Matrix) -> tuple[Tensor, int]:
        return A @ h.movedim(in_dims[0], 1), 1


def segment_sum(
    h: Tensor,
    index: Tensor,
    ptr: Tensor,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Return :math:`\sum_{j=p_i}^{p_{i+1}-1} w_j h_{a_j}` for every i, without gradients.

    a is ``index``, p is ``ptr`` (n + 1,), w is ``weight``; features ``h`` are (m, ...). Uses
    compiled code for doubles on the CPU, Triton on a GPU if available, else an embedding bag. Half
    precision is summed in single. The result has the type of ``h``, or ``dtype``.
    """
    dtype, shape = dtype or h.dtype, h.shape[1:]
    flat = h.reshape(h.shape[0], prod(shape))
    add_up = _LOOPS.get((h.device.type, h.dtype), _add_up)
    return add_up(flat, index, ptr, weight, dtype).to(dtype).view(ptr.shape[0] - 1, *shape)


def _add_up(
    h: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None, dtype: torch.dtype
) -> Tensor:
    each = None if weight is None else weight.to(h.dtype)
    return nnf.embedding_bag(
        index, h, ptr, mode="sum", per_sample_weights=each, include_last_offset=True
    )


def _add_widened(
    h: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None, dtype: torch.dtype
) -> Tensor:
    return _add_up(wide(h), index, ptr, weight, dtype)


def _add_doubles(
    h: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None, dtype: torch.dtype
) -> Tensor:
    out = h.new_empty(ptr.shape[0] - 1, h.shape[1])
    entries = h.new_empty(0) if weight is None else weight.to(h.dtype)
    cpu.segment_sum(*(t.detach().numpy() for t in (h, index, ptr, entries, out)))
    return out


def _add_on_gpu(
    h: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None, dtype: torch.dtype
) -> Tensor:
    from mpsn._rows import cuda  # which imports Triton

    out = cuda.segment_sum(h, index, ptr, weight, dtype)
    return _add_widened(h, index, ptr, weight, dtype) if out is None else out


_LOOPS: dict[tuple[str, torch.dtype], Callable[..., Tensor]] = {
    ("cpu", torch.float64): _add_doubles,
    **{("cpu", kind): _add_widened for kind in REDUCED},
    **{("cuda", kind): _add_on_gpu for kind in (torch.float64, torch.float32, *REDUCED)},
}


class LeaveOneOut:
    """Sums over the *other* entries of each entry's group, added up at receivers.

    Nothing is subtracted: groups of up to ``CHUNK`` entries, and groups of one size, list the other
    entries; a longer group is split into chunks, and the totals of the chunks are treated the same
    way. So the time is linear, also at hubs, rounding is that of a plain sum, and an infinite entry
    does not reach its own receiver.

    Args:
        groups: The entries of every group.
        receivers: The entries of every receiver.
        sender: Row that each entry sends, (nnz,).
        columns: Number of rows that can be sent.
        sign: Signs (nnz,), applied when an entry sends and when it receives; or None.
    """

    def __init__(
        self,
        groups: Rows,
        receivers: Rows,
        sender: Tensor,
        columns: int,
        sign: Tensor | None = None,
    ) -> None:
        order, entries, nnz = groups.item, receivers.item, groups.item.shape[0]
        self.columns = columns
        device, width = order.device, groups.width
        limit = width or CHUNK
        longest = width or (int(groups.sizes.max()) if nnz else 0)
        position = torch.arange(nnz, device=device)
        ptr, group = groups.offsets, groups.row
        first = position - (position - ptr[group]) % limit  # start of the chunk
        size = (ptr[group + 1] - first).clamp(max=limit)
        place = torch.empty_like(order)
        place[order] = position
        place = place[entries]  # (nnz,) by receiver
        number = size[place] - 1
        total = nnz * (width - 1) if width else None  # if known, avoids a device synchronization
        owner, other = ranges(first[place], number, total)
        other += other >= place[owner]  # skip the entry itself
        listed = order[other]
        weight = None if sign is None else sign[entries][owner] * sign[listed]
        near = Rows(sender[listed], columns, ptr=ends(number)[receivers.offsets])
        self.near = Matrix(near, weight)
        self.above: LeaveOneOut | None = None
        if longest <= limit:
            return
        begins = nnf.pad(first[first == position], (0, 1), value=nnz)
        chunks = torch.arange(len(begins) - 1, device=device)
        n, chunk_ptr = len(chunks), ends(-(-groups.sizes // limit))
        signs = (None, None) if sign is None else (sign[order], sign[entries])
        self.up = Matrix(Rows(sender[order], columns, ptr=begins), signs[0])
        chunk = self.up.rows.row[place]
        self.down = Matrix(Rows(chunk, n, ptr=receivers.offsets), signs[1])
        self.above = LeaveOneOut(Rows(chunks, n, ptr=chunk_ptr), Rows(chunks, n, 1), chunks, n)

    @property
    def T(self) -> "LeaveOneOut":
        """The transpose."""
        out: LeaveOneOut = object.__new__(LeaveOneOut)
        out.near, out.above, out.columns = self.near.T, None, len(self.near.rows)
        if self.above is not None:
            out.up, out.above, out.down = self.down.T, self.above.T, self.up.T
        return out

    def symmetric(self) -> "LeaveOneOut":
        """Mark the matrix as its own transpose: senders are the receivers."""
        self.near.pair(self.near)
        if self.above is not None:
            self.up.pair(self.down)
            self.above.symmetric()
        return self

    def __matmul__(self, h: Tensor) -> Tensor:
        out = self.near @ h
        return out if self.above is None else out + self.down @ (self.above @ (self.up @ h))
