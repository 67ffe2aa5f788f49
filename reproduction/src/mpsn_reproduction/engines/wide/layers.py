"""Dense layers and norms of several models at once, on rows in blocks (M, R, F)."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.nn import RowNorm
from mpsn.training import world_size
from mpsn.training._distributed import Norm, batch_norms, norms_apart
from mpsn_reproduction.engines.wide import masked
from mpsn_reproduction.engines.wide.batch import WideBatch


class Blocks:
    """Which rows of the current batch are padding; read by norms and activations."""

    def set(self, batch: WideBatch, like: Tensor) -> None:
        """Turn to another batch, with counts in the type of ``like``."""
        self.padded = batch.padded
        self.counts = [n.to(like.dtype)[:, None] for n in batch.valid]  # (M, 1)


class WideLinear(torch.nn.Module):
    """M dense layers: block m of the rows passes through layer m.

    Args:
        layers: Dense layers of one shape.

    Shapes:
        (M R, F) in, or the parts of a concatenation; (M R, G) out.
    """

    def __init__(self, layers: Sequence[torch.nn.Linear]) -> None:
        super().__init__()
        self.followed: Blocks | None = None  # by what sees to the bias, where there is padding
        self.weight = _stack([layer.weight.T for layer in layers])  # (M, F, G)
        self.bias = _stack([layer.bias for layer in layers]) if layers[0].bias is not None else None

    def forward(self, x: Tensor | Sequence[Tensor]) -> Tensor:
        """Apply layer m to block m."""
        x = x if isinstance(x, Tensor) else torch.cat(list(x), dim=-1)
        bias = None if self.followed and self.followed.padded else self.bias
        return Dense.apply(x, self.weight, bias)  # type: ignore[no-untyped-call, no-any-return]

    def split(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """Return the projection of each part; see :class:`mpsn.nn.conv.cin.SplitLinear`."""
        weights = torch.split(self.weight, [part.shape[-1] for part in parts], 1)
        biases = [None] * (len(parts) - 1) + [self.bias]
        return [Dense.apply(*one) for one in zip(parts, weights, biases, strict=True)]  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def write(self, m: int, layer: torch.nn.Linear) -> None:
        """Copy the values of model m to a layer of its own."""
        layer.weight.copy_(self.weight[m].T)
        if self.bias is not None:
            layer.bias.copy_(self.bias[m])


class WideNorm(torch.nn.Module):
    """M batch normalizations over rows, and ReLU: block m through number m, padding left out.

    Like :class:`mpsn.nn.conv._mlp.RowNorm`, a model with fewer than two rows uses its running
    statistics and leaves them alone.

    Args:
        layers: Norms of one width.
        before: The dense layers before them, which leave their bias to the norm if there is
            padding: it changes the running mean, and hardly ever more.
        blocks: Where to find which rows are padding.
        dim: Dimension of the simplices whose features come.
        relu: Whether ReLU follows; in the same pass, it costs nothing.

    Shapes:
        (M R, F) in and out.
    """

    momentum: float | Tensor
    running_mean: Tensor
    running_var: Tensor
    steps: Tensor

    def __init__(
        self,
        layers: Sequence[RowNorm],
        before: WideLinear,
        blocks: Blocks,
        dim: int,
        relu: bool,
    ) -> None:
        super().__init__()
        self._before = (before,)  # in a tuple: no submodule
        before.followed = blocks
        norms = [layer.norm for layer in layers]
        self.blocks, self.dim, self.relu = blocks, dim, relu
        self.eps, self.momentum = norms[0].eps, norms[0].momentum or 0.1
        self.weight = _stack([norm.weight for norm in norms])  # (M, F)
        self.bias = _stack([norm.bias for norm in norms])
        self.register_buffer("running_mean", _stack([n.running_mean for n in norms]).data)
        self.register_buffer("running_var", _stack([n.running_var for n in norms]).data)
        self.register_buffer("steps", torch.stack([n.num_batches_tracked for n in norms]))  # type: ignore

    def forward(self, x: Tensor) -> Tensor:
        """Normalize; shapes stay."""
        models, width = self.weight.shape
        rows = x.view(models, x.shape[0] // models, width)
        if not self.blocks.padded:
            return self._exact(rows).view(x.shape)
        n = self.blocks.counts[self.dim]
        before = self._before[0].bias
        assert before is not None
        if not self.training:
            scale = self.weight * torch.rsqrt(self.running_var + self.eps)
            return masked.apply(
                rows, n, self.running_mean - before, scale, self.bias, self.relu
            ).view(x.shape)
        running = self.running_mean, self.running_var, self.steps
        out: Tensor = masked.Norm.apply(  # type: ignore[no-untyped-call]
            rows, n, self.weight, self.bias, before, running, self.momentum, self.eps, self.relu
        )
        return out.view(x.shape)

    def _exact(self, rows: Tensor) -> Tensor:
        """Let torch do it, with the models side by side as channels: for M = 1 a mere view."""
        models, height, width = rows.shape
        flat = rows.transpose(0, 1).reshape(height, models * width)
        if self.training and world_size() > 1 and not norms_apart():  # one model at a time
            return wide_norms([self], [flat])[0]
        fresh = self.training and height > 1
        self.steps += fresh
        out = nnf.batch_norm(
            flat,
            self.running_mean.view(-1),
            self.running_var.view(-1),
            self.weight.view(-1),
            self.bias.view(-1),
            training=fresh,
            momentum=float(self.momentum),
            eps=self.eps,
        )
        out = torch.relu(out) if self.relu else out
        return out.view(height, models, width).transpose(0, 1).contiguous()

    @torch.no_grad()
    def write(self, m: int, layer: RowNorm) -> None:
        """Copy the values of model m to a norm of its own."""
        norm: Any = layer.norm
        norm.weight.copy_(self.weight[m])
        norm.bias.copy_(self.bias[m])
        norm.running_mean.copy_(self.running_mean[m])
        norm.running_var.copy_(self.running_var[m])
        norm.num_batches_tracked.copy_(self.steps[m])


def wide_norms(layers: Sequence[WideNorm], xs: Sequence[Tensor]) -> list[Tensor]:
    """Normalize rows (n, F) of one model by those of all processes, each by its own layer."""
    rest = [
        Norm(n.running_mean[0], n.running_var[0], n.steps, float(n.momentum), n.eps) for n in layers
    ]
    out = batch_norms(rest, xs, [n.weight[0] for n in layers], [n.bias[0] for n in layers])
    return [torch.relu(y) if n.relu else y for n, y in zip(layers, out, strict=True)]


class WideActivation(torch.nn.Module):
    """The non-linearity after dense layers without a norm; sets padding to zero.

    So padding sends nothing, and nothing comes back.

    Args:
        act: The non-linearity. With ReLU the bias of the dense layers is added here, in one pass.
        before: The dense layers.
        blocks: Where to find which rows are padding.
        dim: Dimension of the simplices whose features come.

    Shapes:
        (M R, F) in and out.
    """

    def __init__(self, act: torch.nn.Module, before: WideLinear, blocks: Blocks, dim: int) -> None:
        super().__init__()
        self._before = (before,)  # in a tuple: no submodule
        self.act, self.blocks, self.dim = act, blocks, dim
        self.relu = isinstance(act, torch.nn.ReLU)
        before.followed = blocks if self.relu else None

    def forward(self, x: Tensor) -> Tensor:
        """Return act(x), and zero in padding."""
        if not self.blocks.padded:
            return self.act(x)  # type: ignore[no-any-return]
        bias = self._before[0].bias
        assert bias is not None
        n = self.blocks.counts[self.dim]
        rows = x.view(len(n), x.shape[0] // len(n), x.shape[1])
        if self.relu:
            out: Tensor = masked.ReLU.apply(rows, n, bias)  # type: ignore[no-untyped-call]
            return out.view(x.shape)
        inside = torch.arange(rows.shape[1], device=x.device)[:, None] < n[:, None]  # (M, R, 1)
        return self.act(x) * inside.view(-1, 1)  # type: ignore[no-any-return]


class Dense(torch.autograd.Function):
    """Dense layers block by block; their gradients add up over the rows in pieces, side by side.

    Few models with many rows each would leave most of a GPU idle otherwise. Autocast leaves
    products with ``out`` alone, so rows and weights are cast here.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return (M R, G) for rows (M R, F) and weights (M, F, G)."""
        ctx.dtype, kind = weight.dtype, x.device.type
        if torch.is_autocast_enabled(kind):
            half = torch.get_autocast_dtype(kind)
            x, weight, bias = x.to(half), weight.to(half), None if bias is None else bias.to(half)
        models, width, out_width = weight.shape
        rows = x.shape[0] // models
        blocks = x.view(models, rows, width)
        ctx.save_for_backward(blocks, weight)
        ctx.bias = bias is not None
        out = x.new_empty(x.shape[0], out_width)  # no view: ReLU in place would copy the base
        to = out.view(models, rows, out_width)
        if bias is None:
            torch.bmm(blocks, weight, out=to)
        else:
            torch.baddbmm(bias[:, None], blocks, weight, out=to)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of rows, weights and biases."""
        x, weight = ctx.saved_tensors
        models, width, out_width = weight.shape
        grad = grad.to(x.dtype).reshape(models, x.shape[1], out_width)
        pieces = models * (x.shape[1] // masked.height(x.shape[1]) if x.shape[1] else 1)
        parts = torch.bmm(
            x.view(pieces, -1, width).transpose(1, 2), grad.reshape(pieces, -1, out_width)
        )
        dense = parts.view(models, -1, width, out_width).sum(1, dtype=ctx.dtype)
        below = None
        if ctx.needs_input_grad[0]:
            below = torch.bmm(grad, weight.transpose(1, 2)).view(-1, width)
        return below, dense, grad.sum(1, dtype=ctx.dtype) if ctx.bias else None


def _stack(values: Sequence[Any]) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.stack([value.detach() for value in values]))
