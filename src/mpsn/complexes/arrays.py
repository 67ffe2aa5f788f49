"""Arrays from files that strangers may have written."""

import io
import math
import os
import warnings
import zipfile
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpsn.complexes.memory import room
from mpsn.errors import FileError, TooLargeError

PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what numpy writes
# numpy reads the headers of arrays as Python, and raises what Python raises.
HEADER_ERRORS = (ValueError, TypeError, LookupError, SyntaxError, TokenError)


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
        with warnings.catch_warnings(action="ignore"):  # odd headers are refused all the same
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name == member.filename or name in arrays:
                    raise FileError(
                        f"Expected arrays, each once, in {path}, got {member.filename!r:.60}."
                    )
                if member.flag_bits & 1 or member.compress_type not in PLAIN:
                    raise FileError(f"Expected arrays stored or deflated in {path}, got others.")
                content = archive.read(member)  # no more than the size just checked
                arrays[name] = _read_array(content, path)
                _check_text(arrays[name], path)
    return arrays


def _read_array(content: bytes, path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read an ``.npy`` file whose header tells its size truly."""
    file = io.BytesIO(content)
    try:
        newer = np.lib.format.read_magic(file) != (1, 0)
        read = np.lib.format.read_array_header_2_0 if newer else np.lib.format.read_array_header_1_0
        shape, by_columns, dtype = read(file)
    except HEADER_ERRORS as error:
        raise FileError(f"Expected arrays in {path}, got a bad header ({error!s:.80}).") from error
    count, start = math.prod(shape), file.tell()
    if (
        dtype.hasobject
        or min(shape, default=0) < 0
        or count * dtype.itemsize != len(content) - start
    ):
        raise FileError(f"Expected plain numbers in {path}, as many as its headers say.")
    flat = np.frombuffer(content, dtype, count, start) if count else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if by_columns else "C").copy()  # may be written to


def _check_text(array: NDArray[Any], path: str | os.PathLike[str]) -> None:
    """Refuse text with numbers that are no characters: Python's own functions break on it."""
    if array.dtype.kind == "U":
        kind = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
        if np.frombuffer(array.tobytes(), kind).max(initial=0) > 0x10FFFF:
            raise FileError(f"Expected text in {path}, got numbers that are no characters.")
