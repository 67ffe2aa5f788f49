"""Datasets larger than memory: written complex by complex, opened as a map of the file."""

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._files.io import atomic_write, names_in
from mpsn._files.npz import map_arrays, write_arrays
from mpsn._rows.checks import check_features, check_incidence, check_offsets
from mpsn.complexes._collating import collate
from mpsn.complexes._saving import as_array, meta_of, open_parts
from mpsn.errors import ComplexError, FileError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

BLOCK = 1 << 20  # bytes that are copied at a time


def is_packed(path: Path) -> bool:
    """Return whether a path is that of a file of complexes."""
    return path.suffix == ".npz" and path.is_file() and "meta.npy" in names_in(path)


def map_union(path: str | os.PathLike[str]) -> "Complex":
    """Open a file of complexes as a union whose tensors are read-only maps of the file.

    All sizes, offsets, cells and signs are checked, in one pass; features are not read.
    """
    K = open_parts(path, _map, check=False)
    try:
        for B in K._incidences:
            check_incidence(B)
        check_offsets(K._ptr if K._y_ptr is None else (*K._ptr, K._y_ptr), _sizes(K), K._incidences)
        check_features(K._x, K.counts, finite=False)
    except ComplexError as error:
        raise FileError(f"Expected a valid dataset in {path}; {error!s:.300}") from error
    return K


def _map(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    arrays = map_arrays(path, "meta")
    for name, array in arrays.items():
        if name.startswith("signs_"):
            raise FileError("complexes in another orientation than the default; use load")
        if "ptr" in name and (array.dtype != np.int64 or array.ndim != 1 or not len(array)):
            raise FileError(f"{name} is not a list of int64")
        if name.startswith("face_signs_") and array.dtype != np.int8:
            raise FileError(f"{name} is not a list of int8")
    return arrays


def _sizes(K: "Complex") -> list[int]:
    sizes = [K.count(k) for k in range(len(K._ptr))]
    return sizes if K._y is None else [*sizes, len(K._y) if K._y.dim() else -1]


def write_union(path: str | os.PathLike[str], complexes: "Iterable[Complex]", chunk: int) -> None:
    """Write complexes to one file as they come; memory is bounded by ``chunk`` of them."""
    with atomic_write(path, what="a dataset") as file, ExitStack() as files:
        growing = _Growing(Path(os.path.realpath(path)).parent, files)
        rest = iter(complexes)
        growing.add(collate(islice(rest, chunk)))  # also if there are none
        while part := list(islice(rest, chunk)):
            growing.add(collate(part))
        columns = {name: column.copy_to for name, column in growing.columns.items()}
        write_arrays(file, {**columns, "meta": growing.meta})


class _Column:
    """An array whose length is not known yet, in a file without a name."""

    def __init__(self, file: IO[bytes], like: NDArray[Any]) -> None:
        self._file = file
        self.dtype, self.row, self.length = like.dtype, like.shape[1:], 0

    def append(self, rows: NDArray[Any], name: str) -> None:
        if (rows.dtype, rows.shape[1:]) != (self.dtype, self.row):
            raise ComplexError(
                f"Expected {name} of one width and type in all complexes, got {self.row} of "
                f"{self.dtype} and {rows.shape[1:]} of {rows.dtype}; convert them with replace()."
            )
        self._file.write(np.ascontiguousarray(rows).data)
        self.length += len(rows)

    def copy_to(self, out: IO[bytes]) -> None:
        """Write the whole as an ``.npy`` file."""
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.length, *self.row),
        }
        np.lib.format.write_array_header_1_0(out, header)
        self._file.seek(0)
        while block := self._file.read(BLOCK):
            out.write(block)


class _Growing:
    """The parts of a union, to which unions of the same kind are appended."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self.columns: dict[str, _Column] = {}
        self.complexes = 0
        self._folder, self._files = folder, files
        self._kind: type | None = None
        self._cells: list[int] = []  # of each dimension so far
        self._entries: list[int] = []  # of each incidence

    def add(self, K: "Complex") -> None:
        if K.vertex_labels is not None or (
            K._ascending and any(B.sign is not None for B in K._incidences)
        ):
            raise ComplexError(
                "Expected complexes without vertex labels and in their default orientation, got "
                "others; remove labels with replace(vertex_labels=None), or use "
                "ComplexDataset(complexes).save(path), in memory."
            )
        if self._kind not in (None, type(K)):
            raise ComplexError(
                f"Expected complexes of one kind, got {self._kind} and {type(K)}; convert them "
                f"with CellComplex.from_complex."
            )
        self._kind, self.meta = type(K), meta_of(K)
        more = [0] * (len(K._ptr) - len(self._cells))
        self._cells, self._entries = self._cells + more, self._entries + more
        for k, before in enumerate(self._cells):
            self._offsets(f"ptr_{k}", K.ptr(k), before, self.complexes)
            self._if_all(f"x_{k}", K.x[k] if k < len(K.x) else None, before, K.count(k))
        for k, B in enumerate(K._incidences, start=1):
            table = B.face if B.width is None else B.table
            self._append(f"faces_{k}", table + self._cells[k - 1])
            if B.width is None:
                self._offsets(f"face_ptr_{k}", B.offsets, self._entries[k], self._cells[k])
            if not K._ascending:
                self._append(f"face_signs_{k}", B.signs)
            self._entries[k] += len(B.face)
        labels = self.columns["y"].length if "y" in self.columns else 0
        self._if_all("y", K.y, self.complexes, K.num_complexes)
        if K._y_ptr is not None:
            self._offsets("y_ptr", K._y_ptr, labels, self.complexes)
        self._cells = [before + K.count(k) for k, before in enumerate(self._cells)]
        self.complexes += K.num_complexes

    def _append(self, name: str, rows: Tensor) -> None:
        array = as_array(name, rows)
        if name not in self.columns:
            unnamed = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed with the rest
            file = self._files.enter_context(unnamed)
            self.columns[name] = _Column(file, array)
        self.columns[name].append(array, name)

    def _offsets(self, name: str, offsets: Tensor, start: int, before: int) -> None:
        """Append offsets, shifted by ``start``; the ``before`` items before the first are empty."""
        if name not in self.columns:
            self._append(name, torch.zeros(before + 1, dtype=torch.int64))
        self._append(name, offsets[1:] + start)

    def _if_all(self, name: str, rows: Tensor | None, before: int, here: int) -> None:
        """Append rows that all complexes have, or none."""
        begun = name in self.columns
        if (here and begun and rows is None) or (before and not begun and rows is not None):
            raise ComplexError(
                f"Expected {name} in all complexes or in none, got it in some; add it with "
                f"replace()."
            )
        if rows is not None:
            self._append(name, rows)
