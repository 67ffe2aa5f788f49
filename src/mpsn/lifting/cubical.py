"""Cubical complexes of images and volumes."""

import math
from itertools import combinations
from typing import Literal

import torch
import torch.nn.functional as nnf
from torch import Tensor

from mpsn._rows.checks import as_tensor
from mpsn._rows.memory import available_memory, check_room, in_memory
from mpsn.complexes import CubicalComplex
from mpsn.complexes.internal import as_incidences
from mpsn.errors import ComplexError

Axes = tuple[int, ...]  # along which a cell extends
CELL_BYTES = 24  # of a cell: its number, and its value and place while they are found


def cubical_complex(
    array: object,
    *,
    pixels: Literal["cells", "vertices"] = "cells",
    mask: object = None,
    max_bytes: int | None = None,
) -> CubicalComplex:
    """Build the cubical complex of an image or a volume, with its values as features.

    The cells of each dimension are ordered by the axes along which they extend, then by position;
    positions are in row-major order. All cells have their product orientation.

    Args:
        array: The values, of any number of dimensions d >= 1: numbers, a numpy array or a tensor,
            whose device is used.
        pixels: What the entries of the array are. ``"cells"``: the d-dimensional cells; a lower
            cell gets the smallest value of the entries around it, as in gudhi. ``"vertices"``: a
            higher cell gets the largest value of its vertices. So each cell enters the sublevel
            sets of the image together with its faces. Defaults to ``"cells"``.
        mask: Booleans of the same shape: which entries to keep. Cells that belong to none of them
            (``"cells"``), or to one left out (``"vertices"``), are left out. Defaults to all.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Returns:
        A complex with features (n_k, 1) in every dimension.

    Example:
        >>> ring = [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
        >>> K = mpsn.cubical_complex(ring, mask=torch.tensor(ring) > 0)
        >>> K, K.betti_numbers()
        (CubicalComplex(dim=2, counts=(16, 24, 8), features=(1, 1, 1)), (1, 1, 0))
        >>> mpsn.cubical_complex([0.0, 3.0, 2.0], pixels="vertices").x[1].T
        tensor([[3., 3.]])
    """
    if pixels not in ("cells", "vertices"):
        raise ComplexError(f"Expected pixels='cells' or 'vertices', got {pixels!r:.40}.")
    top = pixels == "cells"
    values = as_tensor(array, "the array")
    grid = [size + top for size in values.shape]  # of the vertices
    _check_memory(grid, values, max_bytes)
    with in_memory("an image and its complex", "crop it"):
        values = _values(values)
        keep = _mask(mask, values)
        axes = tuple(axis for axis, size in enumerate(grid) if size > 1)
        kinds = [list(combinations(axes, k)) for k in range(len(axes) + 1)]
        cells: dict[Axes, tuple[Tensor, Tensor]] = {  # values, and whether they are kept
            axes if top else (): (values.masked_fill(~keep, torch.inf), keep)
        }
        for kind in [kind for level in (kinds[-2::-1] if top else kinds[1:]) for kind in level]:
            axis = next(axis for axis in axes if (axis in kind) != top)
            near = tuple(sorted({*kind} ^ {axis}))
            cells[kind] = _coarser(*cells[near], axis) if top else _finer(*cells[near], axis)
        index: dict[Axes, Tensor] = {}
        tables, x, counts = [], [], []
        for k, level in enumerate(kinds):
            if k:
                tables.append(torch.cat([_faces(kind, index)[cells[kind][1]] for kind in level]))
            counts.append(0)
            for kind in level:
                kept = cells[kind][1]
                index[kind] = kept.reshape(-1).cumsum(0).view(kept.shape) + (counts[k] - 1)
                counts[k] += int(kept.sum())
            x.append(torch.cat([cells[kind][0][cells[kind][1]] for kind in level])[:, None])
        ptr = [torch.tensor([0, n], device=values.device) for n in counts]
        incidences = as_incidences(tables, counts[0])
        return CubicalComplex.unchecked(incidences, ptr, num_vertices=counts[0], x=x)


def _sides(t: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return all but the last, and all but the first slice along an axis."""
    n = t.shape[axis] - 1
    return t.narrow(axis, 0, n), t.narrow(axis, 1, n)


def _coarser(value: Tensor, kept: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the values of the cells between given ones, and which of them are kept."""
    around = [0, 0] * (value.dim() - 1 - axis) + [1, 1]
    low, high = _sides(nnf.pad(value, around, value=torch.inf), axis)
    before, after = _sides(nnf.pad(kept, around, value=False), axis)
    return torch.minimum(low, high), before | after


def _finer(value: Tensor, kept: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the values of the cells that connect given ones, and which of them are kept."""
    (low, high), (before, after) = _sides(value, axis), _sides(kept, axis)
    return torch.maximum(low, high), before & after


def _faces(kind: Axes, index: dict[Axes, Tensor]) -> Tensor:
    """Return the faces of all cells of a kind: front, back, back, front, ... by axis."""
    columns: list[Tensor] = []
    for i, axis in enumerate(kind):
        back, front = _sides(index[kind[:i] + kind[i + 1 :]], axis)
        columns += (back, front) if i % 2 else (front, back)
    return torch.stack(columns, dim=-1)


def _values(values: Tensor) -> Tensor:
    if values.dim() == 0 or values.numel() == 0 or values.is_complex():
        raise ComplexError(
            f"Expected an array of real numbers with at least one axis and one entry, got "
            f"{values.dtype} of shape {tuple(values.shape)}."
        )
    if not values.is_floating_point():
        values = values.to(torch.get_default_dtype())
    bad = ~values.isfinite()
    if bool(bad.any()):
        entry = bad.nonzero()[0].tolist()
        raise ComplexError(
            f"Expected finite values, got {values[tuple(entry)].item()} at {entry}; fill such "
            f"entries, and leave them out with mask."
        )
    return values


def _mask(mask: object, values: Tensor) -> Tensor:
    if mask is None:
        return torch.ones_like(values, dtype=torch.bool)
    keep = as_tensor(mask, "mask")
    if keep.dtype != torch.bool or keep.shape != values.shape:
        raise ComplexError(
            f"Expected a mask of booleans of the array's shape {tuple(values.shape)}, got "
            f"{keep.dtype} of shape {tuple(keep.shape)}."
        )
    return keep.to(values.device)


def _check_memory(grid: list[int], values: Tensor, max_bytes: int | None) -> None:
    cells = math.prod(2 * n - 1 for n in grid)
    entries = sum(2 * (n - 1) * cells // (2 * n - 1) for n in grid)
    need = 8 * entries + (CELL_BYTES + values.element_size()) * cells
    limit = available_memory(values.device) if max_bytes is None else max_bytes
    got = f"an array of shape {tuple(values.shape)} with {cells} cells"
    check_room(need, limit, "a complex", got, "crop it, or raise max_bytes")
