"""Networks trained side by side, one thread each: small steps gain nothing from more."""

import threading
from typing import Any

import torch
from threadpoolctl import threadpool_limits


class OneThread:
    """Run BLAS on one thread inside the block, and torch in the threads started by it.

    Small steps are faster so, and results do not depend on the number of threads. Blocks may
    overlap in several threads; the last one restores what was before.
    """

    _lock, _users = threading.Lock(), 0
    _limits: Any = None
    threads = 1
    """The number of threads outside."""

    def __enter__(self) -> int:
        """Return the number of threads outside."""
        kind = type(self)
        with kind._lock:
            if kind._users == 0:
                kind.threads = torch.get_num_threads()
                kind._limits = threadpool_limits(1, user_api="blas")
            kind._users += 1
            return kind.threads

    def __exit__(self, *_: object) -> None:
        kind = type(self)
        with kind._lock:
            kind._users -= 1
            torch.set_num_threads(kind.threads)
            if kind._users == 0:
                kind._limits.restore_original_limits()

    @staticmethod
    def start() -> None:
        """Set up a thread; to be called first in each."""
        torch.get_num_threads()  # so that no later call takes the number of all threads
        torch.set_num_threads(1)
