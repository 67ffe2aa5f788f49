"""Batch normalization and ReLU of blocks with padding, in as few passes over memory as possible.

On a GPU each function below becomes one kernel by way of ``torch.compile``.
"""

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

HEIGHT = 256  # rows that one piece of work takes

Running = tuple[Tensor, Tensor, Tensor]  # mean and variance, (M, F), and steps, (M,)


def height(rows: int) -> int:
    """Return the number of rows in a piece; those of a block, if it cannot be cut evenly."""
    return rows if rows % HEIGHT else HEIGHT


class Norm(torch.autograd.Function):
    """Batch normalization of blocks (M, R, F) over their first n rows, and ReLU; the rest is zero.

    A block with fewer than two rows uses the running statistics instead of its own. The rows lack
    ``before``, the bias of the dense layer before.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        n: Tensor,
        weight: Tensor,
        bias: Tensor,
        before: Tensor,
        running: Running,
        momentum: float | Tensor,
        eps: float,
        relu: bool,
    ) -> Tensor:
        """Return normalized rows; n is (M, 1), weight and biases are (M, F)."""
        pieces = _run(moments, x, n)
        mean, scale, inverse = _call(statistics, *pieces, n, weight, before, running, momentum, eps)
        ctx.save_for_backward(x, n, mean, scale, bias, inverse)
        ctx.relu = relu
        return apply(x, n, mean, scale, bias, relu)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of rows, weight and both biases."""
        x, n, mean, scale, bias, inverse = ctx.saved_tensors
        pieces = _run(gradient_sums, x, grad, n, mean, scale, bias, ctx.relu)
        *grads, level, slope = _call(gradient_totals, *pieces, n, scale, inverse)
        below = _run(gradient, x, grad, n, mean, scale, bias, level, slope, ctx.relu)
        return below.view(x.shape), None, *grads, None, None, None, None


class ReLU(torch.autograd.Function):
    """ReLU of blocks (M, R, F) plus a bias (M, F) in their first n rows; the rest is zero."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, n: Tensor, bias: Tensor) -> Tensor:
        """Return max(x + bias, 0); n is (M, 1)."""
        out: Tensor = _run(rectified, x, n, bias).view(x.shape)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of rows and bias."""
        (out,) = ctx.saved_tensors
        below, sums = _run(unrectified, out, grad)
        return below.view(out.shape), None, sums.sum(1)


