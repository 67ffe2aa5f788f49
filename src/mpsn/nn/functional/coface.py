"""Messages between upper neighbors through a dense layer that reads the shared co-face."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn._rows.sparse import is_traced, wide
from mpsn.complexes import Incidence, _plain
from mpsn.errors import LayerError
from mpsn.nn.functional import _coface_cuda

Activation = Callable[[Tensor], Tensor]
KINDS = {torch.nn.ELU: "elu", torch.nn.Identity: "id", torch.nn.ReLU: "relu", torch.nn.Tanh: "tanh"}


def split_linear(parts: Sequence[Tensor], weight: Tensor, bias: Tensor | None) -> list[Tensor]:
    r"""Apply a dense layer to the parts of a concatenation, one by one.

    .. math:: W[a \| b] + c = W_1 a + (W_2 b + c)

    A message network on :math:`[h_\tau \| h_\delta]` can thus project each cell once, before its
    features are gathered, and add the projections afterwards.

    Args:
        parts: Tensors (n_i, ..., F_i); n_i may differ.
        weight: Weight (G, F_1 + F_2 + ...) of the dense layer.
        bias: Its bias (G,) or None; added to the last projection.

    Returns:
        One projection (n_i, ..., G) per part.

    Example:
        >>> dense, a, b = torch.nn.Linear(5, 4), torch.randn(7, 2), torch.randn(7, 3)
        >>> left, right = mpsn.nn.functional.split_linear([a, b], dense.weight, dense.bias)
        >>> torch.allclose(left + right, dense(torch.cat([a, b], dim=1)), atol=1e-6)
        True
    """
    out, start = [], 0
    for i, part in enumerate(parts, start=1):
        width = part.shape[-1]
        columns = weight.narrow(1, start, width)
        out.append(nnf.linear(part, columns, bias if i == len(parts) else None))
        start += width
    return out


def coface_messages(
    h: Tensor, coface: Tensor, incidence: Incidence, weight: Tensor, bias: Tensor, act: Activation
) -> Tensor:
    r"""Sum :math:`a(W [h_\tau \| h_\delta] + c)` over the upper neighbors τ of σ.

    δ is the co-face that σ and τ share. The dense layer is applied to every cell once, see
    :func:`split_linear`. On a GPU with Triton, unless torch is set to deterministic algorithms,
    kernels compute and add up the messages, and the gradients; no messages are stored.

    Args:
        h: Features of the k-cells, (n_k, ..., F).
        coface: Features of the (k+1)-cells, (n_{k+1}, ..., F').
        incidence: The incidence of the (k+1)-cells.
        weight: Weight W, (G, F + F').
        bias: Bias c, (G,).
        act: The activation a; it may be in-place.

    Returns:
        (n_k, ..., G).

    Example:
        >>> K = SimplicialComplex.from_simplices([[0, 1], [0, 2]])
        >>> vertex, edge = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[10.0], [-20.0]])
        >>> weight, bias = torch.tensor([[1.0, 1.0]]), torch.tensor([0.5])
        >>> B = K.incidence(1)
        >>> mpsn.nn.functional.coface_messages(vertex, edge, B, weight, bias, torch.relu).T
        tensor([[12.5000, 11.5000,  0.0000]])
    """
    if len(incidence) != coface.shape[0] or incidence.count != h.shape[0]:
        raise LayerError(
            f"Expected features of {incidence.count} cells and {len(incidence)} co-faces, as "
            f"{incidence} has, got {h.shape[0]} and {coface.shape[0]}."
        )
    if h.shape[1:-1] != coface.shape[1:-1]:
        raise LayerError(
            f"Expected features (n, ..., F) of cells and co-faces with the same shape between, "
            f"got {tuple(h.shape[1:-1])} and {tuple(coface.shape[1:-1])}."
        )
    p, q = split_linear([h, coface], weight, bias)
    return messages(p, q, incidence, act)


def messages(p: Tensor, q: Tensor, B: Incidence, act: Activation) -> Tensor:
    """Sum a(p_τ + q_δ) over the upper neighbors τ of σ; from (n_k, ..., G), (n_{k+1}, ..., G)."""
    kind = KINDS.get(type(act)) if getattr(act, "alpha", 1) == 1 else None
    if p.is_cuda and kind and _coface_cuda.can_run(p, q, B):
        out: Tensor = _Fused.apply(p, q, B, act, kind)  # type: ignore[no-untyped-call]
        return out
    return _messages(p, q, B, act)


def _messages(p: Tensor, q: Tensor, B: Incidence, act: Activation) -> Tensor:
    if is_traced(p):  # column by column, which a compiler can fuse
        senders = zip(_plain.gather(B, wide(p)), _plain.spread(B, wide(q)), strict=True)
        found = [act(m + s) for m, s in senders]
        return _plain.upper_messages(B, found, signed=False).to(p.dtype)
    m = B.gather(p)
    if B.width is None:
        return B.upper_messages(act(m + B.spread(q)))
    m = m.view(-1, B.width, *p.shape[1:]) + q.unsqueeze(1)
    return B.upper_messages(act(m).flatten(0, 1))


class _Fused(torch.autograd.Function):
    """The same in one kernel each way, saving the inputs only; double gradients use torch's ops."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        p, q, ctx.incidence, ctx.act, ctx.kind = inputs
        ctx.save_for_backward(p, q)
        return _coface_cuda.sums(p, q, ctx.incidence, ctx.kind)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        further = torch.is_grad_enabled()
        if not further and not _coface_cuda.is_transformed(grad):
            p, q = ctx.saved_tensors
            found = _coface_cuda.gradients(p, q, ctx.incidence, grad, ctx.kind)
            return *found, None, None, None
        needed = ctx.needs_input_grad[:2]
        with torch.enable_grad():
            # Views, as gradients must not flow on to common ancestors of the inputs.
            ends = p, q = [
                t.view_as(t) if further else t.detach().requires_grad_(need)
                for t, need in zip(ctx.saved_tensors, needed, strict=True)
            ]
            out = _messages(p, q, ctx.incidence, ctx.act)
        learn = [t for t, need in zip(ends, needed, strict=True) if need]
        each = iter(torch.autograd.grad(out, learn, grad, create_graph=further))
        return *(next(each) if need else None for need in needed), None, None, None
