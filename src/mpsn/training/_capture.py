"""Steps without the host: captured once as CUDA graphs, then replayed."""

import gc
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mpsn.complexes.complex import Complex
from mpsn.errors import CaptureWarning, LayerError
from mpsn.training._processes import world_size

T = TypeVar("T")


class captured(Generic[T]):  # noqa: N801  # used like a function
    """Make a function one CUDA graph: a replay costs one launch, whatever the function does.

    The first call with tensors of new shapes, or new other arguments, runs the function, and
    captures it for the calls that follow; what it returns is overwritten by the next call with the
    same. So it may neither ask the device for sizes or values, nor keep its arguments: batches have
    a fixed shape (:meth:`mpsn.ComplexDataset.padded_shape`), and optimizers are ``capturable``. A
    function that does otherwise is called as it is, with a warning that names the line. On a CPU
    every call just calls the function.

    Args:
        function: Takes tensors and hashable values, and returns tensors or None.
        device: Where it computes. Defaults to the current GPU, if there is one.

    Example:
        >>> from mpsn.training import captured
        >>> double = captured(lambda x: 2 * x)
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, function: Callable[..., T], device: torch.device | None = None) -> None:
        self.function = function
        default = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(default) if device is None else device
        self.enabled = self.device.type == "cuda"
        self._graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, list[Tensor], Any]] = {}
        if self.enabled:
            self._pool = torch.cuda.graph_pool_handle()
            self._stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    def __call__(self, *arguments: Any) -> T:
        """Return what the function returns."""
        if not self.enabled:
            return self.function(*arguments)
        tensors = [value for value in arguments if isinstance(value, Tensor)]
        key = tuple(
            (value.shape, value.dtype) if isinstance(value, Tensor) else value
            for value in arguments
        )
        if key in self._graphs:
            graph, inputs, result = self._graphs[key]
            for buffer, value in zip(inputs, tensors, strict=True):
                buffer.copy_(value, non_blocking=True)
            graph.replay()
            return result  # type: ignore[no-any-return]
        outside = stream = torch.cuda.current_stream(self.device)
        if outside == torch.cuda.default_stream(self.device):  # on which nothing can be captured
            stream = self._stream
        stream.wait_stream(outside)
        with torch.cuda.stream(stream):
            result = self.function(*arguments)
            buffers = [value.clone() for value in tensors]
        outside.wait_stream(stream)
        rest = iter(buffers)
        static = [next(rest) if isinstance(v, Tensor) else v for v in arguments]
        graph = torch.cuda.CUDAGraph()
        try:
            with keep_garbage(), torch.cuda.graph(graph, self._pool, stream):
                again = self.function(*static)
        except (RuntimeError, LayerError) as error:
            self.enabled = False
            warnings.warn(
                f"Steps run one kernel after another, for they cannot be captured as a CUDA graph: "
                f"{str(error).splitlines()[0]:.200} ({culprit(error.__traceback__)}).",
                CaptureWarning,
                stacklevel=2,
            )
        else:
            self._graphs[key] = graph, buffers, again
        return result


def can_capture(device: torch.device) -> bool:
    """Return whether steps there can be CUDA graphs: on a GPU, in one process."""
    return device.type == "cuda" and world_size() == 1


def culprit(trace: TracebackType | None) -> str:
    """Return the last line of code outside of torch in a traceback."""
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if "torch" not in frame.filename.split("site-packages")[-1]]
    return f"{own[-1].filename}:{own[-1].lineno}, {own[-1].line}" if own else "in torch"


class Lane:
    """On a GPU, a stream and random numbers of one's own: networks compute side by side.

    Args:
        device: Where to compute; on a CPU nothing happens.
        seed: Of the random numbers.
    """

    def __init__(self, device: torch.device, seed: int) -> None:
        self.device, self.cuda = device, device.type == "cuda"
        if self.cuda:
            self._default = torch.cuda.default_generators[device.index or 0]
            self.generator = self._default.clone_state()
            self.generator.manual_seed(seed)
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._stream.wait_stream(torch.cuda.current_stream(device))

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Compute there inside the block."""
        if not self.cuda:
            yield
            return
        outside = self._default.graphsafe_get_state()
        self._default.graphsafe_set_state(self.generator)
        try:
            with torch.cuda.stream(self._stream):
                yield
        finally:
            self._default.graphsafe_set_state(outside)

    def join(self) -> None:
        """Let what follows wait for what was computed here."""
        if self.cuda:
            torch.cuda.current_stream(self.device).wait_stream(self._stream)

    def random_state(self) -> Tensor:
        """Return the state of the random numbers."""
        return self.generator.get_state() if self.cuda else torch.get_rng_state()

    def set_random_state(self, state: Tensor) -> None:
        """Go on from a state of the random numbers."""
        if self.cuda:
            self.generator.set_state(state)
        else:
            torch.set_rng_state(state)


