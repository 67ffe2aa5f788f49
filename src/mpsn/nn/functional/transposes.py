"""Gather and scatter along a face table, each the other's derivative."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


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
    """Add messages to the rows named by each column of a table; its derivative is Gather.

    A single message goes to the rows of all columns.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, count: int, *messages: Tensor) -> Tensor:
        """Return the sums, (count, ..., F)."""
        ctx.save_for_backward(table)
        ctx.single = len(messages) == 1
        return add_rows(table, count, *messages)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Hand every message the gradient of the row it went to."""
        (table,) = ctx.saved_tensors
        if torch.compiler.is_compiling():
            grads = read_rows(grad, table)
        else:
            grads = Gather.apply(grad, table)  # type: ignore[no-untyped-call]
        return None, None, *((add(grads),) if ctx.single else grads)


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
        grads = Gather.apply(grad, table)  # type: ignore[no-untyped-call]
        total = add(grads)
        if torch.is_grad_enabled():  # a second derivative is asked for: keep what was gathered
            return None, None, *(total - own for own in grads)
        return None, None, *(torch.sub(total, own, out=own) for own in grads)


def exchange_rows(table: Tensor, count: int, *messages: Tensor) -> Tensor:
    """Give the entries of each row of a table the sum of the row's other messages."""
    total = add(messages)
    out, others = total.new_zeros((count, *total.shape[1:])), torch.empty_like(total)
    for column, own in zip(table.unbind(1), messages, strict=True):
        out.index_add_(0, column, torch.sub(total, own, out=others))
    return out


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
    """Add messages (n, ..., F), one tensor per column or one for all, to the rows a table names."""
    out = messages[0].new_zeros((count, *messages[0].shape[1:]))
    for i, column in enumerate(table.unbind(1)):
        # In place on a fresh tensor: one buffer for all columns.
        out.index_add_(0, column, messages[i if len(messages) > 1 else 0])
    return settle(out) if torch.compiler.is_compiling() else out


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
