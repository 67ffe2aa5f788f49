"""Arrays from files that strangers may have written."""

import io
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpsn.complexes._memory import available_memory
from mpsn.errors import FileError, TooLargeError


def read_arrays(path: str | os.PathLike[str], most: int | None = None) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file: no pickle, and no more memory than allowed.

    Args:
        path: The file.
        most: Largest size of all arrays together in bytes; three quarters of the free memory unless
            said. Checked before anything is unpacked.
    """
    limit = available_memory(torch.device("cpu")) if most is None else most
    arrays: dict[str, NDArray[Any]] = {}
    with Path(path).open("rb") as raw, zipfile.ZipFile(raw) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > limit:
            raise TooLargeError(
                f"Expected arrays of at most {limit:,} bytes in {path}, got {size:,}; "
                f"check where the file came from."
            )
        with warnings.catch_warnings(action="ignore"):  # odd headers are refused all the same
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name == member.filename or name in arrays:
                    raise FileError(
                        f"Expected arrays, each once, in {path}, got {member.filename!r:.60}."
                    )
                content = io.BytesIO(archive.read(member))  # no more than the size just checked
                arrays[name] = np.lib.format.read_array(content, allow_pickle=False)
                _check_text(arrays[name], path)
    return arrays


def _check_text(array: NDArray[Any], path: str | os.PathLike[str]) -> None:
    """Refuse text with numbers that are no characters: Python's own functions break on it."""
    if array.dtype.kind == "U":
        kind = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
        if np.frombuffer(array.tobytes(), kind).max(initial=0) > 0x10FFFF:
            raise FileError(f"Expected text in {path}, got numbers that are no characters.")
