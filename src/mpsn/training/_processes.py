"""Several processes that train one network: each computes a part of every batch."""

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from mpsn.errors import MPSNError
from mpsn.training._launch import LostProcess

T = TypeVar("T")


def world_size() -> int:
    """Return the number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process among them; number 0 writes files."""
    return dist.get_rank() if world_size() > 1 else 0


@contextmanager
def lost_process_named() -> Iterator[None]:
    """Say that a process is gone when talking to it fails inside the block."""
    try:
        yield
    except RuntimeError as error:
        words = ("peer", "gloo", "connection", "timed out", "nccl")
        if world_size() > 1 and any(word in str(error).lower() for word in words):
            raise LostProcess(world_size()) from error
        raise


def talk(function: Callable[..., object], message: object) -> None:
    """Call a function that talks to the other processes; say so when one of them is gone."""
    with lost_process_named():
        function(message)


def all_sum(x: Tensor) -> Tensor:
    """Return the sum of a tensor over all processes; of one process, the tensor itself."""
    if world_size() == 1:
        return x
    out = x.detach().clone(memory_format=torch.contiguous_format)
    talk(dist.all_reduce, out)
    return out


def agree(function: Callable[[], T]) -> T:
    """Return what a function returns, or raise what it raises, in the first process.

    Example:
        >>> mpsn.training.agree(lambda: mpsn.training.rank())
        0
    """
    if world_size() == 1:
        return function()
    message: list[Any] = [None]
    if rank() == 0:
        try:
            message = [function()]
        except MPSNError as error:
            message = [error]
    talk(dist.broadcast_object_list, message)
    if isinstance(message[0], MPSNError):
        raise message[0]
    return message[0]  # type: ignore[no-any-return]


def check_same(value: object, what: str) -> None:
    """Raise unless all processes have the same value."""
    first = agree(lambda: value)
    if int(all_sum(torch.tensor(int(value != first)))):
        raise MPSNError(
            f"Expected the same {what} in all processes, got others in some; start all of them "
            f"with one command, on the same files."
        )


def balance(cells: Tensor, parts: int) -> Tensor:
    """Divide complexes with so many cells (B,) into parts with about as many cells; returns (B,).

    The largest come first, each goes to the part with the fewest cells so far: the largest part has
    at most a third more than it must have.

    Example:
        >>> from mpsn.training._processes import balance
        >>> balance(torch.tensor([7, 1, 6, 2, 2]), 2)
        tensor([0, 1, 1, 1, 0])
    """
    loads, sizes, part = [(0, i) for i in range(parts)], cells.tolist(), [0] * len(cells)
    for i in cells.argsort(descending=True, stable=True).tolist():
        load, part[i] = loads[0]
        heapq.heapreplace(loads, (load + sizes[i], part[i]))
    return torch.tensor(part, dtype=torch.int64)


def mean_buffers(module: torch.nn.Module) -> None:
    """Give running statistics, which norms of each process keep on their own, their means."""
    buffers = list(module.buffers())
    if world_size() == 1 or not buffers:
        return
    rows = torch.cat([buffer.reshape(-1).double() for buffer in buffers])
    means = torch.split(all_sum(rows) / world_size(), [buffer.numel() for buffer in buffers])
    for buffer, mean in zip(buffers, means, strict=True):
        buffer.copy_(mean.view_as(buffer))