def apply(x: Tensor, n: Tensor, mean: Tensor, scale: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """Return (x - mean) scale + bias, and ReLU of it, in the first n rows of blocks (M, R, F)."""
    return _run(normal, x, n, mean, scale, bias, relu).view(x.shape)  # type: ignore[no-any-return]


# All below take pieces (M, C, H, F) of blocks, n (M, 1), and statistics (M, F). Blocks may be in
# half precision; n and all sums are not.


def moments(x: Tensor, n: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return for each piece its mean, its squares about that, and its number of rows."""
    inside, sizes = _rows(x, n)
    x = torch.where(inside, x, 0).to(n.dtype)
    mean = x.sum(2) / sizes.clamp(min=1)  # (M, C, F)
    squares = torch.where(inside, x - mean[:, :, None], 0).square().sum(2)
    return mean, squares, sizes


def statistics(
    means: Tensor,
    squares: Tensor,
    sizes: Tensor,
    n: Tensor,
    weight: Tensor,
    before: Tensor,
    running: Running,
    momentum: float | Tensor,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Combine the moments of pieces; return mean, scale and inverse deviation of blocks.

    The running statistics of blocks with two rows or more are updated.
    """
    enough = n > 1
    mean = (means * sizes).sum(1) / n.clamp(min=1)
    var = (squares + sizes * (means - mean[:, None]).square()).sum(1) / n.clamp(min=1)
    running_mean, running_var, steps = running
    mean = torch.where(enough, mean, running_mean - before)
    var = torch.where(enough, var, running_var)
    unbiased = var * (n.clamp(min=1) / (n - 1).clamp(min=1))
    running_mean.lerp_(mean + before, momentum)
    running_var.lerp_(unbiased, momentum)
    steps += enough[:, 0]
    inverse = torch.rsqrt(var + eps)
    return mean, inverse * weight, inverse


def normal(x: Tensor, n: Tensor, mean: Tensor, scale: Tensor, bias: Tensor, relu: bool) -> Tensor:
    """Normalize."""
    inside, _ = _rows(x, n)
    out = (x - _wide(mean)) * _wide(scale) + _wide(bias)
    return torch.where(inside, out.clamp(min=0) if relu else out, 0).to(x.dtype)


def gradient_sums(
    x: Tensor, grad: Tensor, n: Tensor, mean: Tensor, scale: Tensor, bias: Tensor, relu: bool
) -> tuple[Tensor, Tensor]:
    """Return for each piece the sums of gradients, and of gradients times centered rows."""
    grad, centered = _through(x, grad, n, mean, scale, bias, relu)
    return grad.sum(2), (grad * centered).sum(2)


def gradient_totals(
    sums: Tensor, products: Tensor, n: Tensor, scale: Tensor, inverse: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients of weight and both biases, and what each row's depends on."""
    share = (n > 1) / n.clamp(min=1)
    bias = sums.sum(1)
    weight = products.sum(1) * inverse
    before = torch.where(n > 1, 0, scale * bias)
    return weight, bias, before, bias * share, weight * inverse * share


def gradient(
    x: Tensor,
    grad: Tensor,
    n: Tensor,
    mean: Tensor,
    scale: Tensor,
    bias: Tensor,
    level: Tensor,
    slope: Tensor,
    relu: bool,
) -> Tensor:
    """Return the gradients of rows."""
    grad, centered = _through(x, grad, n, mean, scale, bias, relu)
    inside, _ = _rows(x, n)
    out = (grad - _wide(level) - centered * _wide(slope)) * _wide(scale)
    return torch.where(inside, out, 0).to(x.dtype)


def rectified(x: Tensor, n: Tensor, bias: Tensor) -> Tensor:
    """Add a bias, and apply ReLU."""
    return torch.where(_rows(x, n)[0], (x + _wide(bias)).clamp(min=0), 0).to(x.dtype)


def unrectified(out: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of rows, and for each piece their sums."""
    below = torch.where(out <= 0, 0, grad)
    return below, below.sum(2, dtype=torch.promote_types(below.dtype, torch.float32))


def _through(
    x: Tensor, grad: Tensor, n: Tensor, mean: Tensor, scale: Tensor, bias: Tensor, relu: bool
) -> tuple[Tensor, Tensor]:
    """Send gradients back through padding and ReLU; return them, and centered rows."""
    inside, _ = _rows(x, n)
    centered = torch.where(inside, x - _wide(mean), 0)
    cut = ~inside | (centered * _wide(scale) + _wide(bias) <= 0) if relu else ~inside
    return torch.where(cut, 0, grad).to(n.dtype), centered


def _rows(x: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
    """Return which rows (M, C, H, 1) are no padding, and their number (M, C, 1)."""
    first = torch.arange(x.shape[1], device=x.device)[None, :, None] * x.shape[2]
    sizes = (n[:, None] - first).clamp(0, x.shape[2])
    place = torch.arange(x.shape[2], device=x.device)[None, None, :, None]
    return place < sizes[:, :, None], sizes


def _wide(statistic: Tensor) -> Tensor:
    return statistic[:, None, None]


def _run(function: Callable[..., Any], x: Tensor, *rest: Any) -> Any:
    """Call a function on pieces of the blocks."""
    models, rows, width = x.shape
    high = height(rows)
    pieces = rows // high if high else 1

    def cut(t: Any) -> Any:
        blocks = isinstance(t, Tensor) and t.dim() == 3
        return t.reshape(models, pieces, high, width) if blocks else t

    return _call(function, cut(x), *map(cut, rest))


def _call(function: Callable[..., Any], x: Tensor, *rest: Any) -> Any:
    """Call a function; on a GPU, compiled: once per width and number of models."""
    if not x.is_cuda or importlib.util.find_spec("triton") is None:
        return function(x, *rest)
    for t in (x, *rest):
        if isinstance(t, Tensor) and t.dim() > 2 and t.shape[1] > 1:
            torch._dynamo.mark_dynamic(t, 1)  # good for any number of pieces
    with torch._dynamo.config.patch(automatic_dynamic_shapes=False, recompile_limit=64):
        return _compiled(function)(x, *rest)


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    # Values are computed anew for each sum that needs them, instead of written and read again.
    return torch.compile(function, options={"realize_reads_threshold": 16})
