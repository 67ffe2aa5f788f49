"""One model trained by several processes: each computes its part of every batch, gradients add up.

Weights, random numbers and losses are the same in all processes, so that the model is the one that
a single process trains, up to rounding. In a single process, all functions here do nothing.

Batch norms see the cells of all processes, which takes two messages each in every step. With the
environment variable MPSN_SYNC_NORM=0 they see those of their own process only, as torch's do, and
running statistics are averaged: a step is faster, and the model another one.

Gradients are summed after the backward pass, in one message, rather than by torch's
DistributedDataParallel: batch norms talk during the backward pass, whose order depends on the
complexes of a batch, and between its messages theirs would be mixed up.
"""

import heapq
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import torch
import torch.nn.functional as nnf
from torch import Tensor
from torch import distributed as dist

from mpsn.errors import MPSNError
from mpsn.nn.conv._mlp import RowNorm
from mpsn.training._launch import LostProcess

T = TypeVar("T")
Forward = Callable[[torch.nn.Module, Tensor], Tensor]  # network and positions (B,) to (B, C)


def world_size() -> int:
    """Return the number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process among them; number 0 writes files."""
    return dist.get_rank() if world_size() > 1 else 0


def norms_apart() -> bool:
    """Return whether there are several processes, and batch norms see the cells of their own."""
    return world_size() > 1 and os.environ.get("MPSN_SYNC_NORM", "1") == "0"


def _talk(function: Callable[..., object], message: object) -> None:
    """Call a function that talks to the other processes; say so when one of them is gone."""
    try:
        function(message)
    except RuntimeError as error:
        raise LostProcess(world_size()) from error


def all_sum(x: Tensor) -> Tensor:
    """Return the sum of a tensor over all processes; of one process, the tensor itself."""
    if world_size() == 1:
        return x
    out = x.detach().clone(memory_format=torch.contiguous_format)
    _talk(dist.all_reduce, out)
    return out


def agree(function: Callable[[], T]) -> T:
    """Return what a function returns, or raise what it raises, in the first process."""
    if world_size() == 1:
        return function()
    found: list[Any] = [None]
    if rank() == 0:
        try:
            found = [function()]
        except MPSNError as error:
            found = [error]
    _talk(dist.broadcast_object_list, found)
    if isinstance(found[0], MPSNError):
        raise found[0]
    return found[0]  # type: ignore[no-any-return]


def check_same(value: object, what: str) -> None:
    """Raise unless all processes have the same value."""
    first = agree(lambda: value)
    if int(all_sum(torch.tensor(int(value != first)))):
        raise MPSNError(
            f"Expected the same {what} in all processes, got others in some; start all of them "
            f"with one command, on the same files."
        )


def balance(cells: Tensor, parts: int) -> Tensor:
    """Divide complexes with so many cells (B,) into parts with about as many cells; returns (B,).

    The largest come first, each goes to the part with the fewest cells so far: the largest part has
    at most a third more than it must have.

    Example:
        >>> from mpsn.training._distributed import balance
        >>> balance(torch.tensor([7, 1, 6, 2, 2]), 2)
        tensor([0, 1, 1, 1, 0])
    """
    loads, sizes, part = [(0, i) for i in range(parts)], cells.tolist(), [0] * len(cells)
    for i in cells.argsort(descending=True, stable=True).tolist():
        load, part[i] = loads[0]
        heapq.heapreplace(loads, (load + sizes[i], part[i]))
    return torch.tensor(part, dtype=torch.int64)


def own_part(index: Tensor, cells: Tensor, none: int) -> Tensor:
    """Replace positions (..., B) of complexes that other processes compute by ``none``.

    ``cells`` (..., B) are their sizes. Each batch of B is balanced.
    """
    if world_size() == 1:
        return index
    many = index.shape[-1]
    parts = [balance(one, world_size()) for one in cells.reshape(-1, many)]
    return torch.where(torch.stack(parts).view(index.shape) == rank(), index, none)


def sum_gradients(module: torch.nn.Module) -> None:
    """Give parameters the sums of their gradients over all processes, in one message.

    Those without any gradient keep None. Running statistics that differ become their means.
    """
    if world_size() == 1:
        return
    weights = list(module.parameters())
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in weights]
    there = grads[0].new_tensor([p.grad is not None for p in weights])
    apart = [b for b in module.buffers() if b.is_floating_point() and norms_apart()]
    shares = [buffer / world_size() for buffer in apart]
    flat = torch.cat([there, *(part.reshape(-1) for part in (*grads, *shares))])
    _talk(dist.all_reduce, flat)
    used, *sums = torch.split(flat, [len(there), *(part.numel() for part in (*weights, *apart))])
    for p, some, grad in zip(weights, used.tolist(), sums, strict=False):
        p.grad = grad.view_as(p) if some else None
    for buffer, mean in zip(apart, sums[len(weights) :], strict=True):
        buffer.copy_(mean.view_as(buffer))


