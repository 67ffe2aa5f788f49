"""Gather and scatter along a face table, each the other's derivative."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn.nn.functional.cofaces import cofaces


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
    def forward(ctx: Any, h: Tensor, table: Tensor, signs: Tensor | None) -> Tensor:
        """Return the sums over faces, (n, ..., F)."""
        ctx.save_for_backward(table, signs)
        ctx.count = h.shape[0]
        return sum_faces(h, table, signs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """Multiply with B."""
        table, signs = ctx.saved_tensors
        if torch.compiler.is_compiling():
            return sum_cofaces(grad, table, ctx.count, signs), None, None
        out = Coboundary.apply(grad, table, ctx.count, signs)  # type: ignore[no-untyped-call]
        return out, None, None


class Coboundary(torch.autograd.Function):
    r"""The product :math:`B h` along a face table; its derivative is :class:`Boundary`."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, table: Tensor, count: int, signs: Tensor | None) -> Tensor:
        """Return the sums over co-faces, (count, ..., F)."""
        ctx.save_for_backward(table, signs)
        return sum_cofaces(h, table, count, signs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        """Multiply with the transpose of B."""
        table, signs = ctx.saved_tensors
        if torch.compiler.is_compiling():
            return sum_faces(grad, table, signs), None, None, None
        return Boundary.apply(grad, table, signs), None, None, None  # type: ignore[no-untyped-call]


class Exchange(torch.autograd.Function):
    """Leave-one-out inside each row of a table, then :class:`Scatter`, with fewer passes.

    Entry i of a row receives the sum of the row's other messages; message i receives the sum of the
    other entries' gradients.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, count: int, *messages: Tensor) -> Tensor:
        """Return the sums, (count, ..., F)."""
        ctx.save_for_backward(table)
        return exchange_rows(table, count, *messages)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Hand every message the others' gradients, gathered and added up in one pass."""
        (table,) = ctx.saved_tensors
        columns = table.unbind(1)
        rest = [torch.stack([*columns[:i], *columns[i + 1 :]], 1) for i in range(len(columns))]
        return None, None, *(Boundary.apply(grad, t, None) for t in rest)  # type: ignore[no-untyped-call]


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


def sum_faces(h: Tensor, table: Tensor, signs: Tensor | None) -> Tensor:
    """Return the signed sums of the rows that each row of a table names, (n, ..., F)."""
    if torch.compiler.is_compiling() or not table.numel() or not h.is_floating_point():
        return add(times(signs, read_rows(h, table)))
    weights = None if signs is None else signs.to(h.dtype)
    flat = h.reshape(h.shape[0], -1)  # one pass over memory, where gathering takes several
    out = torch.nn.functional.embedding_bag(table, flat, mode="sum", per_sample_weights=weights)
    return out.view(table.shape[0], *h.shape[1:])


def sum_cofaces(h: Tensor, table: Tensor, count: int, signs: Tensor | None) -> Tensor:
    """Add each row of h, signed, to all rows that its row of a table names, (count, ..., F)."""
    # embedding_bag has a fast kernel for these; in double precision it can be the slower way.
    if torch.compiler.is_compiling() or not (
        h.is_cpu and h.dtype == torch.float32 and h.numel() and table.numel()
    ):
        return add_rows(table, count, *times(signs, [h] * table.shape[1]))
    above = cofaces(table, count)
    weights = None if signs is None else signs.reshape(-1)[above.places].to(h.dtype)
    out = torch.nn.functional.embedding_bag(
        above.simplices,
        h.reshape(h.shape[0], -1),
        above.offsets,
        mode="sum",
        per_sample_weights=weights,
    )
    return out.view(count, *h.shape[1:])


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
