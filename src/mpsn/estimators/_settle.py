"""The scale at which a readout starts to learn."""

import torch
from torch import Tensor
from torch.nn.utils import parametrize

from mpsn.nn.readout import ComplexReadout
from mpsn.training._distributed import Forward

SAMPLE = 256  # complexes by which the readout is scaled


class Divided(torch.nn.Module):
    """Divide the columns of a weight, (G, F), by constants (F,)."""

    scale: Tensor

    def __init__(self, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("scale", scale)

    def forward(self, weight: Tensor) -> Tensor:
        """Return the weight to use."""
        return weight / self.scale


def settle(network: torch.nn.Module, forward: Forward, index: Tensor) -> None:
    """Start a readout at a sane scale: pooled features of about 1, outputs of 0.

    Sums over simplices can be of any size, and one step would change the outputs by as much.
    """
    hooks, scales = [], {}

    def note(dense: torch.nn.Module, inputs: tuple[Tensor]) -> None:
        rms = inputs[0].square().mean(dim=0).sqrt()
        scales[dense] = torch.where(rms > 0, rms, 1.0).clamp(min=0.1 * float(rms.mean()))

    readouts = [part for part in network.modules() if isinstance(part, ComplexReadout)]
    for readout in readouts:
        hooks += [dense.register_forward_pre_hook(note) for dense in readout.dense]
        torch.nn.init.zeros_(readout.last.weight)
        torch.nn.init.zeros_(readout.last.bias)
    if readouts:
        with torch.no_grad():
            forward(network, index[:SAMPLE])
    for hook in hooks:
        hook.remove()
    for dense, scale in scales.items():
        parametrize.register_parametrization(dense, "weight", Divided(scale))


def unsettle(network: torch.nn.Module) -> None:
    """Put the scale of a readout into its weights."""
    for part in network.modules():
        if isinstance(part, ComplexReadout):
            for dense in part.dense:
                parametrize.remove_parametrizations(dense, "weight")
