"""The scale at which a readout starts to learn."""

import torch
from torch import Tensor
from torch.nn.utils import parametrize

from mpsn.nn.readout import ComplexReadout
from mpsn.training import Run

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


class Settle:
    """Start readouts at a sane scale, as a callback: pooled features of about 1, outputs of 0.

    Sums over simplices can be of any size, and one step would change the outputs by as much.
    """

    def start(self, run: Run) -> None:
        """Scale the readouts of a network before its training."""
        hooks, scales = [], {}

        def note(dense: torch.nn.Module, inputs: tuple[Tensor]) -> None:
            rms = inputs[0].square().mean(dim=0).sqrt()
            scales[dense] = torch.where(rms > 0, rms, 1.0).clamp(min=0.1 * float(rms.mean()))

        readouts = [part for part in run.network.modules() if isinstance(part, ComplexReadout)]
        for readout in readouts:
            hooks += [dense.register_forward_pre_hook(note) for dense in readout.dense]
            torch.nn.init.zeros_(readout.last.weight)
            torch.nn.init.zeros_(readout.last.bias)
        if readouts:
            with torch.no_grad():
                run.samples(run.network, run.parts["train"][:SAMPLE])
        for hook in hooks:
            hook.remove()
        for dense, scale in scales.items():
            parametrize.register_parametrization(dense, "weight", Divided(scale))

    def __call__(self, run: Run) -> None:
        """Do nothing after an epoch."""


def unsettle(network: torch.nn.Module) -> None:
    """Put the scale of a readout into its weights."""
    for part in network.modules():
        if parametrize.is_parametrized(part, "weight"):
            parametrize.remove_parametrizations(part, "weight")
