"""Segment sums on a GPU, in one pass over memory."""

import torch
from torch import Tensor

try:  # comes with torch for CUDA, on most systems
    import triton
    import triton.language as tl
except ImportError:
    triton = None

WIDTH = 1024  # maximal number of columns per program
LONG = 256  # maximal number of entries per program

if triton is not None:

    @triton.jit
    def widened(x):  # type: ignore[no-untyped-def]
        """Return half precision as single."""
        return x.to(tl.float32) if x.dtype.primitive_bitwidth == 16 else x

    @triton.jit
    def _sum(  # type: ignore[no-untyped-def]
        h, index, weight, start, end, column, inside, columns, WEIGHTED: tl.constexpr
    ):
        """Add up the entries from start to end."""
        total = widened(tl.zeros([column.shape[0]], dtype=h.dtype.element_ty))
        for j in range(start, end):
            value = tl.load(h + tl.load(index + j) * columns + column, mask=inside, other=0.0)
            if WEIGHTED:
                value = value.to(total.dtype) * tl.load(weight + j).to(total.dtype)
            total += value
        return total

    @triton.jit
    def _rows(  # type: ignore[no-untyped-def]
        h, index, ptr, weight, out, columns, n,
        WIDTH: tl.constexpr, WEIGHTED: tl.constexpr, LONG: tl.constexpr,
    ):  # fmt: skip
        """Add up a row; write zeros for one too long."""
        row = tl.program_id(0).to(tl.int64)
        column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        inside = column < columns
        start, end = tl.load(ptr + row), tl.load(ptr + row + 1)
        end = tl.where((LONG > 0) & (end - start > LONG), start, end)
        total = _sum(h, index, weight, start, end, column, inside, columns, WEIGHTED)
        tl.store(out + row * columns + column, total, mask=inside)

    @triton.jit
    def _row_of(ptr, n, entry):  # type: ignore[no-untyped-def]
        low, high = tl.full([], 0, tl.int64), tl.full([], 0, tl.int64) + n
        while high - low > 1:
            middle = (low + high) // 2
            below = tl.load(ptr + middle) <= entry
            low, high = tl.where(below, middle, low), tl.where(below, high, middle)
        return low

    @triton.jit
    def _pieces(  # type: ignore[no-untyped-def]
        h, index, ptr, weight, out, columns, n,
        WIDTH: tl.constexpr, WEIGHTED: tl.constexpr, LONG: tl.constexpr,
    ):  # fmt: skip
        """Add up LONG entries that belong to rows too long: at most one at each end."""
        first = tl.program_id(0).to(tl.int64) * LONG
        column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        inside = column < columns
        last = tl.minimum(first + LONG, tl.load(ptr + n)) - 1
        left, right = _row_of(ptr, n, first), _row_of(ptr, n, last)
        for side in tl.static_range(2):
            row = left if side == 0 else right
            start, end = tl.load(ptr + row), tl.load(ptr + row + 1)
            if (end - start > LONG) & ((side == 0) | (left != right)):
                start, end = tl.maximum(start, first), tl.minimum(end, last + 1)
                total = _sum(h, index, weight, start, end, column, inside, columns, WEIGHTED)
                place = out + row * columns + column
                tl.atomic_add(place, total, mask=inside, sem="relaxed")


def segment_sum(
    h: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None, dtype: torch.dtype
) -> Tensor | None:
    """Return the sums, (n, F) of type ``dtype``, of rows of ``h``, (m, F), or None without Triton.

    Rows of more than ``LONG`` entries are summed by several programs, in any order, unless torch is
    set to deterministic algorithms, or ``h`` is in half precision.
    """
    if triton is None:
        return None
    h = h.contiguous()
    n, columns = len(ptr) - 1, h.shape[1]
    out = h.new_empty(n, columns, dtype=dtype)
    if not out.numel():
        return out
    width = min(WIDTH, triton.next_power_of_2(columns))
    stripes, warps = triton.cdiv(columns, width), max(1, min(4, width // 64))
    weighted, entries = weight is not None, h if weight is None else weight
    ordered = torch.are_deterministic_algorithms_enabled() or h.element_size() == 2
    long = 0 if ordered or len(index) <= LONG else LONG
    args = (h, index, ptr, entries, out, columns, n, width, weighted, long)
    with torch.cuda.device_of(h):  # type: ignore[no-untyped-call]
        # Rows vary fastest, so that a stripe of columns stays in the cache.
        _rows[n, stripes](*args, num_warps=warps)
        if long:
            _pieces[triton.cdiv(len(index), long), stripes](*args, num_warps=warps)
    return out
