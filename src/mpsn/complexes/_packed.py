"""Datasets of complexes, stored as one union: indexing, batching, saving and loading."""

import json
import operator
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Self, SupportsIndex, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._io import atomic_write, read_arrays, read_json
from mpsn.complexes._batching import collate, cut_table, take
from mpsn.complexes._checks import (
    INTEGERS,
    as_index_table,
    as_tensor,
    check_face_tables,
    check_features,
    check_labels,
    check_offsets,
    check_orientation,
)
from mpsn.complexes._memory import available_memory, check_vertices
from mpsn.complexes.simplicial import SimplicialComplex
from mpsn.errors import UNREADABLE, ComplexError, FileError, TooLargeError

FORMAT = 1
MAX_ISOLATED = 1 << 22  # vertices in a file beyond two for each number in it
Index = slice | Sequence[int] | Tensor


class ComplexDataset(Sequence[SimplicialComplex]):
    """A dataset of complexes for training, stored as their disjoint union.

    ``dataset[i]`` is a complex, ``dataset[[3, 1]]`` or ``dataset[:10]`` a dataset, and
    ``dataset.batch([3, 1])`` the union of the selected complexes, assembled on the dataset's device
    without a Python loop over them.

    Args:
        complexes: A list of complexes, or a union of them.

    Example:
        >>> data = mpsn.clique_complexes([nx.complete_graph(n) for n in (2, 3, 4)])
        >>> data
        ComplexDataset(3 complexes, counts=(9, 10, 5))
        >>> data.batch([2, 0])
        SimplicialComplex(dim=2, counts=(6, 7, 4), complexes=2)
    """

    def __init__(self, complexes: Sequence[SimplicialComplex] | SimplicialComplex) -> None:
        one = isinstance(complexes, SimplicialComplex)
        self.union: SimplicialComplex = complexes if one else collate(complexes)  # type: ignore
        self._cuts = cut_table(self.union)

    def __len__(self) -> int:
        return self.union.num_complexes

    @overload
    def __getitem__(self, index: int) -> SimplicialComplex: ...
    @overload
    def __getitem__(self, index: Index) -> Self: ...
    def __getitem__(self, index: int | Index) -> SimplicialComplex | Self:
        if isinstance(index, SupportsIndex) and not _is_many(index):
            one = operator.index(index)
            if not -len(self) <= one < len(self):
                raise IndexError(f"Expected an index below {len(self)}, got {one}.")
            return self.batch([one]).to_list()[0]
        return type(self)(self.batch(index))  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[SimplicialComplex]:
        return iter(self.union.to_list())

    def __eq__(self, other: object) -> bool:
        """Return whether all complexes agree, in order."""
        return self.union == other.union if isinstance(other, ComplexDataset) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ComplexDataset({len(self)} complexes, counts={self.union.counts})"

    @property
    def y(self) -> Tensor | None:
        """Labels of all complexes, one row each."""
        return self.union.y

    @property
    def counts(self) -> Tensor:
        """Number of cells, (complexes, dim + 1) int64, one column per dimension."""
        return torch.stack([self.union.ptr(k).diff() for k in range(len(self.union._ptr))], dim=1)

    def batch(self, index: Index) -> SimplicialComplex:
        """Return the union of the selected complexes, in that order.

        Args:
            index: Slice, list or tensor of positions, or a boolean mask.
        """
        n, device = len(self), self.union.device
        if isinstance(index, slice):
            at = torch.tensor(range(n)[index], dtype=torch.int64, device=device)
        else:
            at = as_tensor(index, "positions").to(device)
            if at.dim() != 1 or (at.numel() and at.dtype not in (*INTEGERS, torch.bool)):
                raise ComplexError(
                    f"Expected positions as a list of integers or a mask, got {at.dtype} of shape "
                    f"{tuple(at.shape)}."
                )
            if at.dtype == torch.bool and len(at) != n:
                raise ComplexError(f"Expected a mask of {n} entries, got {len(at)}.")
            at = at.nonzero().squeeze(1) if at.dtype == torch.bool else at.to(torch.int64)
        low, high = torch.stack(torch.aminmax(at)).tolist() if at.numel() else (0, -1)
        if low < -n or high >= n:
            raise ComplexError(f"Expected positions below {n}, got {at.tolist()!s:.60}.")
        return take(self.union, self._cuts, at % n if low < 0 else at)

    def to(self, device: torch.device | str) -> Self:
        """Return the dataset on another device."""
        return type(self)(self.union.to(device))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the dataset to one ``.npz`` file, atomically and without pickle.

        Vertex labels must be numbers, strings or tuples of them.
        """
        arrays: dict[str, Any] = {}
        for name, tensor in to_parts(self.union).items():
            if tensor.dtype == torch.bfloat16:
                raise ComplexError(
                    f"Expected {name} in a type of numpy's, got bfloat16; convert it."
                )
            arrays[name] = tensor.detach().cpu().numpy()
        meta = {"format": FORMAT, "labels": _encode(self.union.vertex_labels)}
        arrays["meta"] = np.array(json.dumps(meta))
        with atomic_write(path, what="a dataset") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a dataset written by :meth:`save`; its contents are validated."""
        try:
            arrays = read_arrays(path, available_memory(torch.device("cpu")))
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
            return cls(from_parts(as_tensors(arrays), meta))
        except (ComplexError, RecursionError) as error:
            raise FileError(f"Expected a valid dataset in {path}; {error!s:.300}") from error


