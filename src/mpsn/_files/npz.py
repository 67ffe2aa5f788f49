"""Arrays in ``.npz`` files, which strangers may have made: read whole, or mapped page by page."""

import io
import math
import os
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mpsn._files.io import open_zip, read_member
from mpsn.errors import FileError

READ_HEADER = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
ALIGNMENT = 64  # bytes
LOCAL_HEADER, ZIP64_FIELD = 30, 20  # bytes of a zip archive before the content of a file
PADDING = 0x504D  # our number for an extra field in a zip archive

Written = Callable[[IO[bytes]], object]  # writes an ``.npy`` file


def read_arrays(path: str | os.PathLike[str], most: int) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file: no pickle, and no more memory than allowed.

    Args:
        path: The file.
        most: Largest size of all arrays together in bytes, checked before anything is unpacked.
    """
    arrays: dict[str, NDArray[Any]] = {}
    with open_zip(path, most) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in arrays:
                raise FileError(
                    f"Expected arrays, each once, in {path}, got {member.filename!r:.60}."
                )
            arrays[name] = _parse(read_member(archive, member), path)
    return arrays


def write_arrays(file: IO[bytes], arrays: Mapping[str, NDArray[Any] | Written]) -> None:
    """Write an ``.npz`` file without compression, each array aligned, so that it can be mapped."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")
            header = LOCAL_HEADER + len(info.filename) + ZIP64_FIELD
            gap = -(archive.start_dir + header + 4) % ALIGNMENT
            info.extra = struct.pack("<HH", PADDING, gap) + bytes(gap)
            with archive.open(info, "w", force_zip64=True) as out:
                if callable(array):
                    array(out)
                else:
                    np.lib.format.write_array(out, array, allow_pickle=False)


def map_arrays(path: str | os.PathLike[str], *small: str) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file that :func:`write_arrays` wrote, except the small ones named.

    Their sizes are checked, and that the file is whole; only the small arrays are read.
    """
    arrays: dict[str, NDArray[Any]] = {}
    with open_zip(path) as archive:
        content = np.memmap(path, np.uint8, "r")
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name in small:
                arrays[name] = _parse(read_member(archive, member), path)
            else:
                arrays[name] = _view(content, member, path)
    return arrays


def _view(
    content: NDArray[np.uint8], member: zipfile.ZipInfo, path: str | os.PathLike[str]
) -> NDArray[Any]:
    """Return the array of an ``.npy`` file in a mapped archive."""
    local = content[member.header_offset :][:LOCAL_HEADER].tobytes()
    if len(local) < LOCAL_HEADER or member.compress_type != zipfile.ZIP_STORED:
        raise FileError(f"Expected arrays without compression in {path}, got {member!r:.80}.")
    start = member.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", local[26:]))
    stop = start + member.file_size
    head = io.BytesIO(content[start:stop][:4096].tobytes())
    shape, by_columns, dtype, begin = _header(head, start, path)
    if dtype.kind not in "biuf" or by_columns or begin % dtype.itemsize or stop > len(content):
        raise FileError(
            f"Expected aligned arrays of numbers in {path}, got {member!r:.80}; load the file and "
            f"save it again."
        )
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != stop - begin:
        raise FileError(f"Expected an array of shape {shape!s:.40} in {path}, got another size.")
    view: NDArray[Any] = content[begin:stop].view(dtype).reshape(shape)
    return view


def _header(
    file: IO[bytes], start: int, path: str | os.PathLike[str]
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, order by columns, type, and where the numbers of an ``.npy`` file start."""
    try:
        with warnings.catch_warnings(action="ignore"):  # odd headers are refused all the same
            header = READ_HEADER[np.lib.format.read_magic(file)](file)
    except Exception as error:  # numpy evaluates the header, so any kind of error may come out
        raise FileError(f"Expected an array in {path}, got {error!s:.200}.") from error
    return (*header, start + file.tell())


def _parse(content: bytes, path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return the array of an ``.npy`` file: numbers or text."""
    file = io.BytesIO(content)
    shape, by_columns, dtype, start = _header(file, 0, path)
    if dtype.kind not in "biufcSU":
        raise FileError(f"Expected numbers or text in {path}, got {dtype!s:.40}.")
    count = math.prod(shape)
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - start:
        raise FileError(f"Expected an array of shape {shape!s:.40} in {path}, got another size.")
    try:
        flat = np.frombuffer(content, dtype, count, start) if count else np.empty(0, dtype)
        array: NDArray[Any] = flat.reshape(shape, order="F" if by_columns else "C").copy()
    except (ValueError, OverflowError) as error:  # of no width, or of sizes beyond 64 bits
        raise FileError(f"Expected an array in {path}, got {error!s:.200}.") from error
    if array.dtype.kind == "U":  # Python's own functions break on numbers that are no characters
        codes = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
        if np.frombuffer(array.tobytes(), codes).max(initial=0) > 0x10FFFF:
            raise FileError(f"Expected text in {path}, got numbers that are no characters.")
    return array
