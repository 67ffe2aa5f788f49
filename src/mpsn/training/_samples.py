"""What networks are trained on: whole complexes, or the cells of one dimension."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from mpsn.complexes import Complex, ComplexDataset
from mpsn.errors import MPSNError
from mpsn.training._capture import forward_padded

LEAST_STEPS = 10  # in an epoch over the cells of several complexes


class Samples(Protocol):
    """Samples that have a target each, by their positions 0, 1, ..."""

    sizes: Tensor
    """The number of cells that it takes to compute each sample, (N,) int64 on the CPU."""

    def __call__(self, network: torch.nn.Module, index: Tensor) -> Tensor:
        """Return the outputs (B, C) for samples (B,)."""

    def steps(self, index: Tensor, size: int, generator: torch.Generator) -> Iterable[Tensor]:
        """Divide samples into the steps of an epoch, in random order."""


class Wholes:
    """Whole complexes, or whatever else ``data.batch(index)`` returns the input of a network for.

    Args:
        data: A :class:`~mpsn.ComplexDataset`, or an object with ``__len__``, and ``batch``, from
            positions to a complex, or to a tuple of the arguments of a network.
        device: Where to compute.
    """

    def __init__(self, data: Any, device: torch.device) -> None:
        opened = isinstance(data, ComplexDataset) and data.path is not None
        self.data = data.to(device) if hasattr(data, "to") and not opened else data
        self.device = device
        counts = getattr(data, "counts", None)
        self.sizes = torch.ones(len(data), dtype=torch.int64)
        if isinstance(counts, Tensor) and counts.shape[:1] == self.sizes.shape:
            self.sizes = counts.sum(dim=1).cpu()

    @property
    def fixed(self) -> bool:
        """Whether batches may have a fixed shape, so that steps can be captured."""
        return isinstance(self.data, ComplexDataset) and self.data.path is None

    def __call__(self, network: torch.nn.Module, index: Tensor) -> Tensor:
        """Return the outputs (B, C) for samples (B,)."""
        batch = self.data.batch(index)
        if isinstance(batch, Complex):
            return network(batch.to(self.device))  # type: ignore[no-any-return]
        return network(*batch)  # type: ignore[no-any-return]

    def padded(
        self, network: torch.nn.Module, index: Tensor, shape: tuple[int, ...] | None
    ) -> Tensor:
        """Return the same from a batch of a fixed shape."""
        if shape is None:
            return self(network, index)
        return forward_padded(network, self.data.batch(index, pad=shape))

    def steps(self, index: Tensor, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        """Divide samples into the steps of an epoch, in random order."""
        return torch.split(index[torch.randperm(len(index), generator=generator)], size)


class Cells:
    """The cells of one dimension of one or many complexes; a step never divides a complex.

    Args:
        data: The complexes, with features.
        dim: Dimension of the cells.
        device: Where to compute.
        cells: Positions of the samples among the cells of the union, (N,). Defaults to all.
    """

    def __init__(
        self, data: Any, dim: int, device: torch.device, cells: Tensor | None = None
    ) -> None:
        data = ComplexDataset([data]) if isinstance(data, Complex) else data
        if not isinstance(data, ComplexDataset):
            raise MPSNError(
                f"Expected a complex or a ComplexDataset to train on its cells, got "
                f"{type(data).__name__}."
            )
        self.data, self.dim = data.to(device), dim
        union = self.data.union
        every = torch.arange(union.count(dim)) if cells is None else cells.cpu()
        self.cells = every.to(device)
        self.home = union.batch(dim).cpu()[every]  # (N,)
        self._start, self._home = union.ptr(dim), self.home.to(device)
        self.sizes = torch.ones(len(every), dtype=torch.int64)

    def __call__(self, network: torch.nn.Module, index: Tensor) -> Tensor:
        """Return the outputs (B, C) for samples (B,)."""
        index = index.to(self.cells.device)
        if len(self.data) == 1:
            return network(self.data.union)[self.cells[index]]  # type: ignore[no-any-return]
        homes, rank = torch.unique(self._home[index], return_inverse=True)
        K = self.data.batch(homes)
        rows = self.cells[index] - self._start[homes][rank] + K.ptr(self.dim)[rank]
        return network(K)[rows]  # type: ignore[no-any-return]

    def steps(self, index: Tensor, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        """Divide samples into steps: all those of some complexes, in random order."""
        if len(self.data) == 1:
            return [index]
        home = self.home[index]
        order = torch.randperm(len(self.data), generator=generator)
        counts = torch.bincount(home, minlength=len(order))[order]
        size = min(size, max(1, len(index) // LEAST_STEPS))
        step = torch.empty_like(order)
        step[order] = (counts.cumsum(0) - counts) // size
        lengths = torch.unique(step[home], return_counts=True)[1]
        return torch.split(index[step[home].argsort(stable=True)], lengths.tolist())


def samples_of(data: Any, cells: int | None, device: torch.device) -> Samples:
    """Return data as samples; what has a method ``steps`` is returned as it is."""
    if cells is not None:
        return Cells(data, cells, device)
    if hasattr(data, "steps"):
        return data  # type: ignore[no-any-return]
    if isinstance(data, Complex):
        data = ComplexDataset(data)
    if not hasattr(data, "batch"):
        data = ComplexDataset(list(data))
    return Wholes(data, device)