def _is_many(index: object) -> bool:
    return bool(getattr(index, "ndim", 0))  # arrays with one entry also support __index__


def to_parts(union: SimplicialComplex) -> dict[str, Tensor]:
    """Return the tensors of a union by name."""
    named = {
        **{f"faces_{k}": union.faces(k) for k in range(1, len(union._ptr))},
        **{f"ptr_{k}": t for k, t in enumerate(union._ptr)},
        **{f"x_{k}": t for k, t in enumerate(union._x)},
        **{f"signs_{k}": t for k, t in enumerate(union._orientation)},
        "y": union._y,
        "y_ptr": union._y_ptr,
    }
    return {name: tensor for name, tensor in named.items() if tensor is not None}


def as_tensors(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """Return arrays from a file as tensors."""
    try:
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    except (TypeError, ValueError) as error:  # text, or numbers of another machine
        raise ComplexError(f"Expected arrays of numbers, got others ({error}).") from error


def from_parts(
    parts: Mapping[str, Tensor],
    meta: Mapping[str, Any] | None = None,
    check: bool = True,
    num_vertices: int | None = None,
) -> SimplicialComplex:
    """Build a union from the tensors of :func:`to_parts`, and vertex names ``meta["labels"]``.

    Parts from a file need ``check=True``. A known ``num_vertices`` avoids a device synchronization.
    """
    dims = {"faces": 0, "ptr": 0, "x": -1, "signs": -1}
    for name in parts.keys() - {"y", "y_ptr"}:
        kind, _, k = name.rpartition("_")
        if kind not in dims or re.fullmatch(r"0|[1-9]\d{0,2}", k) is None:
            raise ComplexError(f"Expected parts such as faces_1, ptr_0 and x_0, got {name!r:.40}.")
        dims[kind] = max(dims[kind], int(k))
    faces = [_part(parts, f"faces_{k}") for k in range(1, dims["faces"] + 1)]
    ptr = [_part(parts, f"ptr_{k}") for k in range(dims["faces"] + 1)]
    x, signs = (
        [parts.get(f"{kind}_{k}") for k in range(dims[kind] + 1)] for kind in ("x", "signs")
    )
    y, y_ptr = parts.get("y"), _part(parts, "y_ptr") if "y" in parts else None
    labels = _decode((meta or {}).get("labels"))
    if check:
        faces = [as_index_table(table, k + 1, f"faces_{k}") for k, table in enumerate(faces, 1)]
        for offsets in ptr if y_ptr is None else (*ptr, y_ptr):
            _check_offsets(offsets)
    counts = [int(ptr[0][-1]) if num_vertices is None else num_vertices, *map(len, faces)]
    if check:
        check_vertices(counts[0], ptr[0].device)
        most = MAX_ISOLATED + 2 * sum(part.numel() for part in parts.values())
        if counts[0] > most:
            raise ComplexError(
                f"Expected at most {most} vertices with so few cells and features, got {counts[0]}."
            )
        check_face_tables(counts[0], faces)
        check_offsets(ptr, counts, faces)
        check_features(x, counts)
        if any(s is not None and s.dtype != torch.int8 for s in signs):
            raise ComplexError("Expected orientation signs of type int8, got others.")
        check_orientation(signs, counts)
        if labels is not None:
            check_labels(labels if isinstance(labels, tuple) else (), counts[0])
        if y is not None and y_ptr is not None:
            check_offsets([ptr[0], y_ptr], [counts[0], len(y) if y.dim() else -1], [])
    return SimplicialComplex._of_tables(
        faces,
        ptr,
        num_vertices=counts[0],
        x=x,
        y=y,
        y_ptr=y_ptr,
        orientation=signs,
        labels=labels,
    )


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


def _encode(labels: object) -> object:
    if isinstance(labels, tuple):
        return [_encode(label) for label in labels]
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


def _decode(labels: Any) -> Any:
    if isinstance(labels, list):
        return tuple(map(_decode, labels))
    if labels is None or isinstance(labels, (str, int, float)):
        return labels
    raise ComplexError(f"Expected vertex labels as text or numbers, got {labels!r:.40}.")
