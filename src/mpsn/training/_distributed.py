"""One model trained by several processes: each computes its part of every batch, gradients add up.

Weights, random numbers and losses are the same in all processes, so that the model is the one that
a single process trains, up to rounding. In a single process, all functions here do nothing.

Batch norms see the cells of all processes. In every step that takes two messages for all norms that
do not depend on each other: six for a layer of CIN. With the environment variable MPSN_SYNC_NORM=0
they see those of their own process only, as torch's do, and running statistics are averaged: a step
is faster, and the model another one.

Gradients are summed after the backward pass, in one message, rather than by torch's
DistributedDataParallel: batch norms talk during the backward pass, whose order depends on the
complexes of a batch, and between its messages theirs would be mixed up.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as nnf
from torch import Tensor
from torch import distributed as dist

from mpsn.complexes.complex import Complex
from mpsn.nn.conv import CINConv, SINConv
from mpsn.nn.conv._mlp import RowNorm
from mpsn.training._processes import all_sum, balance, rank, talk, world_size

Forward = Callable[[torch.nn.Module, Tensor], Tensor]  # network and positions (B,) to (B, C)


def norms_apart() -> bool:
    """Return whether there are several processes, and batch norms see the cells of their own."""
    return world_size() > 1 and os.environ.get("MPSN_SYNC_NORM", "1") == "0"


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
    talk(dist.all_reduce, flat)
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
        kinds: dict[type, Callable[..., Any]] = {
            RowNorm: self._norm,
            CINConv: partial(in_step, RowNorm, row_norms),
            SINConv: partial(in_step, RowNorm, row_norms),
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
        return alone(x) if not layer.training or norms_apart() else row_norms([layer], [x])[0]

    def _drop(
        self, layer: torch.nn.Dropout, alone: Callable[[Tensor], Tensor], x: Tensor
    ) -> Tensor:
        """Drop what one process would drop, from rows (B, F) of which these are a part."""
        if not layer.training or layer.p == 0:
            return x
        return x * alone(x.new_ones(self.many, *x.shape[1:]))[self.at]


def in_step(
    kind: type,
    normalize: Callable[..., list[Tensor]],
    conv: CINConv,
    alone: Callable[..., list[Tensor]],
    K: Complex,
    xs: Sequence[Tensor | None],
    dims: Sequence[int] | None = None,
) -> list[Tensor]:
    """Return the outputs of a layer whose perceptrons run side by side, for fewer messages.

    ``normalize`` takes norms, of a ``kind``, that do not depend on each other, and rows for each.
    """
    normed = any(isinstance(part, kind) for part in conv.modules())
    if not conv.training or not normed or norms_apart():
        return alone(K, xs, dims)

    def run(perceptrons: Sequence[Any], xs: list[Any]) -> list[Any]:
        for parts in zip(*perceptrons, strict=True):
            if isinstance(parts[0], kind):
                xs = normalize(parts, xs)
            else:
                xs = [part(x) for part, x in zip(parts, xs, strict=True)]
        return xs

    dims = range(conv.max_dim + 1) if dims is None else dims
    hs, mlps = conv.inputs(K, xs), [conv.mlp_boundary, conv.mlp_upper]
    mlps += [conv.mlp_lower] if conv.mlp_lower else []
    readers = [conv.from_faces, conv.from_upper, conv.from_lower][: len(mlps)]
    parts = [read(K, hs, k) for k in dims for read in readers]
    rows = run([mlp[k] for k in dims for mlp in mlps], parts)
    each = [rows[start : start + len(mlps)] for start in range(0, len(rows), len(mlps))]
    return run([conv.mlp_update[k] for k in dims], each)


def row_norms(layers: Sequence[RowNorm], xs: Sequence[Tensor]) -> list[Tensor]:
    """Normalize features by those of all processes, each by its own layer, with one message."""
    norms: list[Any] = [layer.norm for layer in layers]
    rest = [
        Norm(n.running_mean, n.running_var, n.num_batches_tracked, n.momentum, n.eps) for n in norms
    ]
    rows = [x.reshape(-1, x.shape[-1]) for x in xs]
    out = batch_norms(rest, rows, [n.weight for n in norms], [n.bias for n in norms])
    return [y.view(x.shape) for x, y in zip(xs, out, strict=True)]


class _Together(torch.autograd.Function):
    """Rows (b, C) of each process at their positions among all (B,)."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, at: Tensor, many: int) -> Tensor:
        ctx.save_for_backward(at)
        return all_sum(rows.new_zeros(many, *rows.shape[1:]).index_copy_(0, at, rows))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad[ctx.saved_tensors[0]], None, None


