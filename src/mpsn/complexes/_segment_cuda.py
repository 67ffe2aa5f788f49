"""Sums of rows on a GPU, in one pass over memory and in the same order every time."""

from typing import Any

import torch
from torch import Tensor

try:  # comes with torch for CUDA, on most systems
    import triton
    import triton.language as tl
except ImportError:
    triton = None

WIDTH = 1024  # columns that a program takes at most
_kernel: Any = None

if triton is not None:

    @triton.jit
    def _kernel(  # type: ignore[no-untyped-def]
        h, index, ptr, weight, out, columns, WIDTH: tl.constexpr, WEIGHTED: tl.constexpr
    ):
        row = tl.program_id(0).to(tl.int64)
        column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        inside = column < columns
        start = tl.load(ptr + row)
        end = tl.load(ptr + row + 1)
        total = tl.zeros([WIDTH], dtype=out.dtype.element_ty)
        for j in range(start, end):
            value = tl.load(h + tl.load(index + j) * columns + column, mask=inside, other=0.0)
            if WEIGHTED:
                value *= tl.load(weight + j).to(value.dtype)
            total += value
        tl.store(out + row * columns + column, total, mask=inside)


def segment_sum(h: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None) -> Tensor | None:
    """Return the sums, (n, F), of rows of ``h``, (m, F), or None where there is no Triton."""
    if _kernel is None:
        return None
    h = h.contiguous()
    n, columns = len(ptr) - 1, h.shape[1]
    out = h.new_empty(n, columns)
    width = min(WIDTH, triton.next_power_of_2(columns))
    # Rows vary fastest: what the programs of one stripe of columns read stays in the cache.
    grid = (n, triton.cdiv(columns, width))
    some = h if weight is None else weight
    warps = max(1, min(4, width // 64))
    with torch.cuda.device_of(h):  # type: ignore[no-untyped-call]
        _kernel[grid](h, index, ptr, some, out, columns, width, weight is not None, num_warps=warps)
    return out
