"""Arrays in files that strangers may have made: ``.npy``, ``.npz``, and maps of these.

A header is parsed here, not by numpy, which evaluates it. The size that it states is compared with
that of the file, and with what is allowed, before anything is allocated.
"""

import math
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpsn._files.io import BoundedFile, open_zip, read_member
from mpsn.errors import FileError, TooLargeError

MAGIC = b"\x93NUMPY"
LENGTH = {1: "<H", 2: "<I", 3: "<I"}  # of a header, by version of the format
MAX_HEADER = 1 << 12  # bytes
MIN_HEADER, MAX_AXES = 12, 32
KIND = re.compile(r"'([<>|=]?[biufcSU]\d{1,9})'")
FIELD = r"'(\w+)': ('[^']{1,12}'|True|False|\((?:\d{1,18}, ?)*(?:\d{1,18})?\))"
HEADER = re.compile(rf"\{{{FIELD}, {FIELD}, {FIELD},? *\}}\s*")
ALIGNMENT = 64  # bytes
LOCAL_HEADER, ZIP64_FIELD = 30, 20  # bytes of a zip archive before the content of a file
PADDING = 0x504D  # our number for an extra field in a zip archive

Path = str | os.PathLike[str]
Written = Callable[[IO[bytes]], object]  # writes an ``.npy`` file


class Layout(NamedTuple):
    """What the header of an ``.npy`` file says, and where its numbers start."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int


def read_array(path: Path, most: int) -> NDArray[Any]:
    """Read the array of an ``.npy`` file of at most ``most`` bytes: numbers or text."""
    with BoundedFile(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise TooLargeError(
                f"Expected an array of at most {most:,} bytes in {path}, got {size:,}; crop it."
            )
        _layout(file.read(MAX_HEADER), size, path)
        file.seek(0)
        content = bytearray(size)
        file.readinto(content)
    return _array(content, path)


def read_arrays(path: Path, most: int) -> dict[str, NDArray[Any]]:
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
            arrays[name] = _array(read_member(archive, member), path)
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


def map_arrays(path: Path, *small: str) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file that :func:`write_arrays` wrote, except the small ones named.

    Their sizes are checked, and that the file is whole; only the small arrays are read.
    """
    arrays: dict[str, NDArray[Any]] = {}
    with open_zip(path) as archive:
        content = np.memmap(path, np.uint8, "r")
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name in small:
                arrays[name] = _array(read_member(archive, member), path)
            else:
                arrays[name] = _view(content, member, path)
    return arrays


def _view(content: NDArray[np.uint8], member: zipfile.ZipInfo, path: Path) -> NDArray[Any]:
    """Return the array of an ``.npy`` file in a mapped archive."""
    local = content[member.header_offset :][:LOCAL_HEADER].tobytes()
    if len(local) < LOCAL_HEADER or member.compress_type != zipfile.ZIP_STORED:
        raise FileError(f"Expected arrays without compression in {path}, got {member!r:.80}.")
    start = member.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", local[26:]))
    inner = content[start : start + member.file_size]
    layout = _layout(inner[:MAX_HEADER].tobytes(), member.file_size, path)
    begin = start + layout.start
    aligned = layout.dtype.kind in "biuf" and begin % layout.dtype.itemsize == 0
    if not aligned or layout.by_columns or len(inner) < member.file_size:
        raise FileError(
            f"Expected aligned arrays of numbers in {path}, got {member!r:.80}; load the file and "
            f"save it again."
        )
    view: NDArray[Any] = inner[layout.start :].view(layout.dtype).reshape(layout.shape)
    return view


def _layout(head: bytes, size: int, path: Path) -> Layout:
    """Parse the start of an ``.npy`` file, and check that its array fills a file of that size."""
    version = head[6] if head.startswith(MAGIC) and len(head) > MIN_HEADER else 0
    fields: dict[str, str] = {}
    start = 0
    if version in LENGTH:
        begin = len(MAGIC) + 2 + struct.calcsize(LENGTH[version])
        start = begin + struct.unpack_from(LENGTH[version], head, len(MAGIC) + 2)[0]
        header = HEADER.fullmatch(head[begin:start].decode("latin1"))
        groups = header.groups() if header is not None and start <= len(head) else ()
        fields = dict(zip(groups[::2], groups[1::2], strict=True))
    kind = KIND.fullmatch(fields.get("descr", ""))
    order, sizes = fields.get("fortran_order"), fields.get("shape", "")
    if kind is None or order not in ("True", "False") or not sizes.startswith("("):
        raise FileError(
            f"Expected an array of numbers or text in {path}, got {head[:80]!r}; save it with "
            f"numpy.save."
        )
    try:
        dtype = np.dtype(kind[1])
    except TypeError as error:
        raise FileError(f"Expected numbers or text in {path}, got {kind[1]}.") from error
    shape = tuple(map(int, re.findall(r"\d+", sizes)))
    extent = math.prod(max(length, 1) for length in shape) * dtype.itemsize
    need = math.prod(shape) * dtype.itemsize
    if need != size - start or not 0 < extent < 1 << 62 or len(shape) > MAX_AXES:
        raise FileError(
            f"Expected an array in {path} that fills its {size - start:,} bytes, got shape "
            f"{sizes:.40} of {dtype}; it is cut off or damaged: get a good copy."
        )
    return Layout(shape, order == "True", dtype, start)


def _array(content: bytearray, path: Path) -> NDArray[Any]:
    """Return the array of an ``.npy`` file: numbers or text."""
    shape, by_columns, dtype, start = _layout(bytes(content[:MAX_HEADER]), len(content), path)
    content = content if len(content) > start else bytearray(start + dtype.itemsize)
    flat = np.frombuffer(content, dtype, offset=start)[: math.prod(shape)]
    array: NDArray[Any] = flat.reshape(shape, order="F" if by_columns else "C")
    if dtype.kind == "U":  # Python's own functions break on numbers that are no characters
        codes = np.dtype(np.uint32).newbyteorder(dtype.byteorder)
        if flat.view(codes).max(initial=0) > sys.maxunicode:
            raise FileError(f"Expected text in {path}, got numbers that are no characters.")
    return array.astype(dtype.newbyteorder("="), copy=start % dtype.alignment > 0)
