"""Products of sparse 0/±1 matrices with features: all messages are summed here."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad

from mpsn._rows import cpu

LONG = 256  # longest sequential sum in single precision; longer rows are split
REDUCED = (torch.bfloat16, torch.float16)  # what is summed in single precision
CHUNK = 8  # largest group whose entries are listed; longer groups are summed as a tree


def is_traced(h: Tensor) -> bool:
    """Return whether torch records operations on ``h``, so that only its own may be used."""
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or torch._C._functorch.is_legacy_batchedtensor(h)
    )


def wide(h: Tensor) -> Tensor:
    """Return ``h`` in a type in which it may be summed: half precision becomes single."""
    return h.float() if h.dtype in REDUCED else h


def grouped(index: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return the positions of 0, ..., n - 1 in an index, and the offsets (n + 1,) of each value.

    Example:
        >>> grouped(torch.tensor([1, 0, 1]), 3)
        (tensor([1, 0, 2]), tensor([0, 1, 3, 3]))
    """
    index = index.reshape(-1)
    if index.is_cpu and not is_traced(index) and not torch._C._are_functorch_transforms_active():
        order, ptr = cpu.count_sort(index.numpy(), n)
        return torch.from_numpy(order), torch.from_numpy(ptr)
    values, positions = torch.sort(index, stable=True)
    return positions, torch.searchsorted(values, torch.arange(n + 1, device=index.device))