@contextmanager
def keep_garbage() -> Iterator[None]:
    """Collect no garbage: a graph in it cannot be destroyed while another one is captured."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def forward_padded(network: torch.nn.Module, K: Complex, *xs: Tensor) -> Tensor:
    """Return the outputs of a network for the complexes of a padded batch, without the padding.

    Batch norms see no padding: they find out by the number of rows which dimension they are given.

    Args:
        network: From a union of complexes to one row for each.
        K: A batch that was made with ``data.batch(index, pad=shape)``.
        *xs: Further arguments of the network.

    Example:
        >>> from mpsn.training import forward_padded
        >>> data = mpsn.clique_complexes([nx.complete_graph(n) for n in (2, 3, 4)])
        >>> data = mpsn.ComplexDataset(mpsn.lift_features(data.union.replace(x=[torch.ones(9, 1)])))
        >>> index = torch.tensor([2, 0])
        >>> K = data.batch(index, pad=data.padded_shape(index))
        >>> network = mpsn.nn.models.SIN(in_channels=1, hidden=8, layers=2, out_channels=3)
        >>> forward_padded(network, K).shape
        torch.Size([2, 3])
    """
    rows = {K.count(k): K.ptr(k)[-2] for k in range(K.dim + 1)}
    rows[K.num_complexes] = torch.full_like(K.ptr(0)[-1], K.num_complexes - 1)
    norms = [part for part in network.modules() if isinstance(part, _BatchNorm)]
    for norm in norms:
        norm.forward = partial(masked_norm, norm, rows)  # type: ignore[method-assign]
    try:
        return network(K, *xs)[:-1]  # type: ignore[no-any-return]
    finally:
        for norm in norms:
            del norm.forward


def masked_norm(norm: _BatchNorm, rows: dict[int, Tensor], x: Tensor) -> Tensor:
    """Return batch normalization of x (n, F) over its first rows; the others become zero.

    ``rows`` has the number of those for every n. With fewer than two of them, the running
    statistics are used, and not updated.
    """
    if x.dim() != 2 or x.shape[0] not in rows:
        raise LayerError(
            f"Expected a batch norm of one row for each cell of a dimension, or for each complex, "
            f"in a padded batch, got {tuple(x.shape)}; use LayerNorm, or train with capture=False."
        )
    n = rows[x.shape[0]]
    inside = (torch.arange(x.shape[0], device=x.device) < n)[:, None]
    h, size, enough = x.float() if x.dtype != torch.float64 else x, n.clamp(min=1), n > 1
    mean, var = norm.running_mean, norm.running_var
    if norm.training or mean is None or var is None:
        own = torch.where(inside, h, 0).sum(0) / size
        squares = torch.where(inside, h - own, 0).square().sum(0)
        if mean is not None and var is not None:
            unbiased = squares / (size - 1).clamp(min=1)
            steps = norm.num_batches_tracked
            assert steps is not None
            steps.add_(enough)
            share = 1 / steps.clamp(min=1) if norm.momentum is None else norm.momentum
            share = torch.where(enough, share, 0.0)
            own = torch.where(enough, own, mean)
            squares = torch.where(enough, squares, var * size)
            with torch.no_grad():
                mean.lerp_(own.to(mean.dtype), share.to(mean.dtype))
                var.lerp_(unbiased.to(var.dtype), share.to(var.dtype))
        mean, var = own, squares / size
    out = (h - mean) * torch.rsqrt(var + norm.eps)
    if norm.weight is not None:
        out = out * norm.weight + norm.bias
    return torch.where(inside, out, 0).to(x.dtype)
