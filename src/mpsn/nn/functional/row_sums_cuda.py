"""Sums of rows on a GPU, in one pass over memory and in the same order every time."""

from typing import Any

from torch import Tensor

try:  # comes with torch for CUDA, on most systems
    import triton
    import triton.language as tl
except ImportError:
    triton = None

# Entries of the result that a program computes. Not a square: Triton 3.6 cannot compile 32 x 32.
TILE = 2048
_kernel: Any = None

if triton is not None:

    @triton.jit
    def _kernel(  # type: ignore[no-untyped-def]
        h,
        at,
        ptr,
        weights,
        out,
        n,
        columns,
        ROWS: tl.constexpr,
        WIDTH: tl.constexpr,
        WEIGHTED: tl.constexpr,
    ):
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        inside = row < n
        start = tl.load(ptr + row, mask=inside, other=0)
        length = tl.load(ptr + row + 1, mask=inside, other=0) - start
        total = tl.zeros([ROWS, WIDTH], dtype=out.dtype.element_ty)
        for j in range(tl.max(length)):
            there = j < length
            source = tl.load(at + start + j, mask=there, other=0) * columns
            both = there[:, None] & (column < columns)[None, :]
            value = tl.load(h + source[:, None] + column[None, :], mask=both, other=0.0)
            if WEIGHTED:
                value *= tl.load(weights + start + j, mask=there, other=0.0)[:, None]
            total += value
        place = row[:, None] * columns + column[None, :]
        tl.store(out + place, total, mask=inside[:, None] & (column < columns)[None, :])


def sum_rows(h: Tensor, at: Tensor, ptr: Tensor, weights: Tensor | None) -> Tensor | None:
    """Return the sums, (n, F), of rows of ``h``, (m, F), or None where there is no Triton."""
    if _kernel is None:
        return None
    h = h.contiguous()
    n, columns = len(ptr) - 1, h.shape[1]
    out = h.new_empty(n, columns)
    width = min(TILE, triton.next_power_of_2(columns))
    rows = TILE // width
    # Rows vary fastest: what the programs of one stripe of columns read stays in the cache.
    grid = (triton.cdiv(n, rows), triton.cdiv(columns, width))
    filled = h if weights is None else weights
    _kernel[grid](h, at, ptr, filled, out, n, columns, rows, width, weights is not None)
    return out
