"""Gather and scatter along a face table, each the other's derivative."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Gather(torch.autograd.Function):
    """Rows of h named by each column of a table; its derivative is :class:`Scatter`.

    Left to itself, autograd would fill and add up a tensor per column.
    """

    @staticmethod
    def forward(h: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        """Return one tensor (n, ..., F) per column."""
        return tuple(h.index_select(0, column) for column in table.unbind(1))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Any) -> None:
        """Keep the table, and how many rows h has."""
        h, table = inputs
        ctx.save_for_backward(table)
        ctx.count = h.shape[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Send the gradients back to where the rows came from."""
        (table,) = ctx.saved_tensors
        if torch.compiler.is_compiling():
            return add_rows(grads, table, ctx.count), None
        return Scatter.apply(table, ctx.count, *grads), None  # type: ignore[no-untyped-call]


class Scatter(torch.autograd.Function):
    """Add messages to the rows named by each column of a table; its derivative is Gather.

    A single message goes to the rows of all columns.
    """

    @staticmethod
    def forward(table: Tensor, count: int, *messages: Tensor) -> Tensor:
        """Return the sums, (count, ..., F)."""
        return add_rows(messages, table, count)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the table."""
        ctx.save_for_backward(inputs[0])
        ctx.single = len(inputs) == 3

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Hand every message the gradient of the row it went to."""
        (table,) = ctx.saved_tensors
        if torch.compiler.is_compiling():
            grads = Gather.forward(grad, table)
        else:
            grads = Gather.apply(grad, table)  # type: ignore[no-untyped-call]
        return None, None, *((add(grads),) if ctx.single else grads)


def add_rows(messages: Sequence[Tensor], table: Tensor, count: int) -> Tensor:
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
