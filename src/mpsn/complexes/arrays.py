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

from mpsn.complexes.memory import room
from mpsn.errors import FileError, TooLargeError


def read_arrays(path: str | os.PathLike[str], most: int | None = None) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file: no pickle, and no more memory than allowed.

    Args:
        path: The file.
        most: Largest size of all arrays together in bytes; three quarters of the free memory unless
            said. Checked before anything is unpacked.
    """
    limit = room(torch.device("cpu")) if most is None else most
    arrays: dict[str, NDArray[Any]] = {}
    with Path(path).open("rb") as raw, zipfile.ZipFile(raw) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > limit:
            raise TooLargeError(
                f"Expected arrays of at most {limit:,} bytes in {path}, got {size:,}; "
                f"check where the file came from."
            )
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in arrays:
                raise FileError(
                    f"Expected arrays, each once, in {path}, got {member.filename!r:.60}."
                )
            content = io.BytesIO(archive.read(member))  # never more than the size checked above
            with warnings.catch_warnings(action="ignore"):  # odd headers are refused all the same
                arrays[name] = np.lib.format.read_array(content, allow_pickle=False)
    return arrays
