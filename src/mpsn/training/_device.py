"""Where to compute, in how many threads, and what random numbers to draw there."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor

from mpsn._rows.device import pick_device as checked_device
from mpsn.errors import MPSNError
from mpsn.training._launch import find_place
from mpsn.training._processes import world_size

T = TypeVar("T")
_SEEDING, _THREADS = threading.RLock(), threading.Lock()
_PRODUCTS, _BEFORE = threading.Lock(), list[str]()  # what was set, once for each block
Precision = Literal["float32", "tf32", "bf16"]


def pick_device(name: str | torch.device = "auto") -> torch.device:
    """Return a device that works; of the GPUs of a machine, each process gets its own.

    Args:
        name: A device such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` is the GPU if there is one.
            Processes that :func:`joined` has let train together get different GPUs.

    Example:
        >>> mpsn.training.pick_device("cpu")
        device(type='cpu')
    """
    several = world_size() > 1 and str(name) in ("auto", "cuda") and torch.cuda.is_available()
    if several:  # before the check, which would take memory of the first GPU
        torch.cuda.set_device(find_place(os.environ).local % torch.cuda.device_count())
    device = checked_device(name)
    return torch.device("cuda", torch.cuda.current_device()) if several else device


def check_precision(precision: object) -> None:
    """Refuse a precision that :func:`computing` does not know."""
    if precision not in get_args(Precision):
        raise MPSNError(f"Expected precision float32, tf32 or bf16, got {precision!r:.40}.")


def exact(x: Tensor) -> Tensor:
    """Return outputs in single precision, if they have less."""
    return x.float() if x.dtype == torch.bfloat16 else x


@contextmanager
def computing(precision: Precision, device: torch.device) -> Iterator[None]:
    """Compute in a precision inside the block, which is one forward pass.

    ``"bf16"`` is autocast to bfloat16: parameters stay in single precision, and so do sums.
    ``"tf32"`` is for backward passes, too; see :func:`products`.
    """
    check_precision(precision)
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")
    with products(precision, device), autocast:
        yield


@contextmanager
def products(precision: Precision, device: torch.device) -> Iterator[None]:
    """With ``"tf32"``, round the factors of matrix products on a GPU inside the block.

    It holds for all threads of the process. Their blocks may overlap: the last one to end restores
    what was set before.
    """
    if precision != "tf32" or device.type != "cuda":
        yield
        return
    with _PRODUCTS:
        _BEFORE.append(_BEFORE[0] if _BEFORE else torch.get_float32_matmul_precision())
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        with _PRODUCTS:
            before = _BEFORE.pop()
            if not _BEFORE:
                torch.set_float32_matmul_precision(before)


@contextmanager
def seeded(seed: int, device: torch.device, states: list[Tensor] | None = None) -> Iterator[None]:
    """Seed torch inside the block, and restore its random state afterwards.

    Torch has one generator for all threads: only one of them is in such a block at a time.

    Args:
        seed: The seed, of the CPU's generator and of that of the device.
        device: The device whose numbers are drawn.
        states: Where the block is to go on, and where it stopped: blocks with the same list, empty
            at first, are one sequence of random numbers. Defaults to none.

    Example:
        >>> cpu = torch.device("cpu")
        >>> with mpsn.training.seeded(0, cpu):
        ...     one = torch.rand(3)
        >>> with mpsn.training.seeded(0, cpu):
        ...     bool((torch.rand(3) == one).all())
        True
    """
    cuda = device.type == "cuda"
    with _SEEDING, torch.random.fork_rng([device] if cuda else []):
        torch.default_generator.manual_seed(seed)
        if cuda:  # and no other GPU, whose state is not restored
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        if states:
            torch.set_rng_state(states[0])
            if cuda:
                torch.cuda.set_rng_state(states[1], device)
        yield
        if states is not None:
            on_gpu = [torch.cuda.get_rng_state(device)] if cuda else []
            states[:] = [torch.get_rng_state(), *on_gpu]


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Compute in one thread on a CPU inside the block: sums depend on how they are divided.

    Args:
        device: Where the block computes; on a GPU nothing changes.

    Example:
        >>> with mpsn.training.one_thread(torch.device("cpu")):
        ...     torch.get_num_threads()
        1
    """
    threads = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def serial_worker() -> ThreadPoolExecutor:
    """Return an executor of one thread, in which torch uses no others.

    Small steps are faster so, and results do not depend on how many threads there are.
    """
    pool = ThreadPoolExecutor(1)
    with _THREADS:
        before = torch.get_num_threads()
        pool.submit(_one_thread).result()
        torch.set_num_threads(before)  # for threads yet to come
    return pool


def serially(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Return what a function returns in a thread in which torch uses no others."""
    with serial_worker() as pool:
        return pool.submit(function, *arguments, **options).result()


def _one_thread() -> None:
    torch.get_num_threads()  # else a later call sets the number of all threads again
    torch.set_num_threads(1)
