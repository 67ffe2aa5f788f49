"""A dense layer on a concatenation, taken apart."""

from collections.abc import Sequence

import torch
import torch.nn.functional as nnf
from torch import Tensor


def split_linear(parts: Sequence[Tensor], weight: Tensor, bias: Tensor | None) -> list[Tensor]:
    r"""Project the parts of a concatenation apart: :math:`W[a \| b] + c = W_1 a + (W_2 b + c)`.

    A message network on :math:`[h_\tau \| h_\delta]` can so project each simplex once, before its
    features are gathered, and add the projections afterwards.

    Args:
        parts: Tensors (n_i, ..., F_i); they need not agree in n.
        weight: Weight (G, F_1 + F_2 + ...) of the dense layer on the concatenation.
        bias: Its bias (G,) or None; it goes with the last part.

    Returns:
        One projection (n_i, ..., G) per part.

    Example:
        >>> dense, a, b = torch.nn.Linear(5, 4), torch.randn(7, 2), torch.randn(7, 3)
        >>> left, right = mpsn.nn.functional.split_linear([a, b], dense.weight, dense.bias)
        >>> torch.allclose(left + right, dense(torch.cat([a, b], dim=1)), atol=1e-6)
        True
    """
    weights = torch.split(weight, [part.shape[-1] for part in parts], dim=1)
    last = len(parts) - 1
    return [
        nnf.linear(part, w, bias if i == last else None)
        for i, (part, w) in enumerate(zip(parts, weights, strict=True))
    ]
