"""Where to compute, and what random numbers to draw there."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from mpsn._rows.device import pick_device as checked_device
from mpsn.errors import MPSNError
from mpsn.training._launch import find_place
from mpsn.training._processes import world_size

_SEEDING = threading.RLock()
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


class OwnRandomness(TorchFunctionMode):
    """Draw initial weights inside the block, and dropout of a network, from one's own generators.

    Unlike :func:`seeded` it leaves torch's global generator alone, so that threads do not disturb
    each other; steps captured as CUDA graphs cannot use it.

    Example:
        >>> from mpsn.training._device import OwnRandomness
        >>> with OwnRandomness(0, torch.device("cpu")):
        ...     one = torch.nn.Linear(2, 2)
        >>> with OwnRandomness(0, torch.device("cpu")):
        ...     bool((torch.nn.Linear(2, 2).weight == one.weight).all())
        True
    """

    DRAWS = frozenset(
        {torch.Tensor.uniform_, torch.Tensor.normal_}
        | {getattr(torch.nn.init, f"{kind}uniform_") for kind in ("", "kaiming_", "xavier_")}
        | {getattr(torch.nn.init, f"{kind}normal_") for kind in ("", "kaiming_", "xavier_")}
    )

    def __init__(self, seed: int, device: torch.device) -> None:
        super().__init__()
        kinds = {"cpu": torch.device("cpu"), device.type: device}
        self.generators = {
            kind: torch.Generator(where).manual_seed(seed) for kind, where in kinds.items()
        }

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call a function of torch; what draws random numbers gets a generator."""
        kwargs = kwargs or {}
        if func in self.DRAWS:
            where = (args[0] if args else kwargs["tensor"]).device.type
            kwargs["generator"] = self.generators[where]
        return func(*args, **kwargs)

    @contextmanager
    def dropout(self, network: torch.nn.Module) -> Iterator[None]:
        """Let a network's dropout layers draw from these generators inside the block."""
        layers = [part for part in network.modules() if isinstance(part, torch.nn.Dropout)]

        def drop(layer: torch.nn.Dropout, x: Tensor) -> Tensor:
            if not layer.training or layer.p == 0:
                return x
            kept = torch.empty_like(x).bernoulli_(
                1 - layer.p, generator=self.generators[x.device.type]
            )
            return x * kept / max(1 - layer.p, 1e-9)

        for layer in layers:
            layer.forward = partial(drop, layer)  # type: ignore[method-assign]
        try:
            yield
        finally:
            for layer in layers:
                del layer.forward
