"""Data that is not downloaded: where it is looked for, and what a damaged file is called."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mpsn.datasets import find_data
from mpsn.errors import FileError, MissingDataError

DAMAGED = (
    ArithmeticError,
    EOFError,
    LookupError,
    OSError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def expect(name: str, source: str, folder: Path | None) -> Path:
    """Return the path of a data file, or raise an error that says where to get it."""
    path = find_data(name, folder)
    if path is None:
        raise MissingDataError(
            f"Expected a data file at DIR/{name}, found none; make it from {source} and pass "
            f"--data DIR (in Python data=DIR), or set MPSN_DATA=DIR."
        )
    return path


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file may raise into an error that names it."""
    try:
        yield
    except DAMAGED as error:
        raise FileError(
            f"Expected the data of an experiment at {path}, got a file that is damaged or of "
            f"another kind ({type(error).__name__}: {error!s:.200}); check where it came from."
        ) from error
