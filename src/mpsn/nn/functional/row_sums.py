"""Sums of listed rows: what all messages come down to, in one pass and without atomic additions."""

from typing import NamedTuple

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import grouped
from mpsn.nn.functional import row_sums_cpu
from mpsn.nn.functional.cofaces import check_entries


def sum_rows(h: Tensor, at: Tensor, ptr: Tensor, weights: Tensor | None = None) -> Tensor:
    r"""Return :math:`\sum_{j=p_i}^{p_{i+1}-1} w_j h_{a_j}` for every i; gradients do not pass.

    An embedding bag. In double precision on the CPU compiled code does it, on a GPU a small Triton
    kernel, where there is Triton.

    Args:
        h: Rows (m, ...), of floating point numbers.
        at: The rows to add up, a.
        ptr: Where the list of every sum starts in it, and the end of the last, p, (n + 1,).
        weights: Their weights w; 1 unless said.

    Returns:
        (n, ...).

    Example:
        >>> from mpsn.nn.functional.row_sums import sum_rows
        >>> h, at, ptr = torch.tensor([[1.0], [2.0], [4.0]]), [0, 2, 1], [0, 2, 2, 3]
        >>> sum_rows(h, torch.tensor(at), torch.tensor(ptr)).T
        tensor([[5., 0., 2.]])
    """
    n = len(ptr) - 1
    if not h.numel() or not len(at):
        return h.new_zeros(n, *h.shape[1:])
    flat, out = h.reshape(len(h), -1), None
    weights = None if weights is None else weights.to(h.dtype)
    if h.is_cuda:
        from mpsn.nn.functional import row_sums_cuda

        out = row_sums_cuda.sum_rows(flat, at, ptr, weights)
    elif h.is_cpu and h.dtype == torch.float64:
        check_entries(at, len(h))
        out = flat.new_empty(n, flat.shape[1])
        some = flat.new_empty(0) if weights is None else weights
        row_sums_cpu.sum_rows(
            flat.detach().numpy(), at.numpy(), ptr.numpy(), some.detach().numpy(), out.numpy()
        )
    if out is None:
        out = nnf.embedding_bag(
            at, flat, ptr, mode="sum", per_sample_weights=weights, include_last_offset=True
        )
    return out.view(n, *h.shape[1:])


class SparseRows(NamedTuple):
    """A sparse matrix (n, m) by rows, to be multiplied with features (m, ...); it does not learn.

    Attributes:
        columns: Columns of the non-zero entries, row by row.
        ptr: Offsets of the rows in it, (n + 1,).
        weights: The entries.

    Example:
        >>> from mpsn.nn.functional.row_sums import SparseRows
        >>> rows, columns = torch.tensor([1, 0, 1]), torch.tensor([0, 2, 1])
        >>> A = SparseRows.of(rows, columns, torch.tensor([5.0, 7.0, 6.0]), 2)  # [0 0 7], [5 6 0]
        >>> A.times(torch.tensor([[1.0], [10.0], [100.0]])).T
        tensor([[700.,  65.]])
    """

    columns: Tensor
    ptr: Tensor
    weights: Tensor

    @classmethod
    def of(cls, rows: Tensor, columns: Tensor, values: Tensor, n: int) -> "SparseRows":
        """Sort entries, given in any order, by row."""
        order, ptr = grouped(rows, n)
        return cls(columns[order], ptr, values[order])

    def times(self, h: Tensor) -> Tensor:
        """Return the product with ``h``, (m, ...), as (n, ...); gradients do not pass."""
        return sum_rows(h, self.columns, self.ptr, self.weights)