class Parallel:
    """Outputs of a network, of which each process computes a part.

    Args:
        forward: Computes the outputs for some complexes.
        cells: Sizes of all complexes, (N,).
    """

    def __init__(self, forward: Forward, cells: Tensor) -> None:
        self.forward, self.cells = forward, cells.cpu()

    def __call__(self, network: torch.nn.Module, index: Tensor) -> Tensor:
        """Return all outputs (B, C); gradients reach the network through this process's part."""
        if world_size() == 1:
            return self.forward(network, index)
        parts = balance(self.cells[index.cpu()], world_size())
        self.at, self.many = (parts == rank()).nonzero()[:, 0].to(index.device), len(index)
        rows = self.forward(network, index[self.at])
        return _Together.apply(rows, self.at, self.many)  # type: ignore[no-any-return, no-untyped-call]

    @contextmanager
    def training(self, network: torch.nn.Module) -> Iterator[None]:
        """Let norms see the cells of all processes inside the block, and dropout all complexes."""
        kinds: dict[type, Callable[..., Tensor]] = {
            RowNorm: self._norm,
            torch.nn.Dropout: self._drop,
        }
        layers: list[Any] = [part for part in network.modules() if type(part) in kinds]
        before = [layer.__dict__.get("forward") for layer in layers]
        if world_size() > 1:
            for layer in layers:
                layer.forward = partial(kinds[type(layer)], layer, layer.forward)
        try:
            yield
        finally:
            for layer, forward in zip(layers, before, strict=True):
                layer.__dict__.pop("forward", None)
                if forward is not None:
                    layer.forward = forward

    def _norm(self, layer: RowNorm, alone: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        norm: Any = layer.norm
        if not layer.training or norms_apart():
            return alone(x)
        running = norm.running_mean, norm.running_var, norm.num_batches_tracked
        rows = x.reshape(-1, x.shape[-1])
        out = batch_norm(rows, norm.weight, norm.bias, running, norm.momentum, norm.eps)
        return out.view(x.shape)

    def _drop(
        self, layer: torch.nn.Dropout, alone: Callable[[Tensor], Tensor], x: Tensor
    ) -> Tensor:
        """Drop what one process would drop, from rows (B, F) of which these are a part."""
        if not layer.training or layer.p == 0:
            return x
        return x * alone(x.new_ones(self.many, *x.shape[1:]))[self.at]


class _Together(torch.autograd.Function):
    """Rows (b, C) of each process at their positions among all (B,)."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, at: Tensor, many: int) -> Tensor:
        ctx.save_for_backward(at)
        return all_sum(rows.new_zeros(many, *rows.shape[1:]).index_copy_(0, at, rows))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad[ctx.saved_tensors[0]], None, None


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    running: tuple[Tensor, Tensor, Tensor],
    momentum: float,
    eps: float,
) -> Tensor:
    """Normalize rows (n, F) by the mean and variance of the rows of all processes.

    torch.nn.SyncBatchNorm does so on GPUs only. Fewer than two rows in all are normalized by the
    running statistics, which are updated otherwise: mean and variance (F,), and the number of
    updates.
    """
    return _Norm.apply(x, weight, bias, running, momentum, eps)  # type: ignore[no-any-return, no-untyped-call]


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        running: tuple[Tensor, Tensor, Tensor],
        momentum: float,
        eps: float,
    ) -> Tensor:
        width = x.shape[1]
        every = weight.new_zeros(world_size(), 1 + 2 * width)
        if len(x):
            wide = x.to(weight.dtype)  # sums of half precision would be far off
            mean = wide.mean(0)  # torch.var_mean is ten times slower
            squares = (wide - mean).square().sum(0)
            every[rank()] = torch.cat([weight.new_full((1,), len(x)), mean, squares])
        n, means, parts = torch.split(all_sum(every), [1, width, width], 1)  # of each process
        many = n.sum()
        old_mean, old_var, steps = running
        mean = torch.where(many > 1, (n * means).sum(0) / many, old_mean)
        squares = (parts + n * (means - mean).square()).sum(0)
        var = torch.where(many > 1, squares / many, old_var)
        old_mean.lerp_(mean, momentum)
        old_var.lerp_(torch.where(many > 1, squares / (many - 1), old_var), momentum)
        steps += many > 1
        ctx.save_for_backward(x, weight, mean, torch.rsqrt(var + eps), many)
        return nnf.batch_norm(x, mean, var, weight, bias, eps=eps)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, inverse, many = ctx.saved_tensors
        grad, centered = grad.to(mean.dtype), x - mean
        biases, weights = grad.sum(0), (grad * centered).sum(0) * inverse
        share = (many > 1) / many.clamp(min=1)
        level, slope = all_sum(torch.stack([biases, weights])) * share
        rows = torch.addcmul(grad - level, centered, inverse * slope, value=-1)
        return rows.mul_(weight * inverse).to(x.dtype), weights, biases, None, None, None
