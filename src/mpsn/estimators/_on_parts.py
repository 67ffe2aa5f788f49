"""Steps of training and predictions on parts of one large complex."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset, SubcomplexLoader
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import nearby
from mpsn.estimators._inputs import with_means
from mpsn.estimators._on_cells import OnCells

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
    model: Any, data: ComplexDataset[Any], at: Tensor, device: torch.device
) -> "OnCells | OnParts":
    """Return how networks of a model compute outputs for cells, by their numbers in the union."""
    if not is_large(model, data):
        return OnCells(data.to(device), model.dim, at.to(device), model.batch_size)
    return OnParts(
        data.union.to("cpu"),
        model.dim,
        at,
        model.batch_size,
        hops=model.layers,
        lower=model.oriented,
        device=device,
        finish=partial(with_all, model),
    )


class OnParts:
    """Outputs of a network for some cells of a complex, computed on their neighborhoods.

    Those of a step of training are sampled at hubs; all other outputs are exact.

    Args:
        K: The complex, in main memory.
        dim: Dimension of the cells.
        at: Their numbers, (N,).
        size: Largest number of cells per step; at most 1024 are used.
        hops: Number of layers of the network.
        lower: Whether it uses lower adjacencies.
        device: Where it computes.
        finish: Completes the features of a part.
    """

    def __init__(
        self,
        K: Complex,
        dim: int,
        at: Tensor,
        size: int,
        *,
        hops: int,
        lower: bool,
        device: torch.device,
        finish: Callable[[Complex], Complex],
    ) -> None:
        self.K, self.dim, self.at, self.size = K, dim, at, min(size, SEEDS)
        self.hops, self.lower, self.device, self.finish = hops, lower, device, finish
        self.rank = nearby(K, dim)[at]  # (N,)
        self._step: tuple[Tensor, Complex, Tensor] | None = None

    def __call__(self, network: torch.nn.Module, index: Tensor) -> Tensor:
        """Return the outputs (B, C) for the cells of some positions (B,)."""
        if self._step is not None and self._step[0] is index:
            _, K, seeds = self._step
            found: Tensor = network(K)[seeds]
            return found
        index = index.cpu()
        order = self.rank[index].argsort(stable=True)
        batches = torch.split(index[order], BLOCK * self.size)
        rows = torch.cat([network(K)[seeds] for _, K, seeds in self._load(batches)])
        return rows[order.argsort().to(rows.device)]

    def parts(self, used: Tensor, generator: torch.Generator) -> Iterator[Tensor]:
        """Divide positions into steps, in random order; each is used at once."""
        order = torch.randperm(len(used), generator=generator)
        seed = int(torch.randint(1 << 40, (), generator=generator))
        for step in self._load(torch.split(used.cpu()[order], self.size), seed):
            self._step = step
            yield step[0]
        self._step = None

    def _load(
        self, batches: tuple[Tensor, ...], seed: int | None = None
    ) -> Iterator[tuple[Tensor, Complex, Tensor]]:
        """Return positions, their neighborhoods, and where they are in these; sampled by a seed."""
        cuda = self.device.type == "cuda"
        loader = SubcomplexLoader(
            self.K,
            [self.at[index] for index in batches],
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
            yield index.to(self.device), K, part.seeds[self.dim].to(self.device)
