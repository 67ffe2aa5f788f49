"""Steps without the host: captured once as CUDA graphs, then replayed."""

import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

T = TypeVar("T")


class Capture:
    """Calls functions that read and write fixed tensors only; on a GPU, replays CUDA graphs.

    The first call of a function with a key runs it, and captures it for the calls that follow. What
    it returns is overwritten by the next call. On the CPU every call runs the function.
    """

    def __init__(self, device: torch.device, enabled: bool = True) -> None:
        self.enabled = enabled and device.type == "cuda"
        self._graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, Any]] = {}
        if self.enabled:
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Return a context for all calls, and for all that happens between them."""
        if not self.enabled:
            yield
            return
        outside = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(outside)
        try:
            with torch.cuda.stream(self._stream):
                yield
        finally:
            outside.wait_stream(self._stream)

    def __call__(self, function: Callable[..., T], *key: Hashable) -> T:
        """Return ``function(*key)``; there is one graph for each function and key."""
        if (function, key) in self._graphs:
            graph, result = self._graphs[function, key]
            graph.replay()
            return result  # type: ignore[no-any-return]
        result = function(*key)
        if self.enabled:
            graph = torch.cuda.CUDAGraph()
            with keep_garbage(), torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
                self._graphs[function, key] = graph, function(*key)
        return result


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
