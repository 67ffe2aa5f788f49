"""Limits of files to read: their size, what they unpack to, and the memory their content takes."""

import csv
import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from mpsn.errors import UNREADABLE, FileError, MissingPackageError, TooLargeError

FACTOR = 20  # bytes of memory per byte of a file
FREE = 1 << 28  # bytes of memory that any file may take
MAX_PARSED = 1 << 28  # bytes of a file that is parsed in Python
MAX_JSON = 1 << 26  # bytes, which become up to 60 times as many in memory
PASSED = (FileError, TooLargeError, MissingPackageError)  # errors that name the file already


def unpack_limit(size: int) -> int:
    """Return how many bytes a compressed file of a size may unpack to.

    1 MiB, or 100 for each of its bytes up to 16 MiB, or 25 for each.
    """
    return max(1 << 20, min(100 * size, 1 << 24), 25 * size)


class Limit(NamedTuple):
    """The most memory that the content of a file may take, in bytes."""

    name: str
    most: int

    @classmethod
    def of(cls, name: object, size: int, most: int | None = None) -> "Limit":
        """Return the limit for a file of a size; ``most`` is what the user allows."""
        return cls(str(name), max(FREE, FACTOR * size, most or 0))

    def check(self, need: int, what: str) -> None:
        """Refuse content that needs more memory than the limit."""
        if need > self.most:
            raise TooLargeError(
                f"Expected content of at most {self.most:,} bytes in memory, got {what} in "
                f"{self.name}, which take {need:,}; split it, or raise max_bytes."
            )


def check_file(path: Path, max_bytes: int, what: str) -> None:
    """Raise unless a path is that of a file that is not too large."""
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe or device" if path.exists() else "nothing"
        raise FileError(f"Expected {what} at {path}, got {kind}.")
    if (size := path.stat().st_size) > max_bytes:
        raise TooLargeError(
            f"Expected a {path.suffix} file of at most {max_bytes:,} bytes, got {path} of "
            f"{size:,}; split it, or raise max_bytes."
        )


@contextmanager
def open_file(path: Path, what: str, most: int = MAX_PARSED) -> Iterator[IO[bytes]]:
    """Open a file to read bytes; a compressed one is unpacked, within limits, in memory.

    Errors while it is read, of those that damaged files raise, become errors about the file.
    """
    check_file(path, most, what)
    with explained(path, what):
        if path.suffix.lower() != ".gz":
            with path.open("rb") as file:
                yield file
            return
        limit = min(most, unpack_limit(path.stat().st_size))
        with gzip.open(path) as packed:
            content = packed.read(limit + 1)
        if len(content) > limit:
            raise TooLargeError(
                f"Expected at most {limit:,} bytes in {path}, got more; unpack it if you trust it."
            )
        yield io.BytesIO(content)


@contextmanager
def explained(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn what a damaged file may raise into an error that names it."""
    try:
        yield
    except PASSED:
        raise
    except MemoryError as error:
        raise TooLargeError(
            f"Expected {what} at {path} that fits into memory, got too little; split the file."
        ) from error
    except (*UNREADABLE, csv.Error, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileError(
            f"Expected {what} at {path}, got a file that is damaged or of another kind "
            f"({reason:.200}); check where it came from."
        ) from error
