"""Complexes as files and as named tensors: writing, reading, and the checks on reading."""

import json
import os
import re
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._files.io import atomic_write, read_json
from mpsn._files.npz import read_arrays, write_arrays
from mpsn._rows.checks import (
    as_index_table,
    check_features,
    check_incidence,
    check_labels,
    check_offsets,
    check_orientation,
)
from mpsn._rows.memory import available_memory, check_vertices
from mpsn.complexes._symmetries import reorient
from mpsn.complexes.incidence import Incidence
from mpsn.errors import UNREADABLE, ComplexError, FileError, TooLargeError

if TYPE_CHECKING:
    from mpsn.complexes.complex import Complex

FORMAT = 1
MAX_ISOLATED = 1 << 22  # vertices in a file beyond two for each number in it
KINDS: "dict[str, type[Complex]]" = {}  # by name, filled as the classes are defined


def save(K: "Complex", path: str | os.PathLike[str]) -> None:
    """Save the complex to one ``.npz`` file, atomically and without pickle.

    Vertex labels must be numbers, strings or tuples of them. See :func:`mpsn.load`.
    """
    arrays = {name: as_array(name, tensor) for name, tensor in to_parts(K).items()}
    with atomic_write(path, what="a dataset") as file:
        write_arrays(file, {**arrays, "meta": meta_of(K)})


def as_array(name: str, tensor: Tensor) -> NDArray[Any]:
    """Return a part as an array to write."""
    if tensor.dtype == torch.bfloat16:
        raise ComplexError(f"Expected {name} in a type of numpy's, got bfloat16; convert it.")
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def meta_of(K: "Complex") -> NDArray[np.str_]:
    """Return what a file says beside the parts of a union."""
    labels = encode_labels(K.vertex_labels)
    return np.array(json.dumps({"format": FORMAT, "kind": type(K).__name__, "labels": labels}))


def load(path: str | os.PathLike[str]) -> "Complex":
    """Load a complex, or a union of them, written by ``K.save``; its contents are validated.

    Example:
        >>> K = mpsn.clique_complex(nx.cycle_graph(5))
        >>> K.save(tmp_path / "K.npz")
        >>> mpsn.load(tmp_path / "K.npz") == K
        True
    """
    return open_parts(path, partial(read_arrays, most=available_memory(torch.device("cpu"))))


def open_parts(
    path: str | os.PathLike[str],
    read: Callable[[str | os.PathLike[str]], dict[str, NDArray[Any]]],
    check: bool = True,
) -> "Complex":
    """Return the union in a file whose arrays ``read`` returns."""
    try:
        arrays = read(path)
        meta = read_json(str(arrays.pop("meta", "")))
    except FileNotFoundError as error:
        raise FileError(f"Expected a dataset at {path}, found no file.") from error
    except TooLargeError:
        raise
    except UNREADABLE as error:
        raise FileError(
            f"Expected a dataset written by ComplexDataset.save, got {path}, which is damaged "
            f"or of another kind ({error!s:.200}); write it again."
        ) from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise FileError(
            f"Expected a dataset of format {FORMAT} in {path}, got another; "
            f"read it with the mpsn version that wrote it."
        )
    try:
        return from_parts(as_tensors(arrays), meta, check)  # type: ignore[no-any-return]
    except (ComplexError, RecursionError) as error:
        raise FileError(f"Expected a valid dataset in {path}; {error!s:.300}") from error


def to_parts(union: "Complex") -> dict[str, Tensor]:
    """Return the tensors of a union by name; of simplices, the orientations instead of signs."""
    named: dict[str, Tensor | None] = {
        **{f"ptr_{k}": t for k, t in enumerate(union._ptr)},
        **{f"x_{k}": t for k, t in enumerate(union._x)},
        "y": union._y,
        "y_ptr": union._y_ptr,
    }
    for k, B in enumerate(union._incidences, start=1):
        named[f"faces_{k}"] = B.face if B.width is None else B.table
        named[f"face_ptr_{k}"] = B.ptr
        if not union._ascending:
            named[f"face_signs_{k}"] = B.sign
        elif bool(((turn := union.orientation(k)) < 0).any()):
            named[f"signs_{k}"] = turn
    return {name: tensor for name, tensor in named.items() if tensor is not None}


def restored(kind: str, parts: Mapping[str, Tensor], labels: Any) -> "Complex":
    """Return a complex from a file of ``torch.save``: ``torch.load`` may call this on any."""
    if not all(isinstance(part, Tensor) for part in parts.values()):
        raise ComplexError("Expected the parts of a complex as tensors, got others.")
    K: Complex = from_parts(parts, {"kind": kind})
    return K if labels is None else K.replace(vertex_labels=labels)


