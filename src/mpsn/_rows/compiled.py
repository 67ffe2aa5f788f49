"""Loops that numba compiles when they are first called, and keeps on the disk."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function for the CPU, without Python's lock.

    What is compiled is kept beside the source, or in the user's cache where that cannot be written.
    """
    try:
        kept: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder that numba could write to
        _warn()
        kept = numba.njit(nogil=True)(function)
    return kept  # type: ignore[no-any-return]


@cache
def _warn() -> None:
    warnings.warn(
        "Expected a folder where numba may keep compiled functions, got none that can be written; "
        "they are compiled again in every process. Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=3,
    )
