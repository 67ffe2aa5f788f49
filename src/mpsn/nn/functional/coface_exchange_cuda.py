"""Activated messages on a GPU: one kernel forth and one back, which store no message."""

import torch
from torch import Tensor

try:  # comes with torch for CUDA, on most systems
    import triton
    import triton.language as tl
except ImportError:
    triton = None

KINDS = {torch.nn.ELU: "elu", torch.nn.Identity: "id", torch.nn.ReLU: "relu", torch.nn.Tanh: "tanh"}
TILE = 1024  # entries of messages that a program takes at a time
WIDTH = 128  # of which so many columns at most

if triton is not None:

    @triton.jit
    def _value(x, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
        if KIND == "elu":
            x = tl.where(x > 0, x, tl.exp(x) - 1)
        elif KIND == "relu":
            x = tl.where(x < 0, 0.0, x)
        elif KIND == "tanh":
            x = 1 - 2 / (tl.exp(2 * x) + 1)
        return x

    @triton.jit
    def _slope(x, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
        one = tl.full(x.shape, 1.0, x.dtype)
        if KIND == "elu":
            one = tl.where(x > 0, one, tl.exp(x))
        elif KIND == "relu":
            one = tl.where(x > 0, one, 0.0)
        elif KIND == "tanh":
            x = 1 - 2 / (tl.exp(2 * x) + 1)
            one = one - x * x
        return one

    @triton.jit
    def _sums(  # type: ignore[no-untyped-def]
        p, q, faces, out, n, columns,
        FACES: tl.constexpr, KIND: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        column = (tl.program_id(1) * WIDTH + tl.arange(0, WIDTH))[None, :]
        inside = (row < n)[:, None] & (column < columns)
        shared = tl.load(q + row[:, None] * columns + column, mask=inside, other=0.0)
        for i in tl.static_range(FACES):
            heard = tl.zeros([ROWS, WIDTH], shared.dtype)
            for j in tl.static_range(FACES):
                if i != j:
                    sender = tl.load(faces + row * FACES + j, mask=row < n, other=0)[:, None]
                    x = tl.load(p + sender * columns + column, mask=inside, other=0.0)
                    heard += _value(x + shared, KIND)
            receiver = tl.load(faces + row * FACES + i, mask=row < n, other=0)[:, None]
            tl.atomic_add(out + receiver * columns + column, heard, mask=inside, sem="relaxed")

    @triton.jit
    def _gradients(  # type: ignore[no-untyped-def]
        p, q, faces, grad, grad_p, grad_q, n, columns,
        FACES: tl.constexpr, KIND: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        column = (tl.program_id(1) * WIDTH + tl.arange(0, WIDTH))[None, :]
        inside = (row < n)[:, None] & (column < columns)
        shared = tl.load(q + row[:, None] * columns + column, mask=inside, other=0.0)
        total = tl.zeros([ROWS, WIDTH], shared.dtype)
        for i in tl.static_range(FACES):
            heard = tl.zeros([ROWS, WIDTH], shared.dtype)
            for j in tl.static_range(FACES):
                if i != j:
                    receiver = tl.load(faces + row * FACES + j, mask=row < n, other=0)[:, None]
                    heard += tl.load(grad + receiver * columns + column, mask=inside, other=0.0)
            sender = tl.load(faces + row * FACES + i, mask=row < n, other=0)[:, None]
            x = tl.load(p + sender * columns + column, mask=inside, other=0.0)
            heard *= _slope(x + shared, KIND)
            tl.atomic_add(grad_p + sender * columns + column, heard, mask=inside, sem="relaxed")
            total += heard
        tl.store(grad_q + row[:, None] * columns + column, total, mask=inside)


def kind(h: Tensor, act: object) -> str | None:
    """Return the name of an activation that the kernels know, None where they cannot serve."""
    if triton is None or torch.are_deterministic_algorithms_enabled():
        return None
    if h.dtype not in (torch.float32, torch.float64) or torch.is_autocast_enabled("cuda"):
        return None
    if isinstance(act, torch.nn.ELU) and act.alpha != 1:
        return None
    return next((name for module, name in KINDS.items() if isinstance(act, module)), None)


def sums(p: Tensor, q: Tensor, faces: Tensor, name: str) -> Tensor:
    """Return for every σ the sum of a(p_τ + q_{σ∪τ}), (n_k, ..., G), with a of a known kind."""
    out = torch.zeros_like(p, memory_format=torch.contiguous_format)
    _launch(_sums, p, q, faces, [out], name)
    return out


def gradients(p: Tensor, q: Tensor, faces: Tensor, grad: Tensor, name: str) -> list[Tensor]:
    """Return the gradients for p and q, given that for the sums."""
    out = torch.zeros_like(p, memory_format=torch.contiguous_format)
    rest = torch.empty_like(q, memory_format=torch.contiguous_format)
    _launch(_gradients, p, q, faces, [grad.contiguous(), out, rest], name)
    return [out, rest]


def _launch(  # type: ignore[no-untyped-def]
    kernel, p: Tensor, q: Tensor, faces: Tensor, others: list[Tensor], name: str
) -> None:
    if not q.numel():
        return
    columns = q[0].numel()
    width = min(WIDTH, triton.next_power_of_2(columns))
    rows = TILE // width
    grid = (triton.cdiv(len(q), rows), triton.cdiv(columns, width))
    tables = (p.contiguous(), q.contiguous(), faces.contiguous(), *others)
    with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]
        kernel[grid](*tables, len(q), columns, faces.shape[1], name, rows, width)
