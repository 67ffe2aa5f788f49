"""What networks are trained on: whole complexes, or the cells of one dimension."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes import Complex, ComplexDataset
from mpsn.complexes.internal import to_parts
from mpsn.errors import MPSNError
from mpsn.training._capture import forward_padded
from mpsn.training._device import computing, exact
from mpsn.training._settings import TrainerSettings

LEAST_STEPS = 10  # in an epoch over the cells of several complexes
SHAPES = 4  # different shapes of batches to capture; fewer waste padding, more take time
HELD = 4  # times the batch size, of samples to evaluate at a time


class Samples(Protocol):
    """Samples that have a target each, by their positions 0, 1, ...

    With an attribute ``at_once``, all outputs are computed at once, however many there are.
    """

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


class Shapes:
    """The shapes that batches are padded to: a few for each number of complexes.

    Args:
        samples: The complexes.
        steps: The steps of all epochs.
    """

    def __init__(self, samples: Wholes, steps: Sequence[Tensor]) -> None:
        self._data: ComplexDataset[Any] = samples.data
        self._shapes: dict[int, list[tuple[int, ...]]] = {}
        for length in {len(part) for part in steps}:
            batches = torch.stack([part for part in steps if len(part) == length])
            order = samples.sizes[batches].sum(1).argsort()
            groups = batches[order].tensor_split(min(SHAPES, len(batches)))
            self._shapes[length] = [self._data.padded_shape(group) for group in groups]

    def __call__(self, index: Tensor) -> tuple[int, ...]:
        """Return the first shape that holds a batch."""
        shapes, need = self._shapes.setdefault(len(index), []), self._data.padded_shape(index)
        for shape in shapes:
            if all(small <= large for small, large in zip(need, shape, strict=True)):
                return shape
        shapes.append(need)
        return need


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
        self.at_once = len(self.data) == 1

    def __call__(self, network: torch.nn.Module, index: Tensor) -> Tensor:
        """Return the outputs (B, C) for samples (B,)."""
        index = index.to(self.cells.device)
        if self.at_once:
            return network(self.data.union)[self.cells[index]]  # type: ignore[no-any-return]
        homes, rank = torch.unique(self._home[index], return_inverse=True)
        K = self.data.batch(homes)
        rows = self.cells[index] - self._start[homes][rank] + K.ptr(self.dim)[rank]
        return network(K)[rows]  # type: ignore[no-any-return]

    def steps(self, index: Tensor, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        """Divide samples into steps: all those of some complexes, in random order."""
        if self.at_once:
            return [index]
        home = self.home[index]
        order = torch.randperm(len(self.data), generator=generator)
        counts = torch.bincount(home, minlength=len(order))[order]
        size = min(size, max(1, len(index) // LEAST_STEPS))
        step = torch.empty_like(order)
        step[order] = (counts.cumsum(0) - counts) // size
        lengths = torch.unique(step[home], return_counts=True)[1]
        return torch.split(index[step[home].argsort(stable=True)], lengths.tolist())

    def fingerprint(self) -> list[Tensor]:
        """Return what differs when the samples do."""
        return [*to_parts(self.data.union.to("cpu")).values(), self.cells.cpu()]


@torch.no_grad()
def outputs_of(
    network: torch.nn.Module,
    samples: Samples,
    index: Tensor,
    settings: TrainerSettings,
    device: torch.device,
) -> Tensor:
    """Return the outputs (n, C) of a network for samples (n,), without dropout and gradients."""
    network.eval()
    parts = parts_of(samples, index, settings.batch_size)
    with computing(settings.precision, device):
        return torch.cat([exact(samples(network, part)) for part in parts])


def parts_of(samples: Samples, index: Tensor, size: int) -> Sequence[Tensor]:
    """Divide positions of samples into parts to evaluate, in their order."""
    if getattr(samples, "at_once", False):
        return [index]
    return torch.split(index, min(HELD * size, max(1, len(index))))


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


def as_targets(y: Any) -> Tensor:
    """Return targets as a tensor: numbers in single precision, classes as int64."""
    if y is None:
        raise MPSNError("Expected targets, got none; pass y, or data that has labels y.")
    try:
        rows = y.detach().cpu() if isinstance(y, Tensor) else torch.from_numpy(np.array(y))
    except (TypeError, ValueError) as error:
        raise MPSNError(
            f"Expected targets y as numbers or numbers of classes, got {error!s:.200}; encode "
            f"words with numpy.unique(y, return_inverse=True)."
        ) from error
    return rows.float() if rows.is_floating_point() else rows.to(torch.int64)


def contents(data: Any) -> list[Tensor]:
    """Return what differs when complexes do, if they are in memory."""
    if isinstance(data, ComplexDataset) and data.path is None:
        data = data.union
    if isinstance(data, Complex):
        return list(to_parts(data.to("cpu")).values())
    return list(data.fingerprint()) if hasattr(data, "fingerprint") else []
