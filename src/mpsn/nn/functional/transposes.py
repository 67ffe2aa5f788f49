"""Gather and scatter along a face table, each the other's derivative."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from mpsn.complexes import grouped


class Products(NamedTuple):
    """A face table as two sparse matrices, without signs."""

    up: Tensor
    """B, (n_{k-1}, n_k) in CSR form."""
    down: Tensor
    """Its transpose."""


_prepared = WeakTensorKeyDictionary()


def prepare(table: Tensor, count: int, like: Tensor) -> None:
    """Turn a table into sparse matrices, so that sums along this very tensor become products.

    Pays on a GPU, where several layers use the same table; the numbers are the same up to rounding.
    Nothing is read back from the device.

    Args:
        table: Face table of dimension k, (n_k, k+1), not to be changed any more.
        count: Number of (k-1)-simplices.
        like: Features; their type is the one that products will take.
    """
    n, width = table.shape
    faces, order = torch.sort(table.reshape(-1), stable=True)
    starts = torch.searchsorted(faces, torch.arange(count + 1, device=table.device))
    values = like.new_ones(n * width)
    steps = torch.arange(0, n * width + 1, width, dtype=torch.int32, device=table.device)

    def matrix(starts: Tensor, columns: Tensor, size: tuple[int, int]) -> Tensor:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
            return torch.sparse_csr_tensor(
                starts.int(), columns.int(), values, size, check_invariants=False
            )

    _prepared[table] = Products(
        matrix(starts, order // width, (count, n)), matrix(steps, table.reshape(-1), (n, count))
    )


def prepared(table: Tensor, signs: Tensor | None = None) -> Products | None:
    """Return what :func:`prepare` made of a table, if sums along it have no signs."""
    if signs is not None or torch.compiler.is_compiling():
        return None
    return _prepared.get(table)  # type: ignore[no-any-return, no-untyped-call]


class Gather(torch.autograd.Function):
    """Rows of h named by each column of a table; its derivative is :class:`Scatter`.

    Left to itself, autograd would fill and add up one tensor per column.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        """Return one tensor (n, ..., F) per column."""
        ctx.save_for_backward(table)
        ctx.count = h.shape[0]
        return read_rows(h, table)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Send the gradients back to where the rows came from."""
        (table,) = ctx.saved_tensors
        if torch.compiler.is_compiling():
            return add_rows(table, ctx.count, *grads), None
        return Scatter.apply(table, ctx.count, *grads), None  # type: ignore[no-untyped-call]


class Scatter(torch.autograd.Function):
    """Add messages to the rows named by each column of a table; its derivative is Gather."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, count: int, *messages: Tensor) -> Tensor:
        """Return the sums, (count, ..., F)."""
        ctx.save_for_backward(table)
        return add_rows(table, count, *messages)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Hand every message the gradient of the row it went to."""
        (table,) = ctx.saved_tensors
        if torch.compiler.is_compiling():
            return None, None, *read_rows(grad, table)
        return None, None, *Gather.apply(grad, table)  # type: ignore[no-untyped-call]


class Boundary(torch.autograd.Function):
    r"""The product :math:`B^\top h` along a face table; its derivative is :class:`Coboundary`."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, table: Tensor, signs: Tensor | None, products: Products | None
    ) -> Tensor:
        """Return the sums over faces, (n, ..., F)."""
        ctx.save_for_backward(table, signs)
        ctx.count, ctx.products = h.shape[0], products
        return sum_faces(h, table, signs, products)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Multiply with B."""
        table, signs = ctx.saved_tensors
        inputs = grad, table, ctx.count, signs, ctx.products
        if torch.compiler.is_compiling():
            return sum_cofaces(*inputs), None, None, None
        return Coboundary.apply(*inputs), None, None, None  # type: ignore[no-untyped-call]


class Coboundary(torch.autograd.Function):
    r"""The product :math:`B h` along a face table; its derivative is :class:`Boundary`."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        table: Tensor,
        count: int,
        signs: Tensor | None,
        products: Products | None,
    ) -> Tensor:
        """Return the sums over co-faces, (count, ..., F)."""
        ctx.save_for_backward(table, signs)
        ctx.products = products
        return sum_cofaces(h, table, count, signs, products)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Multiply with the transpose of B."""
        table, signs = ctx.saved_tensors
        inputs = grad, table, signs, ctx.products
        if torch.compiler.is_compiling():
            return sum_faces(*inputs), None, None, None, None
        return Boundary.apply(*inputs), None, None, None, None  # type: ignore[no-untyped-call]


class Exchange(torch.autograd.Function):
    """Leave-one-out inside each row of a table, then :class:`Scatter`, with fewer passes.

    Message i of a row sends the others' sum to the row's entry i; the derivative does the same with
    gathered gradients.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, count: int, *messages: Tensor) -> Tensor:
        """Return the sums, (count, ..., F)."""
        ctx.save_for_backward(table)
        return exchange_rows(table, count, *messages)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Hand every message the others' gradients."""
        (table,) = ctx.saved_tensors
        return None, None, *others(Gather.apply(grad, table))  # type: ignore[no-untyped-call]