class SparseRows:
    """A constant sparse matrix (n, m) by rows; ``A @ h`` multiplies it with features (m, ...).

    The product is differentiable any number of times, forward and backward, and works under the
    transforms of ``torch.func``.

    Args:
        index: Columns of the entries, row after row, (nnz,) int64.
        ptr: Offsets of the rows, (n + 1,); None if every row has one entry.
        columns: Number m of columns.
        weight: The entries, (nnz,). Defaults to ones.
        groups: Returns the entries by column. Defaults to :func:`grouped`.

    Example:
        >>> from mpsn._rows.sparse import SparseRows
        >>> A = SparseRows(torch.tensor([2, 0, 1]), torch.tensor([0, 1, 3]), 3)  # [0 0 1], [1 1 0]
        >>> (A @ torch.tensor([[1.0], [10.0], [100.0]])).T
        tensor([[100.,  11.]])
    """

    __slots__ = ("_cuts", "_groups", "_transpose", "columns", "index", "ptr", "weight")

    def __init__(
        self,
        index: Tensor,
        ptr: Tensor | None,
        columns: int,
        weight: Tensor | None = None,
        groups: Callable[[], tuple[Tensor, Tensor]] | None = None,
    ) -> None:
        self.index, self.ptr, self.columns, self.weight = index, ptr, columns, weight
        self._groups = groups or (lambda: grouped(index, columns))
        self._transpose: SparseRows | None = None
        self._cuts: tuple[Tensor, Tensor, Tensor] | bool | None = True  # not looked for

    @classmethod
    def of(
        cls, rows: Tensor, columns: Tensor, weight: Tensor | None, shape: tuple[int, int]
    ) -> "SparseRows":
        """Build from entries in any order."""
        order, ptr = grouped(rows, shape[0])
        return cls(columns[order], ptr, shape[1], None if weight is None else weight[order])

    @property
    def T(self) -> "SparseRows":
        """The transpose, computed once."""
        if self._transpose is None:
            with temporarily_clear_interpreter_stack():  # the cache outlives any transform
                order, ptr = self._groups()
                rows = order if self.ptr is None else repeat(self.ptr, len(order))[order]
                weight = None if self.weight is None else self.weight[order]
            n = len(order) if self.ptr is None else len(self.ptr) - 1
            self.pair(SparseRows(rows, ptr, n, weight))
        assert self._transpose is not None
        return self._transpose

    def pair(self, transpose: "SparseRows") -> "SparseRows":
        """Set a known transpose; return the matrix."""
        self._transpose, transpose._transpose = transpose, self
        return self

    def __matmul__(self, h: Tensor) -> Tensor:
        if torch._C._are_functorch_transforms_active():
            out: Tensor = _Transformed.apply(h, self)  # type: ignore[no-untyped-call]
        elif (torch.is_grad_enabled() and h.requires_grad) or forward_ad._current_level >= 0:
            out = _Product.apply(h, self)  # type: ignore[no-untyped-call]
        else:
            out = self.times(h)
        return out

    def times(self, h: Tensor) -> Tensor:
        """Return the product, without gradients."""
        if self.ptr is None:
            out = h.index_select(0, self.index)
            return out if self.weight is None else out.mul_(rows(self.weight, out))
        whole = h.dtype == torch.float64 or not (h.is_cpu or h.dtype in REDUCED)
        if whole or is_traced(h) or not (cuts := self.cuts()):
            return segment_sum(h, self.index, self.ptr, self.weight)
        pieces, each, ptr = cuts
        parts = segment_sum(h, self.index, pieces, self.weight, wide(h[:0]).dtype)
        return segment_sum(parts, each, ptr, dtype=h.dtype)

    def cuts(self) -> tuple[Tensor, Tensor, Tensor] | None:
        """Return rows of more than ``LONG`` entries split into pieces, for less rounding.

        None are split inside a CUDA graph, where sizes cannot be asked for.
        """
        if isinstance(self._cuts, bool):
            assert self.ptr is not None
            if self.ptr.is_cuda and torch.cuda.is_current_stream_capturing():
                return None
            self._cuts, size = None, self.ptr.diff()
            if size.numel() and int(size.max()) > LONG:
                number = -(-size // LONG)
                row, start = ranges(torch.zeros_like(size), number)
                pieces = nnf.pad(self.ptr[row] + start * LONG, (0, 1), value=int(self.ptr[-1]))
                each = torch.arange(len(row), device=row.device)
                self._cuts = pieces, each, nnf.pad(number.cumsum(0), (1, 0))
        return self._cuts


class _Product(torch.autograd.Function):
    """A sparse matrix times features; the gradient is the transpose times the output's."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, A: SparseRows) -> Tensor:
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
    def forward(h: Tensor, A: SparseRows) -> Tensor:
        return A.times(h)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, SparseRows], output: Tensor) -> None:
        ctx.A = inputs[1]

    @staticmethod
    def vmap(info: Any, in_dims: Any, h: Tensor, A: SparseRows) -> tuple[Tensor, int]:
        return A @ h.movedim(in_dims[0], 1), 1


def segment_sum(
    h: Tensor,
    index: Tensor,
    ptr: Tensor,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Return :math:`\sum_{j=p_i}^{p_{i+1}-1} w_j h_{a_j}` for every i, without gradients.

    ``h`` (m, ...) is floating-point; a is ``index``, p is ``ptr`` (n + 1,), w is ``weight``. Uses
    compiled code for doubles on the CPU, Triton on a GPU if available, else an embedding bag. Half
    precision is summed in single. The result has the type of ``h``, or ``dtype``.
    """
    n, dtype = ptr.shape[0] - 1, dtype or h.dtype
    if not h.numel() or not index.numel():
        return h.new_zeros(n, *h.shape[1:], dtype=dtype)
    if is_traced(h):
        m = wide(h.index_select(0, index))
        m = m if weight is None else m * rows(weight, m)
        return m.new_zeros(n, *h.shape[1:]).index_add(0, repeat(ptr, len(index)), m).to(dtype)
    flat, out = h if h.dim() == 2 else h.reshape(h.shape[0], -1), None
    if h.is_cuda:
        from mpsn._rows import cuda

        out = cuda.segment_sum(flat, index, ptr, weight, dtype)
    elif h.is_cpu and h.dtype == torch.float64:
        out = flat.new_empty(n, flat.shape[1])
        some = flat.new_empty(0) if weight is None else weight.to(h.dtype)
        args = (flat, index, ptr, some, out)
        cpu.segment_sum(*(t.detach().numpy() for t in args))
    if out is None:
        flat = wide(flat)
        each = None if weight is None else weight.to(flat.dtype)
        out = nnf.embedding_bag(
            index, flat, ptr, mode="sum", per_sample_weights=each, include_last_offset=True
        )
    return out.to(dtype) if h.dim() == 2 else out.to(dtype).view(n, *h.shape[1:])


class LeaveOneOut:
    """Sums over the *other* entries of each entry's group, added up at receivers.

    Nothing is subtracted: groups of up to ``CHUNK`` entries list the other entries; a longer group
    is split into chunks, and the totals of the chunks are treated the same way. So the time is
    linear, also at hubs, rounding is that of a plain sum, and an infinite entry does not reach its
    own receiver.

    Args:
        groups: Entries, group after group, (nnz,), and offsets of the groups.
        receivers: The same entries, receiver after receiver, and offsets of the receivers.
        sender: Row that each entry sends, (nnz,).
        columns: Number of rows that can be sent.
        sign: Signs (nnz,), applied when an entry sends and when it receives; or None.
        limit: Size of the groups if all have the same; they are not split then.
    """

    def __init__(
        self,
        groups: tuple[Tensor, Tensor],
        receivers: tuple[Tensor, Tensor],
        sender: Tensor,
        columns: int,
        sign: Tensor | None = None,
        limit: int | None = None,
    ) -> None:
        (order, ptr), (entries, receiver_ptr) = groups, receivers
        nnz, device = len(order), order.device
        total = nnz * (limit - 1) if limit else None  # if known, avoids a device synchronization
        longest = limit or (int(ptr.diff().max()) if nnz else 0)
        limit = limit or CHUNK
        position = torch.arange(nnz, device=device)
        group = repeat(ptr, nnz)
        first = position - (position - ptr[group]) % limit  # start of the chunk
        size = (ptr[group + 1] - first).clamp(max=limit)
        place = torch.empty_like(order)
        place[order] = position
        at = place[entries]  # (nnz,) by receiver
        number = size[at] - 1
        owner, other = ranges(first[at], number, total)
        other += other >= at[owner]  # skip the entry itself
        listed = order[other]
        weight = None if sign is None else sign[entries][owner] * sign[listed]
        ends = nnf.pad(number.cumsum(0), (1, 0))
        self.near = SparseRows(sender[listed], ends[receiver_ptr], columns, weight)
        self.above: LeaveOneOut | None = None
        if longest <= limit:
            return
        chunk_ptr = nnf.pad((-(-ptr.diff() // limit)).cumsum(0), (1, 0))
        begins = nnf.pad(first[first == position], (0, 1), value=nnz)
        chunks = torch.arange(len(begins) - 1, device=device)
        signs = (None, None) if sign is None else (sign[order], sign[entries])
        self.up = SparseRows(sender[order], begins, columns, signs[0])
        of = repeat(begins, nnz)[at]
        self.down = SparseRows(of, receiver_ptr, len(chunks), signs[1])
        each = (chunks, torch.arange(len(begins), device=device))
        self.above = LeaveOneOut((chunks, chunk_ptr), each, chunks, len(chunks))

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


def repeat(ptr: Tensor, total: int) -> Tensor:
    """Return the group of each of ``total`` entries, given the offsets of the groups."""
    return torch.repeat_interleave(ptr.diff(), output_size=total)


def ranges(start: Tensor, size: Tensor, total: int | None = None) -> tuple[Tensor, Tensor]:
    """Concatenate the ranges start[i], ..., start[i] + size[i] - 1.

    Returns for each number the range i it belongs to, and the number itself. A known ``total`` of
    the sizes avoids a device synchronization.

    Example:
        >>> ranges(torch.tensor([5, 0]), torch.tensor([2, 1]))
        (tensor([0, 0, 1]), tensor([5, 6, 0]))
    """
    owner = torch.repeat_interleave(size, output_size=total)
    shift = start - size.cumsum(0) + size
    return owner, torch.arange(len(owner), device=size.device) + shift[owner]


def rows(weight: Tensor, h: Tensor) -> Tensor:
    """Reshape one weight per row, (n,), to multiply ``h``, (n, ..., F)."""
    return weight.to(h.dtype).view(-1, *(1,) * (h.dim() - 1))
