"""What a fitted model computes: networks and a kernel, weighted."""

from collections.abc import Iterable

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import MPSNError
from mpsn.estimators._kernel import ColorSum


class Ensemble(torch.nn.Module):
    """The mean of networks of one kind, and a kernel with its share of the outputs.

    Args:
        members: The networks; may be none if there is a kernel.
        kernel: The kernel. Defaults to none.
        share: Its share, from 0 to 1; networks have the rest.
    """

    def __init__(
        self,
        members: Iterable[torch.nn.Module],
        kernel: ColorSum | None = None,
        share: float = 0.0,
    ) -> None:
        super().__init__()
        self.members, self.share = torch.nn.ModuleList(members), share
        self.kernel = kernel if share > 0 else None
        self.eval()

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        first: Tensor = next(iter(self.state_dict().values()))
        return first.device

    def networks(self, K: Complex, *xs: object) -> Tensor | None:
        """Return the mean of the networks' outputs, None without networks."""
        rows = [member(K, *xs) for member in self.members] if self.share < 1 else []
        return torch.stack(rows).mean(dim=0) if rows else None

    def forward(self, K: Complex) -> Tensor:
        """Return one row per complex."""
        return self.mix(self.networks(K), None if self.kernel is None else self.kernel(K))

    def mix(self, networks: Tensor | None, kernel: Tensor | None) -> Tensor:
        """Return the weighted mean of two outputs, one of which may be missing."""
        if networks is None or kernel is None or self.share in (0.0, 1.0):
            alone = kernel if networks is None or self.share == 1.0 else networks
            assert alone is not None
            return alone
        return (1 - self.share) * networks + self.share * kernel


def check_finite(outputs: Tensor) -> Tensor:
    """Return outputs of a network, which must be numbers."""
    if not bool(outputs.isfinite().all()):
        raise MPSNError(
            "Expected finite outputs of the network, got NaN or infinity; its weights or the "
            "features are too large: scale the features, or use a smaller learning_rate."
        )
    return outputs