class Norm(NamedTuple):
    """What a batch norm has beside weight and bias: running statistics, which it updates."""

    mean: Tensor  # (F,)
    var: Tensor  # (F,)
    steps: Tensor  # (), the number of updates
    momentum: float
    eps: float


def batch_norms(
    norms: Sequence[Norm], xs: Sequence[Tensor], weights: Sequence[Tensor], biases: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Normalize rows (n, F) by the mean and variance of the rows of all processes.

    torch.nn.SyncBatchNorm does so on GPUs only, and one by one; here several norms share a message.
    Fewer than two rows in all are normalized by the running statistics, which are updated
    otherwise.
    """
    return _Norms.apply(norms, *xs, *weights, *biases)  # type: ignore[no-any-return, no-untyped-call]


class _Norms(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, norms: Sequence[Norm], *tensors: Tensor) -> tuple[Tensor, ...]:
        many = len(norms)
        xs, weights, biases = tensors[:many], tensors[many : 2 * many], tensors[2 * many :]
        own = []
        for x, weight in zip(xs, weights, strict=True):
            wide = x.to(weight.dtype)  # sums of half precision would be far off
            mean = wide.mean(0) if len(x) else wide.new_zeros(x.shape[1])  # var_mean: 10x slower
            squares = (wide - mean).square_().sum(0)
            own += [weight.new_full((1,), len(x)), mean, squares]
        sizes = [len(part) for part in own]
        every = weights[0].new_zeros(world_size(), sum(sizes))
        every[rank()] = torch.cat(own)
        found = iter(torch.split(all_sum(every), sizes, 1))  # of each process
        out, saved = [], []
        for norm, x, weight, bias in zip(norms, xs, weights, biases, strict=True):
            n, means, parts = next(found), next(found), next(found)
            total = n.sum()
            mean = torch.where(total > 1, (n * means).sum(0) / total, norm.mean)
            squares = (parts + n * (means - mean).square()).sum(0)
            var = torch.where(total > 1, squares / total, norm.var)
            norm.mean.lerp_(mean, norm.momentum)
            norm.var.lerp_(torch.where(total > 1, squares / (total - 1), norm.var), norm.momentum)
            norm.steps.add_(total > 1)
            saved += [x, weight, mean, torch.rsqrt(var + norm.eps), total]
            out.append(nnf.batch_norm(x, mean, var, weight, bias, eps=norm.eps))
        ctx.save_for_backward(*saved)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        saved, own = ctx.saved_tensors, []
        each = [saved[at : at + 5] for at in range(0, len(saved), 5)]
        for grad, (x, weight, mean, inverse, _) in zip(grads, each, strict=True):
            if not len(x):
                own += [torch.zeros_like(weight), torch.zeros_like(weight)]
                continue
            rest = (weight, None, None, mean, inverse, True, 0.0, [False, True, True])
            pair = grad.to(mean.dtype), x.to(mean.dtype)
            own += torch.ops.aten.native_batch_norm_backward(*pair, *rest)[:0:-1]  # bias, weight
        found = iter(torch.split(all_sum(torch.cat(own)), [len(part) for part in own]))
        rows = []
        for grad, (x, weight, mean, inverse, total) in zip(grads, each, strict=True):
            share = (total > 1) / total.clamp(min=1)
            level, slope = next(found) * share, next(found) * share
            wide = (grad - level).addcmul_(x - mean, inverse * slope, value=-1)
            rows.append(wide.mul_(weight * inverse).to(x.dtype))
        return None, *rows, *own[1::2], *own[::2]
