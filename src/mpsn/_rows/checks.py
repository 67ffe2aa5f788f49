"""Validation of user input, done once, when a complex is built."""

import operator
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mpsn._rows import cpu
from mpsn._rows.device import check_holds
from mpsn.errors import ComplexError

if TYPE_CHECKING:
    from mpsn.complexes.incidence import Incidence

ASCENDING = "list distinct vertices in ascending order"
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def as_int(value: object, what: str) -> int:
    """Return ``value`` as an integer >= 0."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise ComplexError(f"Expected {what} as an integer, got {value!r:.40}.") from error
    if number < 0 or isinstance(value, bool):
        raise ComplexError(f"Expected {what} >= 0, got {value!r:.40}.")
    return number


def as_tensor(value: object, what: str) -> Tensor:
    """Return numbers of any kind as a tensor."""
    try:
        if isinstance(value, np.ndarray):  # in a form that torch accepts without a warning
            value = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
            value = value if value.flags.writeable else value.copy()
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ComplexError(
            f"Expected {what} as a tensor of numbers, got {type(value).__name__}: {value!r:.60}."
        ) from error
    if not isinstance(value, Tensor):
        check_holds(tensor.device)
    return tensor


def as_array(values: Any) -> Any:
    """Return a tensor as a numpy array, floats in double precision; anything else as it is."""
    if not isinstance(values, Tensor):
        return values
    dense = values.detach().to_dense().cpu()
    return (dense.double() if dense.is_floating_point() else dense).numpy()


def as_index_table(table: object, width: int, what: str) -> Tensor:
    """Return a copy of ``table`` as int64 of shape (n, width)."""
    tensor = as_tensor(table, what)
    if tensor.numel() == 0 and tensor.dim() < 2:
        tensor = tensor.new_zeros((0, width), dtype=torch.int64)
    if tensor.dim() != 2 or tensor.shape[1] != width:
        raise ComplexError(
            f"Expected {what} of shape (n, {width}), got {tuple(tensor.shape)}; "
            f"give one row per cell."
        )
    if tensor.dtype not in INTEGERS:
        raise ComplexError(f"Expected {what} of integers, got {tensor.dtype}; use int64.")
    return tensor.to(torch.int64, copy=True).contiguous()


def check_same_device(tensors: Sequence[Tensor]) -> None:
    """Raise unless all tensors are on one device."""
    devices = sorted({str(tensor.device) for tensor in tensors})
    if len(devices) > 1:
        raise ComplexError(
            f"Expected all tensors on one device, got {', '.join(devices)}; move them with .to()."
        )


def check_face_tables(num_vertices: int, tables: Sequence[Tensor]) -> None:
    """Raise unless the tables describe a simplicial complex, with face ``i`` omitting vertex ``i``.

    Equivalently, ``d_i d_j = d_{j-1} d_i`` for ``i < j``, and the vertices are sorted.
    """
    count = num_vertices
    below, last = np.zeros((count, 1), np.int64), np.arange(count)
    for k, table in enumerate(tables, start=1):
        rows = table.cpu().numpy()
        row, fault, rising, last = cpu.check_simplices(rows, below, last)
        if fault == cpu.OUTSIDE:
            raise ComplexError(
                f"Expected face table {k} to point at the {count} simplices of dimension {k - 1}, "
                f"got indices from {rows.min()} to {rows.max()}; the complex is not closed under "
                f"faces."
            )
        if fault:
            closed = fault == cpu.NOT_CLOSED
            raise ComplexError(
                f"Expected face table {k} to "
                f"{'be closed: column i omits vertex i' if closed else ASCENDING}, got row {row}: "
                f"{rows[row].tolist()}; build the complex with SimplicialComplex.from_simplices "
                f"instead."
            )
        # The face that omits the last vertex, and that vertex, tell simplices apart.
        if not rising and len(np.unique(rows[:, k] * num_vertices + last)) < len(rows):
            raise ComplexError(
                f"Expected every simplex once, got repeated rows in face table {k}; "
                f"remove the duplicates."
            )
        count, below = len(rows), rows


def check_features(x: Sequence[Tensor | None], counts: Sequence[int], finite: bool = True) -> None:
    """Raise unless every feature tensor is (n_k, F_k), matches its dimension, and is finite."""
    for k, features in enumerate(x):
        if features is None:
            continue
        expected = counts[k] if k < len(counts) else 0
        if features.dim() != 2 or features.shape[0] != expected:
            raise ComplexError(
                f"Expected x[{k}] of shape ({expected}, F), one row per {k}-cell, "
                f"got {tuple(features.shape)}."
            )
        if not finite or not features.is_floating_point() or not features.numel():
            continue
        if not torch.stack(torch.aminmax(features)).isfinite().all():  # NaN if any feature is
            row = int((~torch.isfinite(features)).any(dim=1).nonzero()[0])
            raise ComplexError(
                f"Expected finite features, got NaN or infinity in x[{k}], first in row {row}; "
                f"fill or drop the missing values."
            )


def are_signs(sign: Tensor) -> bool:
    """Return whether all numbers are ±1; those of a file need not fit into memory."""
    return all(bool((part.abs() == 1).all()) for part in torch.split(sign, 1 << 20))


def check_orientation(signs: Sequence[Tensor | None], counts: Sequence[int]) -> None:
    """Raise unless the signs are ±1, one per cell, and +1 on vertices."""
    for k, sign in enumerate(signs):
        if sign is None:
            continue
        expected = counts[k] if k < len(counts) else 0
        if sign.shape != (expected,) or not are_signs(sign):
            raise ComplexError(
                f"Expected orientation signs ±1 of shape ({expected},) in dimension {k}, "
                f"got shape {tuple(sign.shape)}."
            )
        if k == 0 and bool((sign != 1).any()):
            raise ComplexError(
                "Expected +1 on every vertex, got -1: vertices have no orientation to flip."
            )


def check_offsets(
    ptr: Sequence[Tensor], counts: Sequence[int], incidences: "Sequence[Incidence]"
) -> None:
    """Raise unless the offsets split a union into disjoint complexes."""
    for k, offsets in enumerate(ptr):
        if (
            not len(offsets)
            or offsets[0] != 0
            or offsets[-1] != (counts[k] if k < len(counts) else 0)
            or len(offsets) != len(ptr[0])
            or bool((offsets.diff() < 0).any())
        ):
            raise ComplexError(
                f"Expected offsets of dimension {k} to rise from 0 to the number of cells, got "
                f"{offsets.tolist()!s:.60}."
            )
    for k, B in enumerate(incidences, start=1):
        parts = B.face, B.starts(ptr[k]), ptr[k - 1]
        if cpu.find_outside(*(t.cpu().numpy() for t in parts)) >= 0:
            raise ComplexError(
                f"Expected cells and their faces in the same complex of the union, got a face in "
                f"another complex in face table {k}."
            )


def check_labels(labels: Sequence[Hashable], vertices: int) -> None:
    """Raise unless every vertex has a distinct label."""
    if len(labels) != vertices:
        raise ComplexError(f"Expected {vertices} vertex labels, got {len(labels)}.")
    if len(set(labels)) < len(labels):
        raise ComplexError("Expected a different label for every vertex, got duplicates.")


def check_by_dimension(parts: object, what: str) -> None:
    """Raise unless parts are in a dictionary by dimension."""
    if not isinstance(parts, Mapping) or not all(isinstance(k, int) for k in parts):
        raise ComplexError(
            f"Expected {what} as a dictionary by dimension, such as {{1: mask}}, got {parts!r:.60}."
        )


def as_index(chosen: object, n: int, what: str, device: torch.device, least: int = 0) -> Tensor:
    """Return the numbers, (m,) int64, that a mask (n,) or a list of numbers below n chooses."""
    index = as_tensor(chosen, what).to(device)
    if index.dtype == torch.bool and index.shape == (n,):
        return index.nonzero()[:, 0]
    if index.dim() != 1 or (index.numel() and index.dtype not in INTEGERS):
        raise ComplexError(
            f"Expected a mask ({n},) or numbers of {what}, got {index.dtype} of shape "
            f"{tuple(index.shape)}."
        )
    low, high = torch.stack(torch.aminmax(index)).tolist() if index.numel() else (0, -1)
    if low < least or high >= n:
        raise ComplexError(f"Expected {what} from {least} to {n - 1}, got {low} to {high}.")
    return index.to(torch.int64)


def check_incidence(B: "Incidence", signed: bool = True) -> None:
    """Raise unless the parts of an incidence fit together, with signs if ``signed``."""
    face, ptr, sign = B.face, B.ptr, B.sign
    if face.dim() != 1 or face.dtype != torch.int64:
        raise ComplexError(
            f"Expected face as int64 of shape (nnz,), got {face.dtype} of shape "
            f"{tuple(face.shape)}; flatten a face table."
        )
    if (B.width is None) == (ptr is None):
        got = "neither" if ptr is None else "both"
        raise ComplexError(
            f"Expected width or ptr, got {got}; use width if all cells have equally many faces."
        )
    if B.width is not None and (B.width < 1 or len(face) % B.width):
        raise ComplexError(
            f"Expected entries in rows of width {B.width} >= 1, got {len(face)} entries."
        )
    if ptr is not None and (
        ptr.dim() != 1
        or ptr.dtype != torch.int64
        or not len(ptr)
        or ptr[0] != 0
        or ptr[-1] != len(face)
        or bool((ptr.diff() < 0).any())
    ):
        raise ComplexError(f"Expected ptr to rise from 0 to {len(face)}, got {ptr.tolist()!s:.60}.")
    if len(face) and (face.min() < 0 or face.max() >= B.count):
        cell = int(B.cell[(face < 0) | (face >= B.count)][0])
        raise ComplexError(
            f"Expected faces from 0 to {B.count - 1}, got {int(face.min())} to {int(face.max())}, "
            f"first in cell {cell}."
        )
    if signed and sign is None and B.width is None and len(face):
        raise ComplexError(
            "Expected a sign for each entry if the number of faces varies, got none; pass sign."
        )
    if sign is not None and (sign.shape != face.shape or not are_signs(sign)):
        got = "others" if sign.shape == face.shape else f"shape {tuple(sign.shape)}"
        raise ComplexError(f"Expected signs ±1 of shape {tuple(face.shape)}, got {got}.")
