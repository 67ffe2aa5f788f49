"""The exponential linear unit, as fast as an exponential."""

import torch
from torch import Tensor


class ELU(torch.nn.ELU):
    r"""ELU, :math:`\max(x, e^{\min(x, 0)} - 1)`, by that formula where torch's own is slow.

    In double precision on the CPU torch takes expm1, which costs several times an exponential. What
    is lost are bits of results below 1e-16. With gradients, and elsewhere, it is torch's own.

    Example:
        >>> from mpsn.nn.elu import ELU
        >>> x = torch.linspace(-5, 5, 11, dtype=torch.float64)
        >>> torch.allclose(ELU()(x), torch.nn.functional.elu(x), rtol=0, atol=1e-15)
        True
    """

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to every entry."""
        graded = torch.is_grad_enabled() and x.requires_grad
        if graded or x.dtype != torch.float64 or x.device.type != "cpu":
            return super().forward(x)
        below = x.clamp(max=0).exp_().sub_(1)
        return torch.maximum(x, below, out=x if self.inplace else below)
