"""Steps without the host: captured once per shape as a CUDA graph, then replayed."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

Rows = tuple[int, ...]


class Steps:
    """Runs steps that read and write fixed tensors only; on a GPU, captured from the second time.

    The first step of each kind and shape runs as it is, for real, and is captured then, for the
    next ones. All graphs share one pool of memory.

    Args:
        device: Where the steps run.
        capture: Whether to capture them, if that is a GPU.
    """

    def __init__(self, device: torch.device, capture: bool) -> None:
        self.captures = capture and device.type == "cuda"
        self._graphs: dict[tuple[str, Rows], torch.cuda.CUDAGraph] = {}
        if self.captures:
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()

    def place(self) -> AbstractContextManager[object]:
        """Return a context for all steps and all that goes on between them."""
        if not self.captures:
            return nullcontext()
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        return torch.cuda.stream(self._stream)

    def run(self, step: Callable[[Rows], None], rows: Rows) -> None:
        """Run ``step(rows)``."""
        key = (step.__name__, rows)
        if key in self._graphs:
            self._graphs[key].replay()
            return
        step(rows)
        if self.captures:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
                step(rows)
            self._graphs[key] = graph
