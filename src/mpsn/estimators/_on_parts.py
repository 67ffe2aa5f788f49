"""Steps of training and predictions on parts of one large complex."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset, SubcomplexLoader
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import nearby, to_parts
from mpsn.estimators._inputs import with_means
from mpsn.training.internal import Cells

SEEDS = 1024  # known cells of a step, whose neighborhoods have some 100,000 cells
BLOCK = 64  # times as many are predicted at a time: near each other, they share neighbors
FAN_OUT = 32  # co-faces that a step follows from a cell: all, except at hubs
WORKERS = 4  # processes that gather neighborhoods for a GPU


def is_large(model: Any, data: ComplexDataset[Any]) -> bool:
    """Return whether this is one complex that a model sees in parts."""
    return len(data) == 1 and sum(data.union.counts) > model.max_cells


def with_all(model: Any, K: Complex) -> Complex:
    """Return a complex, or a part of a large one, with all features of a model."""
    return K if model.oriented else with_means(K, model.max_dim)


def on_cells(
    model: Any, data: ComplexDataset[Any], cells: Tensor, device: torch.device
) -> "Cells | OnParts":
    """Return how networks of a model compute outputs for cells, by their numbers in the union."""
    if not is_large(model, data):
        return Cells(data, model.dim, device, cells)
    return OnParts(
        data.union.to("cpu"),
        model.dim,
        cells,
        min(model.batch_size, SEEDS),
        hops=model.layers,
        lower=model.oriented,
        device=device,
        finish=partial(with_all, model),
    )


class OnParts:
    """The cells of a complex as samples whose outputs are computed on their neighborhoods.

    Those of a step of training are sampled at hubs; all other outputs are exact.

    Args:
        K: The complex, in main memory.
        dim: Dimension of the cells.
        cells: Their numbers, (N,).
        size: Largest number of cells per step.
        hops: Number of layers of the network.
        lower: Whether it uses lower adjacencies.
        device: Where it computes.
        finish: Completes the features of a part.
    """

    at_once: ClassVar[bool] = True  # blocks are chosen here

    def __init__(
        self,
        K: Complex,
        dim: int,
        cells: Tensor,
        size: int,
        *,
        hops: int,
        lower: bool,
        device: torch.device,
        finish: Callable[[Complex], Complex],
    ) -> None:
        self.K, self.dim, self.cells, self.size = K, dim, cells, size
        self.hops, self.lower, self.device, self.finish = hops, lower, device, finish
        self.rank = nearby(K, dim)[cells]  # (N,)
        self.sizes = torch.ones(len(cells), dtype=torch.int64)
        self._sampled: dict[int, tuple[Complex, Tensor]] = {}  # by the step that they are for

    def __call__(self, network: torch.nn.Module, index: Tensor) -> Tensor:
        """Return the outputs (B, C) for the cells of some positions (B,)."""
        if id(index) in self._sampled:
            K, seeds = self._sampled[id(index)]
            return network(K)[seeds]  # type: ignore[no-any-return]
        index = index.cpu()
        order = self.rank[index].argsort(stable=True)
        batches = torch.split(index[order], BLOCK * self.size)
        rows = torch.cat([network(K)[seeds] for _, K, seeds in self._load(batches)])
        return rows[order.argsort().to(rows.device)]

    def steps(self, index: Tensor, size: int, generator: torch.Generator) -> Iterator[Tensor]:
        """Divide samples into steps, in random order; each is used before the next is asked for."""
        order = torch.randperm(len(index), generator=generator)
        seed = int(torch.randint(1 << 40, (), generator=generator))
        for step, K, seeds in self._load(torch.split(index[order], self.size), seed):
            self._sampled[id(step)] = K, seeds
            yield step
            del self._sampled[id(step)]

    def fingerprint(self) -> list[Tensor]:
        """Return what differs when the samples do."""
        return [*to_parts(self.K).values(), self.cells]

    def _load(
        self, batches: tuple[Tensor, ...], seed: int | None = None
    ) -> Iterator[tuple[Tensor, Complex, Tensor]]:
        """Return positions, their neighborhoods, and where they are in these; sampled by a seed."""
        cuda = self.device.type == "cuda"
        loader = SubcomplexLoader(
            self.K,
            [self.cells[index] for index in batches],
            self.dim,
            self.hops,
            lower=self.lower,
            fan_out=None if seed is None else FAN_OUT,
            seed=seed,
            num_workers=min(WORKERS, len(batches), (os.cpu_count() or 1) - 1) if cuda else 0,
            pin_memory=cuda,
        )
        for index, part in zip(batches, loader, strict=True):
            K = self.finish(part.complex.to(self.device, non_blocking=True))
            yield index, K, part.seeds[self.dim].to(self.device)
