"""One thread: small steps are faster so, and results do not depend on how many there are."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

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
