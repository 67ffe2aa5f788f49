"""M models of one kind as one: the same forward, with dense layers and norms stacked."""

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mpsn.errors import LayerError
from mpsn.nn import RowNorm
from mpsn.nn.conv import CINConv
from mpsn.nn.models import CIN, GIN
from mpsn.training import world_size
from mpsn.training._distributed import in_step
from mpsn_reproduction.engines.wide.batch import WideBatch
from mpsn_reproduction.engines.wide.layers import (
    Blocks,
    WideActivation,
    WideLinear,
    WideNorm,
    wide_norms,
)


class Wide(torch.nn.Module):
    """M models of the same keywords as one, each on its own block of a wide batch.

    Not a second network: a copy of the first model, whose dense layers and norms are replaced by
    stacks of those of all. Adam on stacked parameters is Adam on each.

    Args:
        models: Models of kind ``CIN``, or of kind ``GIN``, of the same keywords; ε must not be
            learned.

    Shapes:
        A batch of B complexes for each model in, (M, B, out_channels) out.

    Example:
        >>> from mpsn.nn.models import SIN
        >>> from mpsn_reproduction.engines.wide import Wide
        >>> wide = Wide([SIN(coface_message=False) for _ in range(10)])
        >>> wide.model.readout.last.weight.shape
        torch.Size([10, 32, 16])
        >>> wide.unstack(3)
        SIN(in_channels=1, hidden=16, ...
    """

    def __init__(self, models: Sequence[CIN] | Sequence[GIN]) -> None:
        super().__init__()
        first = models[0]
        if any(type(one) is not type(first) or one.settings != first.settings for one in models):
            raise LayerError("Expected models of one kind and keywords, got several.")
        if first.settings["train_eps"]:
            raise LayerError(
                f"Expected models with train_eps=False to train in one pass, got {first}; train "
                f"them one by one."
            )
        self.count = len(models)
        self.blocks = Blocks()
        self._plain = [copy.deepcopy(first)]  # in a list: no submodule
        self.model = copy.deepcopy(first)
        dims = {inner: dim for dim, part in _perceptrons(first) for inner in part.modules()}
        for name, module in first.named_modules():
            parts: list[Any] = [one.get_submodule(name) for one in models]
            if isinstance(module, torch.nn.Linear):
                self._swap(name, WideLinear(parts))
            elif isinstance(module, RowNorm):
                self._swap_norm(name, parts, dims[module])
        for conv in self.model.convs if world_size() > 1 else ():
            if isinstance(conv, CINConv):
                conv.forward = partial(in_step, WideNorm, wide_norms, conv, conv.forward)  # type: ignore[method-assign]
        for dim, part in _perceptrons(self.model) if not first.settings["norm"] else ():
            for place in range(1, len(part), 2):
                part[place] = WideActivation(part[place], part[place - 1], self.blocks, dim)  # type: ignore[arg-type]

    def forward(self, batch: WideBatch) -> Tensor:
        """Return one row per model and complex."""
        self.blocks.set(batch, self.model.readout.last.weight)
        out: Tensor = self.model(batch.K)
        return out.view(self.count, -1, out.shape[-1])[:, :-1]

    def unstack(self, m: int) -> CIN | GIN:
        """Return a copy of model m as it stands, an ordinary one."""
        out = copy.deepcopy(self._plain[0]).to(self.model.readout.last.weight)
        for name, module in self.model.named_modules():
            if isinstance(module, (WideLinear, WideNorm)):
                module.write(m, out.get_submodule(name))  # type: ignore[arg-type]
        return out.train(self.training)

    def _swap(self, name: str, module: torch.nn.Module) -> None:
        parent, _, last = name.rpartition(".")
        self.model.get_submodule(parent).register_module(last, module)

    def _swap_norm(self, name: str, parts: list[RowNorm], dim: int) -> None:
        """Swap a norm inside a perceptron, and let it do the work of its neighbors."""
        parent, _, place = name.rpartition(".")
        around = self.model.get_submodule(parent)
        assert isinstance(around, torch.nn.Sequential)
        before, after = around[int(place) - 1], around[int(place) + 1]
        assert isinstance(before, WideLinear)
        relu = isinstance(after, torch.nn.ReLU)
        around[int(place)] = WideNorm(parts, before, self.blocks, dim, relu)
        if relu:
            around[int(place) + 1] = torch.nn.Identity()


def _perceptrons(model: CIN | GIN) -> Iterator[tuple[int, torch.nn.Sequential]]:
    """List the perceptrons on simplices, with the dimension of these."""
    for conv in model.convs:
        if isinstance(conv, CINConv):
            yield from enumerate(conv.mlp_boundary)
            yield from enumerate(conv.mlp_upper)
            yield from enumerate(conv.mlp_lower)
        yield from enumerate(_outputs(conv))


def _outputs(conv: torch.nn.Module) -> Sequence[torch.nn.Sequential]:
    """List the perceptrons, one per dimension, whose results are the layer's."""
    return conv.mlp_update if isinstance(conv, CINConv) else [conv.nn]  # type: ignore
