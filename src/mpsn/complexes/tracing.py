"""Whether torch has to see every step, so that compiled loops must stand back."""

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual


def watched(x: Tensor) -> bool:
    """Tell whether a compiler, a tracer or a transform has to see what is done."""
    tracing: bool = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    return torch.compiler.is_compiling() or tracing or transformed(x)


def transformed(x: Tensor) -> bool:
    """Tell whether forward derivatives, vmap or another transform of ``torch.func`` is at work."""
    if torch.compiler.is_compiling():
        return False
    return (
        torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._functorch.is_legacy_batchedtensor(x)
        or unpack_dual(x).tangent is not None  # type: ignore[no-untyped-call]
    )
