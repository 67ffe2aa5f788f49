"""Gather and scatter along a face table, each the other's derivative."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn.complexes.tracing import transformed, watched
from mpsn.nn.functional.cofaces import cofaces, known
from mpsn.nn.functional.row_sums import sum_rows


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
        return differentiable(Scatter, add_rows, table, ctx.count, *grads), None


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
        return None, None, *differentiable(Gather, read_rows, grad, table)


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
        out = differentiable(Coboundary, sum_cofaces, grad, table, ctx.count, signs)
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
        return differentiable(Boundary, sum_faces, grad, table, signs), None, None, None


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
        return None, None, *(differentiable(Boundary, sum_faces, grad, t, None) for t in rest)


def exchange_rows(table: Tensor, count: int, *messages: Tensor) -> Tensor:
    """Give the entries of each row of a table the sum of the row's other messages."""
    return add_rows(table, count, *others(messages))


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
    """Call a function by way of autograd where a gradient is asked for, plainly otherwise.

    Plainly also under transforms of ``torch.func``, which differentiate its steps by themselves.
    """
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    graded = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    if graded and not any(map(transformed, tensors)):
        return function.apply(*inputs)  # type: ignore[no-untyped-call]
    return plain(*inputs)


def read_rows(h: Tensor, table: Tensor) -> tuple[Tensor, ...]:
    """Return the rows (n, ..., F) of h that each column of a table names."""
    return tuple(h.index_select(0, column) for column in table.unbind(1))


def add_rows(table: Tensor, count: int, *messages: Tensor) -> Tensor:
    """Add messages (n, ..., F), one tensor per column, to the rows a table names."""
    out = messages[0].new_zeros((count, *messages[0].shape[1:]))
    # In place on a fresh tensor, one for all columns, but where vmap could not write to it.
    add_to = Tensor.index_add if any(map(watched, messages)) else Tensor.index_add_
    for column, message in zip(table.unbind(1), messages, strict=True):
        out = add_to(out, 0, column, message)
    return settle(out) if torch.compiler.is_compiling() else out


def sum_faces(h: Tensor, table: Tensor, signs: Tensor | None) -> Tensor:
    """Return the signed sums of the rows that each row of a table names, (n, ..., F)."""
    if watched(h) or not table.numel() or not h.is_floating_point():
        return add(times(signs, read_rows(h, table)))
    n, width = table.shape
    ptr = torch.arange(0, n * width + 1, width, device=table.device)
    return sum_rows(h, table.reshape(-1), ptr, None if signs is None else signs.reshape(-1))


def sum_cofaces(h: Tensor, table: Tensor, count: int, signs: Tensor | None) -> Tensor:
    """Add each row of h, signed, to all rows that its row of a table names, (count, ..., F)."""
    above = None
    if not watched(h) and table.numel() and h.is_floating_point():
        above = cofaces(table, count) if h.is_cpu else known(table)
    if above is None:
        return add_rows(table, count, *times(signs, [h] * table.shape[1]))
    weights = None if signs is None else signs.reshape(-1)[above.places]
    return sum_rows(h, above.simplices, above.ptr, weights)


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


def add_into(own: Tensor, other: Tensor) -> Tensor:
    """Add in place to a tensor of the caller's own, but where vmap could not write to it."""
    return own + other if transformed(own) else own.add_(other)


def add(terms: Sequence[Tensor]) -> Tensor:
    """Add tensors of one shape without stacking them."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