def as_tensors(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """Return arrays from a file as tensors."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of mapped arrays: they are not writable
            return {name: torch.from_numpy(array) for name, array in arrays.items()}
    except (TypeError, ValueError) as error:  # text, or numbers of another machine
        raise ComplexError(f"Expected arrays of numbers, got others ({error}).") from error


def from_parts(
    parts: Mapping[str, Tensor],
    meta: Mapping[str, Any] | None = None,
    check: bool = True,
    num_vertices: int | None = None,
) -> Any:
    """Build a union from the tensors of :func:`to_parts`, and vertex names ``meta["labels"]``.

    Parts from a file need ``check=True``. A known ``num_vertices`` avoids a device synchronization.
    """
    meta = meta or {}
    name = meta.get("kind", "SimplicialComplex")
    if not isinstance(name, str) or name not in KINDS:
        raise ComplexError(f"Expected one of {', '.join(KINDS)}, got {name!r:.40}.")
    kind, dims = KINDS[name], dict.fromkeys(("faces", "ptr"), 0)
    dims |= dict.fromkeys(("x", "signs", "face_ptr", "face_signs"), -1)
    for name in parts.keys() - {"y", "y_ptr"}:
        part, _, digits = name.rpartition("_")
        if part not in dims or re.fullmatch(r"0|[1-9]\d{0,2}", digits) is None:
            raise ComplexError(f"Expected parts such as faces_1, ptr_0 and x_0, got {name!r:.40}.")
        dims[part] = max(dims[part], int(digits))
    top = max(dims[part] for part in ("ptr", "signs", "face_ptr", "face_signs"))
    if top > dims["faces"]:
        raise ComplexError(f"Expected a part faces_{top}, found none.")
    ptr = [_part(parts, f"ptr_{k}") for k in range(dims["faces"] + 1)]
    x, signs = (
        [parts.get(f"{part}_{k}") for k in range(dims[part] + 1)] for part in ("x", "signs")
    )
    y, y_ptr = parts.get("y"), _part(parts, "y_ptr") if "y" in parts else None
    labels = _decode_labels(meta.get("labels"))
    if check:
        for offsets in ptr if y_ptr is None else (*ptr, y_ptr):
            _check_offsets(offsets)
    n = n0 = int(ptr[0][-1]) if num_vertices is None else num_vertices
    incidences: list[Incidence] = []
    for k in range(1, dims["faces"] + 1):
        incidences.append(_incidence(parts, k, n, kind._width(k), check))
        n = len(incidences[-1])
    if check:
        check_vertices(n0, ptr[0].device)
        most = MAX_ISOLATED + 2 * sum(part.numel() for part in parts.values())
        if n0 > most:
            raise ComplexError(
                f"Expected at most {most} vertices with so few cells and features, got {n0}."
            )
        incidences = list(kind._check(n0, incidences))
        counts = [n0, *map(len, incidences)]
        check_offsets(ptr, counts, incidences)
        check_features(x, counts)
        if any(s is not None and s.dtype != torch.int8 for s in signs):
            raise ComplexError("Expected orientation signs of type int8, got others.")
        check_orientation(signs, counts)
        if labels is not None:
            check_labels(labels if isinstance(labels, tuple) else (), counts[0])
        if y is not None and y_ptr is not None:
            check_offsets([ptr[0], y_ptr], [counts[0], len(y) if y.dim() else -1], [])
    out = kind.unchecked(incidences, ptr, num_vertices=n0, x=x, y=y, y_ptr=y_ptr, labels=labels)
    return reorient(out, signs) if any(s is not None for s in signs) else out


def _incidence(
    parts: Mapping[str, Tensor], k: int, count: int, width: int | None, check: bool
) -> Incidence:
    face, ptr = _part(parts, f"faces_{k}"), parts.get(f"face_ptr_{k}")
    sign = parts.get(f"face_signs_{k}")
    if check and width is not None:
        face = as_index_table(face, width, f"faces_{k}")
    B = Incidence.unchecked(face.reshape(-1), count, width, ptr, sign)
    if check and (width is None or sign is not None):
        for tensor, dtype in ((ptr, torch.int64), (sign, torch.int8)):
            if tensor is not None and tensor.dtype != dtype:
                raise ComplexError(f"Expected offsets and signs of {k}-cells, got {tensor.dtype}.")
        check_incidence(B)
    return B


def _part(parts: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in parts:
        raise ComplexError(f"Expected a part {name}, found none.")
    return parts[name]


def _check_offsets(offsets: Tensor) -> None:
    if (offsets.dim(), offsets.dtype) != (1, torch.int64) or not len(offsets) or offsets.min() < 0:
        raise ComplexError(
            f"Expected offsets as a list of int64 from 0 on, got {offsets.dtype} of shape "
            f"{tuple(offsets.shape)}."
        )


def encode_labels(labels: object) -> object:
    if isinstance(labels, tuple):
        return [encode_labels(label) for label in labels]
    if isinstance(labels, np.generic):
        return labels.item()
    if labels is None or isinstance(labels, (str, int)):
        return labels
    if isinstance(labels, float) and isfinite(labels):
        return labels
    raise ComplexError(
        f"Expected vertex labels that are finite numbers, strings or tuples of them, got "
        f"{labels!r:.40}; rename them with replace(vertex_labels=...) before saving."
    )


def _decode_labels(labels: Any) -> Any:
    if isinstance(labels, list):
        return tuple(map(_decode_labels, labels))
    if labels is None or isinstance(labels, (str, int, float)):
        return labels
    raise ComplexError(f"Expected vertex labels as text or numbers, got {labels!r:.40}.")
