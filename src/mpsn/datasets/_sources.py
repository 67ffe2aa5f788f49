"""Location of data files: a folder of the user, the cache, or their public source."""

import hashlib
import os
import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import IO

from mpsn._files.io import atomic_write
from mpsn.errors import FileError, MissingDataError

MAX_BYTES = 1 << 28  # of a download
MAX_WORK = 5.0  # seconds of processor time for one; they are few unless its pieces are tiny
USE = "pass --data DIR (in Python data=DIR), or set MPSN_DATA=DIR"
SLOWEST = 1 << 12  # bytes per second of a download, after the first ten seconds


def cache_folder() -> Path:
    """Return the folder for downloads: ``$XDG_CACHE_HOME/mpsn`` or ``~/.cache/mpsn``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mpsn"


def locate(
    name: str,
    url: str,
    sha256: str | Callable[[bytes], None],
    data: str | os.PathLike[str] | None = None,
) -> Path:
    """Return the path of a data file, such as ``sr/sr261034.g6``; download it if it is missing.

    With the environment variable ``MPSN_OFFLINE``, nothing is looked up or downloaded.

    Local copies are looked for in ``data``, which defaults to the environment variable
    ``MPSN_DATA``, and then in :func:`cache_folder`, which keeps downloads. A download is checked by
    its SHA-256, or by a function that raises on wrong content.
    """
    path = find_data(name, data)
    if path is None:
        if os.environ.get("MPSN_OFFLINE"):
            raise MissingDataError(
                f"Expected a data file at DIR/{name}, found none; let it be downloaded (on the "
                f"command line --download, else unset MPSN_OFFLINE), or get {url} and {USE}."
            )
        content = _download(name, url)
        digest = hashlib.sha256(content).hexdigest()
        if callable(sha256):
            try:
                sha256(content)
            except FileError as error:
                raise MissingDataError(str(error)) from error
        elif digest != sha256:
            raise MissingDataError(
                f"Expected {url} with SHA-256 {sha256}, got {digest}; the file has changed or the "
                f"download is broken. Get a good copy, put it at DIR/{name}, and {USE}."
            )
        path = cache_folder() / name
        with atomic_write(path, what="a download", parents=True) as file:
            file.write(content)
    return path


def find_data(name: str, data: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the path of a local copy of a data file, or None if there is none."""
    folder = data or os.environ.get("MPSN_DATA")
    places = [Path(folder), cache_folder()] if folder else [cache_folder()]
    return next((place / name for place in places if (place / name).exists()), None)


def _download(name: str, url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = _read(answer)
            if missing := getattr(answer, "length", None):  # that read(size) says nothing about
                raise IncompleteRead(content, missing)
        if len(content) > MAX_BYTES:
            raise OSError(f"more than {MAX_BYTES:,} bytes")
        return content
    except (OSError, HTTPException, ValueError) as error:  # the last for redirects to no address
        raise MissingDataError(
            f"Expected to download {url}, got {str(error).strip('<>')}; download it on another "
            f"machine, put it at DIR/{name}, and {USE}."
        ) from error


def _read(answer: IO[bytes]) -> bytes:
    """Read a body up to one byte more than allowed; give up on one that comes in tiny pieces."""
    content, start, work = bytearray(), time.monotonic(), time.process_time()
    while len(content) <= MAX_BYTES and (piece := answer.read(1 << 14)):
        content += piece
        slow = len(content) < SLOWEST * (time.monotonic() - start - 10)
        if slow or time.process_time() - work > MAX_WORK:
            raise TimeoutError(f"only {len(content):,} bytes in {time.monotonic() - start:.0f} s")
    return bytes(content)