def exchange_rows(table: Tensor, count: int, *messages: Tensor) -> Tensor:
    """Give the entries of each row of a table the sum of the row's other messages."""
    out = messages[0].new_zeros((count, *messages[0].shape[1:]))
    for column, message in zip(table.unbind(1), others(messages), strict=True):
        out.index_add_(0, column, message)
    return out


def others(terms: Sequence[Tensor]) -> list[Tensor]:
    """Return for each of two or more terms the sum of the others.

    By sums from the left and from the right: nothing is added that has to be taken away again, and
    for pairs and triples, which are most of what there is, it takes the fewest passes.
    """
    right = [terms[-1]]  # sums of the last 1, 2, ... terms
    for term in terms[-2:0:-1]:
        right.append(term + right[-1])
    out, left = [right.pop()], terms[0]
    for term in terms[1:-1]:
        out.append(left + right.pop())
        left = left + term
    return [*out, left]


def differentiable(
    function: type[torch.autograd.Function], plain: Callable[..., Any], *inputs: Any
) -> Any:
    """Call a function by way of autograd where a gradient is asked for, plainly otherwise."""
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return function.apply(*inputs)  # type: ignore[no-untyped-call]
    return plain(*inputs)


def read_rows(h: Tensor, table: Tensor) -> tuple[Tensor, ...]:
    """Return the rows (n, ..., F) of h that each column of a table names."""
    return tuple(h.index_select(0, column) for column in table.unbind(1))


def add_rows(table: Tensor, count: int, *messages: Tensor) -> Tensor:
    """Add messages (n, ..., F), one tensor per column, to the rows a table names."""
    out = messages[0].new_zeros((count, *messages[0].shape[1:]))
    for column, message in zip(table.unbind(1), messages, strict=True):
        out.index_add_(0, column, message)  # in place on a fresh tensor: one for all columns
    return settle(out) if torch.compiler.is_compiling() else out


def sum_faces(
    h: Tensor, table: Tensor, signs: Tensor | None, products: Products | None = None
) -> Tensor:
    """Return the signed sums of the rows that each row of a table names, (n, ..., F)."""
    if products is not None:
        return _multiply(products.down, h)
    if torch.compiler.is_compiling() or not table.numel() or not h.is_floating_point():
        return add(times(signs, read_rows(h, table)))
    weights = None if signs is None else signs.to(h.dtype)
    flat = h.reshape(h.shape[0], -1)  # one pass over memory, where gathering takes several
    out = torch.nn.functional.embedding_bag(table, flat, mode="sum", per_sample_weights=weights)
    return out.view(table.shape[0], *h.shape[1:])


def sum_cofaces(
    h: Tensor, table: Tensor, count: int, signs: Tensor | None, products: Products | None = None
) -> Tensor:
    """Add each row of h, signed, to all rows that its row of a table names, (count, ..., F)."""
    if products is not None:
        return _multiply(products.up, h)
    flat = h.reshape(h.shape[0], -1) if table.numel() else h
    lists = h.device.type == "cpu" and h.dtype == torch.float32 and flat.shape[-1] >= 8
    if torch.compiler.is_compiling() or not table.numel() or not lists:
        return add_rows(table, count, *times(signs, [h] * table.shape[1]))
    # Listing who adds to which row, and reading it there, is several times as fast as adding.
    order, offsets = grouped(table, count)
    out = torch.nn.functional.embedding_bag(
        order // table.shape[1],
        flat,
        offsets,
        mode="sum",
        include_last_offset=True,
        per_sample_weights=None if signs is None else signs.reshape(-1)[order].to(h.dtype),
    )
    return out.view(count, *h.shape[1:])


def _multiply(matrix: Tensor, h: Tensor) -> Tensor:
    out = matrix @ h.reshape(h.shape[0], -1)
    return out.view(matrix.shape[0], *h.shape[1:])


def times(signs: Tensor | None, messages: Sequence[Tensor]) -> list[Tensor]:
    """Multiply the messages of each column with its column of signs, if there are any."""
    if signs is None:
        return list(messages)
    return [rows(s, m) * m for s, m in zip(signs.unbind(1), messages, strict=True)]


def rows(weights: Tensor, h: Tensor) -> Tensor:
    """Shape one weight per row, (n,), so that it multiplies ``h``, (n, ..., F)."""
    return weights.to(h.dtype).view(-1, *(1,) * (h.dim() - 1))


@torch.library.custom_op("mpsn::settle", mutates_args=())
def settle(sums: Tensor) -> Tensor:
    """Return a copy, behind a wall that the compiler does not look through.

    Inductor (seen in torch 2.13 on CPU) may fuse an element-wise reader of a sum with other work
    and schedule both before the additions: silently wrong numbers. A reader of the copy waits.
    """
    return sums.clone()


@settle.register_fake
def _(sums: Tensor) -> Tensor:
    return torch.empty_like(sums)


def add(terms: Sequence[Tensor]) -> Tensor:
    """Add tensors of one shape without stacking them."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
