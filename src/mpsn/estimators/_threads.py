"""One thread: small steps are faster so, and results do not depend on how many there are."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

import torch
from threadpoolctl import threadpool_limits

LOCK = threading.Lock()
T = TypeVar("T")


def serial_worker() -> ThreadPoolExecutor:
    """Return an executor of one thread, in which torch uses no others."""
    pool = ThreadPoolExecutor(1)
    with LOCK:
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


class SerialBLAS:
    """Limit BLAS to one thread inside the block.

    The limit is that of the process: blocks may overlap in several threads, and the last one to
    end restores what was before.
    """

    _users: ClassVar[int] = 0
    _limits: ClassVar[Any] = None

    def __enter__(self) -> None:
        with LOCK:
            if SerialBLAS._users == 0:
                SerialBLAS._limits = threadpool_limits(1, user_api="blas")
            SerialBLAS._users += 1

    def __exit__(self, *_: object) -> None:
        with LOCK:
            SerialBLAS._users -= 1
            if SerialBLAS._users == 0:
                SerialBLAS._limits.restore_original_limits()
