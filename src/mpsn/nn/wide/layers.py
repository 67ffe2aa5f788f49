"""Dense layers and norms of several models at once, on rows in blocks (M, R, F)."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.nn.conv.mlp import RowNorm
from mpsn.nn.wide.batch import WideBatch


class Blocks:
    """Which rows of the batch at hand are padding; all norms of a wide model look here."""

    def set(self, batch: WideBatch, like: Tensor) -> None:
        """Turn to another batch, with masks in the type of ``like``."""
        self.padded = batch.padded
        if not batch.padded:
            return
        self.counts = [n.to(like.dtype).view(-1, 1, 1) for n in batch.valid]  # (M, 1, 1)
        self.masks = []  # (M, R, 1), 1 for what is no padding
        for k, n in enumerate(batch.valid):
            place = torch.arange(batch.K.count(k) // batch.models, device=n.device)
            self.masks.append((place < n[:, None]).to(like.dtype)[:, :, None])


class WideLinear(torch.nn.Module):
    """M dense layers: block m of the rows passes through layer m.

    Args:
        layers: Dense layers of one shape.

    Shapes:
        (M R, F) in, (M R, G) out.
    """

    def __init__(self, layers: Sequence[torch.nn.Linear]) -> None:
        super().__init__()
        self.weight = _stack([layer.weight for layer in layers])  # (M, G, F)
        self.bias = _stack([layer.bias for layer in layers]) if layers[0].bias is not None else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply layer m to block m."""
        blocks = x.view(self.weight.shape[0], -1, x.shape[-1])
        weight = self.weight.transpose(1, 2)
        if self.bias is None:
            return torch.bmm(blocks, weight).view(x.shape[0], -1)
        return torch.baddbmm(self.bias[:, None], blocks, weight).view(x.shape[0], -1)

    @torch.no_grad()
    def write(self, m: int, layer: torch.nn.Linear) -> None:
        """Copy the values of model m to a layer of its own."""
        layer.weight.copy_(self.weight[m])
        if self.bias is not None:
            layer.bias.copy_(self.bias[m])


class WideNorm(torch.nn.Module):
    """M batch normalisations over rows: block m through number m, padding left out.

    Like :class:`mpsn.nn.conv.mlp.RowNorm`, a model with fewer than two rows uses its running
    statistics and leaves them alone.

    Args:
        layers: Norms of one width.
        blocks: Where to find which rows are padding.
        dim: Dimension of the simplices whose features come.

    Shapes:
        (M R, F) in and out; what comes out in the rows of padding is of no use.
    """

    running_mean: Tensor
    running_var: Tensor
    steps: Tensor

    def __init__(self, layers: Sequence[RowNorm], blocks: Blocks, dim: int) -> None:
        super().__init__()
        norms = [layer.norm for layer in layers]
        self.blocks, self.dim = blocks, dim
        self.eps, self.momentum = norms[0].eps, norms[0].momentum
        self.weight = _stack([norm.weight for norm in norms])  # (M, F)
        self.bias = _stack([norm.bias for norm in norms])
        self.register_buffer("running_mean", torch.stack([n.running_mean for n in norms]))
        self.register_buffer("running_var", torch.stack([n.running_var for n in norms]))
        self.register_buffer("steps", torch.stack([n.num_batches_tracked for n in norms]))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise; shapes stay."""
        models, width = self.weight.shape
        rows = x.view(models, -1, width)
        if not self.training:
            scale = self.weight * torch.rsqrt(self.running_var + self.eps)
            shift = self.bias - self.running_mean * scale
            return torch.addcmul(shift[:, None], rows, scale[:, None]).view(x.shape)
        if not self.blocks.padded:
            return self._exact(rows).view(x.shape)
        n = self.blocks.counts[self.dim]
        out, mean, var = _MaskedNorm.apply(  # type: ignore[no-untyped-call]
            rows,
            self.weight[:, None],
            self.bias[:, None],
            self.blocks.masks[self.dim],
            n,
            self.running_mean[:, None],
            self.running_var[:, None],
            self.eps,
        )
        with torch.no_grad():
            n = n[:, 0]
            self.running_mean.lerp_(mean[:, 0], self.momentum)
            unbiased = var[:, 0] * torch.where(n > 1, n / (n - 1), 1)
            self.running_var.lerp_(unbiased, self.momentum)
            self.steps += n[:, 0] > 1
        return out.view(x.shape)  # type: ignore[no-any-return]

    def _exact(self, rows: Tensor) -> Tensor:
        """Let torch do it, with the models side by side as channels: for M = 1 a mere view."""
        models, height, width = rows.shape
        self.steps += height > 1
        out = nnf.batch_norm(
            rows.transpose(0, 1).reshape(height, models * width),
            self.running_mean.view(-1),
            self.running_var.view(-1),
            self.weight.view(-1),
            self.bias.view(-1),
            training=height > 1,
            momentum=self.momentum,
            eps=self.eps,
        )
        return out.view(height, models, width).transpose(0, 1).contiguous()

    @torch.no_grad()
    def write(self, m: int, layer: RowNorm) -> None:
        """Copy the values of model m to a norm of its own."""
        norm = layer.norm
        norm.weight.copy_(self.weight[m])
        norm.bias.copy_(self.bias[m])
        norm.running_mean.copy_(self.running_mean[m])
        norm.running_var.copy_(self.running_var[m])
        norm.num_batches_tracked.copy_(self.steps[m])


class ZeroPadding(torch.nn.Module):
    """Set the features of padding to zero, so that it sends nothing and nothing comes back.

    Args:
        blocks: Where to find which rows are padding.
        dim: Dimension of the simplices whose features come.
    """

    def __init__(self, blocks: Blocks, dim: int) -> None:
        super().__init__()
        self.blocks, self.dim = blocks, dim

    def forward(self, x: Tensor) -> Tensor:
        """Return features (M R, F) with zero rows."""
        return x * self.blocks.masks[self.dim].view(-1, 1) if self.blocks.padded else x


class _MaskedNorm(torch.autograd.Function):
    """Batch normalisation of blocks (M, R, F) over the rows whose mask is 1.

    Few passes over memory, which is all that counts here. The gradient that comes back must be
    zero where the mask is.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        mask: Tensor,
        n: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return normalised rows, and mean and biased variance (M, 1, F)."""
        enough = n > 1  # (M, 1, 1)
        share = enough / n.clamp(min=1)
        mean = torch.where(enough, torch.bmm(mask.transpose(1, 2), x) * share, running_mean)
        centered = (x - mean).mul_(mask)
        squares = torch.linalg.vector_norm(centered, dim=1, keepdim=True).square_()
        var = torch.where(enough, squares * share, running_var)
        scale = torch.rsqrt(var + eps)
        centered.mul_(scale)
        ctx.save_for_backward(centered, scale * weight, mask, share)
        ctx.mark_non_differentiable(mean, var)
        return torch.addcmul(bias, centered, weight), mean, var

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of rows, weight and bias."""
        normal, scale, mask, share = ctx.saved_tensors
        bias = grad.sum(1, keepdim=True)  # (M, 1, F)
        weight = (grad * normal).sum(1, keepdim=True)
        x = grad * scale
        x.addcmul_(normal, weight * scale * -share)
        x.addcmul_(mask, bias * scale * -share)
        return x, weight, bias, None, None, None, None, None


def _stack(values: Sequence[Tensor]) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.stack([value.detach() for value in values]))
