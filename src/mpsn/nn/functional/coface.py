"""Messages between upper neighbors through a dense layer that reads the shared co-face."""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn.complexes import Incidence
from mpsn.errors import LayerError
from mpsn.nn.functional import _coface_cuda

Activation = Callable[[Tensor], Tensor]
ACTS: dict[str, Activation] = {  # as functions, which are not fused
    "elu": nnf.elu,
    "id": lambda x: x,
    "relu": torch.relu,
    "tanh": torch.tanh,
}
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
    widths = map(Tensor.size, parts, repeat(-1))
    *columns, last = weight.split_with_sizes([*widths], 1)
    return [*map(nnf.linear, parts[:-1], columns), nnf.linear(parts[-1], last, bias)]


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
        out: Tensor = _fused(p, q, *B.parts(), kind)
        return out
    m = B.gather(p)
    if B.width is None:
        return B.upper_messages(act(m + B.spread(q)))
    m = m.view(-1, B.width, *p.shape[1:]) + q.unsqueeze(1)
    return B.upper_messages(act(m).flatten(0, 1))


# The same in one kernel each way, saving the inputs only; double gradients use torch's operators.


@torch.library.custom_op("mpsn::coface_messages", mutates_args=())
def _fused(
    p: Tensor,
    q: Tensor,
    face: Tensor,
    ptr: Tensor | None,
    sign: Tensor | None,
    count: int,
    width: int,
    kind: str,
) -> Tensor:
    B = Incidence.of_parts(face, ptr, sign, count, width)
    return _coface_cuda.sums(p, q, B, kind)


@torch.library.custom_op("mpsn::coface_gradients", mutates_args=())
def _gradients(
    p: Tensor,
    q: Tensor,
    face: Tensor,
    ptr: Tensor | None,
    sign: Tensor | None,
    count: int,
    width: int,
    kind: str,
    grad: Tensor,
) -> tuple[Tensor, Tensor]:
    B = Incidence.of_parts(face, ptr, sign, count, width)
    return _coface_cuda.gradients(p, q, B, grad, kind)


@_fused.register_fake
def _(p: Tensor, q: Tensor, *parts: Any) -> Tensor:
    return torch.empty_like(p, memory_format=torch.contiguous_format)


@_gradients.register_fake
def _(p: Tensor, q: Tensor, *parts: Any) -> tuple[Tensor, Tensor]:
    return tuple(torch.empty_like(t, memory_format=torch.contiguous_format) for t in (p, q))  # type: ignore[return-value]


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:5])
    ctx.plain = inputs[5:]


def _turn_back(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    p, q, *tensors = ctx.saved_tensors
    *numbers, kind = ctx.plain
    compiling, further = torch.compiler.is_compiling(), torch.is_grad_enabled()
    if compiling or not (further or _coface_cuda.is_transformed(grad)):
        return *_gradients(p, q, *tensors, *numbers, kind, grad), *(None,) * 6
    needed = ctx.needs_input_grad[:2]
    with torch.enable_grad():
        # Views, as gradients must not flow on to common ancestors of the inputs.
        ends = p, q = [
            t.view_as(t) if further else t.detach().requires_grad_(need)
            for t, need in zip((p, q), needed, strict=True)
        ]
        out = messages(p, q, Incidence.of_parts(*tensors, *numbers), ACTS[kind])
    learn = [t for t, need in zip(ends, needed, strict=True) if need]
    each = iter(torch.autograd.grad(out, learn, grad, create_graph=further))
    return *(next(each) if need else None for need in needed), *(None,) * 6


_fused.register_autograd(_turn_back, setup_context=_save)
