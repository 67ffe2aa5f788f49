"""Sums of rows on a GPU, in one pass over memory and in the same order every time."""

from typing import Any

import torch
from torch import Tensor

try:  # comes with torch for CUDA, on most systems
    import triton
    import triton.language as tl
except ImportError:
    triton = None

MOST = 16  # rows that a program reads at a time
TILE = 1024  # numbers that a program reads at a time
_kernel: Any = None

if triton is not None:

    @triton.jit
    def _kernel(  # type: ignore[no-untyped-def]
        h, index, ptr, weight, out, columns,
        ROWS: tl.constexpr, WIDTH: tl.constexpr, WEIGHTED: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0).to(tl.int64)
        column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        inside = column < columns
        start = tl.load(ptr + row)
        end = tl.load(ptr + row + 1)
        total = tl.zeros([WIDTH], dtype=out.dtype.element_ty)
        for j in range(start, end, ROWS):
            entry = j + tl.arange(0, ROWS)
            there = entry < end
            at = tl.load(index + entry, mask=there, other=0)[:, None] * columns + column[None, :]
            value = tl.load(h + at, mask=there[:, None] & inside[None, :], other=0.0)
            if WEIGHTED:
                value *= tl.load(weight + entry, mask=there, other=0).to(value.dtype)[:, None]
            total += tl.sum(value, axis=0)
        tl.store(out + row * columns + column, total, mask=inside)


def segment_sum(h: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None) -> Tensor | None:
    """Return the sums, (n, F), of rows of ``h``, (m, F), or None where there is no Triton."""
    if _kernel is None:
        return None
    h = h.contiguous()
    n, columns = len(ptr) - 1, h.shape[1]
    out = h.new_empty(n, columns)
    width = min(TILE, triton.next_power_of_2(columns))
    # As many rows at a time as lists are long on average, so that few are read in vain.
    rows = min(TILE // width, triton.next_power_of_2(max(1, len(index) // max(1, n))), MOST)
    # Rows vary fastest: what the programs of one stripe of columns read stays in the cache.
    grid = (n, triton.cdiv(columns, width))
    some = h if weight is None else weight
    warps = max(1, min(4, rows * width // 128))
    with torch.cuda.device_of(h):  # type: ignore[no-untyped-call]
        _kernel[grid](
            h, index, ptr, some, out, columns, rows, width, weight is not None, num_warps=warps
        )
    return out
