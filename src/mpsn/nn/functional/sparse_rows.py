"""Products of a sparse matrix with wide rows of features, without atomic additions."""

from typing import NamedTuple

import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import grouped


class SparseRows(NamedTuple):
    """A sparse matrix (n, m) by rows, to be multiplied with features (m, ...); it does not learn.

    Row i of a product is the sum over j from ptr[i] to ptr[i+1] of weights[j] times row columns[j]:
    an embedding bag. On a GPU a small Triton kernel does it, where there is Triton.

    Attributes:
        columns: Columns of the non-zero entries, row by row.
        ptr: Offsets of the rows in it, (n + 1,).
        weights: The entries.

    Example:
        >>> from mpsn.nn.functional.sparse_rows import SparseRows
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
        n = len(self.ptr) - 1
        if not h.numel() or not len(self.columns):
            return h.new_zeros(n, *h.shape[1:])
        flat, weights, out = h.reshape(len(h), -1), self.weights.to(h.dtype), None
        if h.is_cuda:
            from mpsn.nn.functional.sparse_rows_cuda import sum_of_rows

            out = sum_of_rows(self.columns, self.ptr, weights, flat)
        if out is None:
            out = nnf.embedding_bag(
                self.columns, flat, self.ptr[:-1], mode="sum", per_sample_weights=weights
            )
        return out.view(n, *h.shape[1:])
