"""Messages between upper neighbours through a dense layer that sees the shared co-face."""

from typing import Any

import torch
from torch import Tensor

from mpsn.complexes.tracing import transformed, watched
from mpsn.errors import LayerError
from mpsn.nn.checks import Activation
from mpsn.nn.functional import coface_exchange_cpu, coface_exchange_cuda
from mpsn.nn.functional.dense import split_linear
from mpsn.nn.functional.incidence import gather
from mpsn.nn.functional.neighbors import upper_exchange
from mpsn.nn.functional.transposes import add_into, differentiable

KINDS = {torch.nn.ELU: "elu", torch.nn.Identity: "id", torch.nn.ReLU: "relu", torch.nn.Tanh: "tanh"}


def coface_exchange(
    h: Tensor, coface: Tensor, faces: Tensor, weight: Tensor, bias: Tensor, act: Activation
) -> Tensor:
    r"""Sum :math:`a(W [h_\tau \| h_{\sigma\cup\tau}] + c)` over the upper neighbours τ of σ.

    The dense layer is applied to every simplex once, see :func:`split_linear`. One kernel makes and
    delivers the messages then, and another does the derivative, so that none is ever stored: on a
    GPU where there is Triton, unless torch is told to be deterministic, and on the CPU for ELU and
    ReLU in single precision, with few threads. Elsewhere it is a chain of torch's operations.

    Args:
        h: Features of the k-simplices, (n_k, ..., F).
        coface: Features of the (k+1)-simplices, (n_{k+1}, ..., F').
        faces: Face table of dimension k+1, (n_{k+1}, k+2).
        weight: Weight W, (G, F + F').
        bias: Bias c, (G,).
        act: The activation a; it may work in place.

    Returns:
        (n_k, ..., G).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
        >>> vertex, edge = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[10.0], [-20.0]])
        >>> weight, bias = torch.tensor([[1.0, 1.0]]), torch.tensor([0.5])
        >>> mpsn.nn.functional.coface_exchange(vertex, edge, K.faces(1), weight, bias, torch.relu)
        tensor([[12.5000],
                [11.5000],
                [ 0.0000]])
    """
    if faces.shape[0] != coface.shape[0]:
        raise LayerError(
            f"Expected one row of faces per co-face, got {faces.shape[0]} for {coface.shape[0]}; "
            f"pass the face table of the dimension above."
        )
    if h.shape[1:-1] != coface.shape[1:-1]:
        raise LayerError(
            f"Expected features (n, ..., F) of simplices and co-faces with the same shape between, "
            f"got {tuple(h.shape[1:-1])} and {tuple(coface.shape[1:-1])}."
        )
    kind = KINDS.get(type(act)) if getattr(act, "alpha", 1) == 1 else None
    seen = any(map(watched, (h, coface, weight, bias)))
    if kind is None or seen or not _kernels(h).serve(h, kind):
        return _plain(h, coface, weight, bias, faces, act)
    out: Tensor = differentiable(_Fused, _fused, h, coface, weight, bias, faces, act, kind)
    return out


def _kernels(h: Tensor) -> Any:
    return coface_exchange_cuda if h.is_cuda else coface_exchange_cpu


def _plain(
    h: Tensor, coface: Tensor, weight: Tensor, bias: Tensor, faces: Tensor, act: Activation
) -> Tensor:
    p, q = split_linear([h, coface], weight, bias)
    return upper_exchange([act(add_into(m, q)) for m in gather(p, faces)], faces, h.shape[0])


def _fused(
    h: Tensor, coface: Tensor, weight: Tensor, bias: Tensor, faces: Tensor, _: Any, kind: str
) -> Tensor:
    p, q = split_linear([h, coface], weight, bias)
    return _kernels(h).sums(p, q, faces, kind)  # type: ignore[no-any-return]


class _Fused(torch.autograd.Function):
    """Keeps its inputs only. Derivatives of the derivative take torch's own steps."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        *tensors, ctx.act, ctx.kind = inputs
        ctx.save_for_backward(*tensors)
        return _fused(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, faces = ctx.saved_tensors
        further, needed = torch.is_grad_enabled(), ctx.needs_input_grad[:4]
        by_steps = further or transformed(grad)
        with torch.enable_grad():
            # Views, as gradients must not run on to what inputs have in common.
            ends = [
                t.view_as(t) if further else t.detach().requires_grad_(need)
                for t, need in zip(inputs, needed, strict=True)
            ]
            h, coface, weight, bias = ends
            if by_steps:
                ys, gs = [_plain(h, coface, weight, bias, faces, ctx.act)], [grad]
            else:
                ys = [p, q] = split_linear([h, coface], weight, bias)
                gs = _kernels(h).gradients(p, q, faces, grad, ctx.kind)
        gs = [g for y, g in zip(ys, gs, strict=True) if y.requires_grad]
        ys = [y for y in ys if y.requires_grad]
        learn = [t for t, need in zip(ends, needed, strict=True) if need]
        found = iter(torch.autograd.grad(ys, learn, gs, create_graph=further))
        return *(next(found) if need else None for need in needed), None, None, None
