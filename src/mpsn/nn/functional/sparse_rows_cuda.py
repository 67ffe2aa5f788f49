"""The product of :class:`SparseRows` on a GPU, in one pass over memory and the same every time."""

from typing import Any

from torch import Tensor

try:  # comes with torch for CUDA, on most systems
    import triton
    import triton.language as tl
except ImportError:
    triton = None

WIDTH = 1024  # columns a program takes
_kernel: Any = None

if triton is not None:

    @triton.jit
    def _kernel(  # type: ignore[no-untyped-def]
        h, index, ptr, weights, out, columns, WIDTH: tl.constexpr
    ):
        row = tl.program_id(0).to(tl.int64)
        column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        inside = column < columns
        start = tl.load(ptr + row)
        end = tl.load(ptr + row + 1)
        total = tl.zeros([WIDTH], dtype=out.dtype.element_ty)
        for j in range(start, end):
            source = h + tl.load(index + j) * columns
            total += tl.load(weights + j) * tl.load(source + column, mask=inside, other=0.0)
        tl.store(out + row * columns + column, total, mask=inside)


def sum_of_rows(index: Tensor, ptr: Tensor, weights: Tensor, h: Tensor) -> Tensor | None:
    """Return the product with ``h``, (m, D), as (n, D), or None where there is no Triton."""
    if _kernel is None:
        return None
    h = h.contiguous()
    n, columns = len(ptr) - 1, h.shape[1]
    out = h.new_empty(n, columns)
    # Rows vary fastest: what the programs of one stripe of columns read stays in the cache.
    _kernel[n, -(-columns // WIDTH)](h, index, ptr, weights, out, columns, WIDTH)
    return out
