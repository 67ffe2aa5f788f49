"""Location of data files: a folder of the user, the cache, or their public source."""

import hashlib
import os
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, IncompleteRead
from pathlib import Path

from mpsn._io import atomic_write
from mpsn.errors import FileError

MAX_BYTES = 1 << 28  # of a download


class MissingDataError(FileError):
    """A data set that has no local copy and could not be downloaded."""


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

    Local copies are looked for in ``data``, which defaults to the environment variable
    ``MPSN_DATA``, and then in :func:`cache_folder`, which keeps downloads. A download is checked by
    its SHA-256, or by a function that raises on wrong content.
    """
    path = at_hand(name, data)
    if path is None:
        content = _download(name, url)
        found = hashlib.sha256(content).hexdigest()
        if callable(sha256):
            try:
                sha256(content)
            except FileError as error:
                raise MissingDataError(str(error)) from error
        elif found != sha256:
            raise MissingDataError(
                f"Expected {url} with SHA-256 {sha256}, got {found}; the file has changed or the "
                f"download is broken. Get a good copy and put it at DIR/{name}, then pass data=DIR "
                f"or set MPSN_DATA=DIR."
            )
        path = cache_folder() / name
        with atomic_write(path, what="a download", parents=True) as file:
            file.write(content)
    return path


def at_hand(name: str, data: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the path of a local copy of a data file, or None if there is none."""
    folder = data or os.environ.get("MPSN_DATA")
    places = [Path(folder), cache_folder()] if folder else [cache_folder()]
    return next((place / name for place in places if (place / name).exists()), None)


def _download(name: str, url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content: bytes = answer.read(MAX_BYTES + 1)
            if missing := getattr(answer, "length", None):  # that read(size) says nothing about
                raise IncompleteRead(content, missing)
        if len(content) > MAX_BYTES:
            raise OSError(f"more than {MAX_BYTES:,} bytes")
        return content
    except (OSError, HTTPException) as error:
        raise MissingDataError(
            f"Expected to download {url}, got {error}; download it on another machine and put it "
            f"at DIR/{name}, then pass data=DIR or set MPSN_DATA=DIR."
        ) from error
