"""The sums over an incidence: their matrices, and an operator for compilers that is one sum."""

from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from mpsn._rows.rows import Rows
from mpsn._rows.sums import LeaveOneOut, Matrix

Operator = Matrix | LeaveOneOut
SIDES = {  # of each sum, the rows that it returns and those that it takes
    "from_faces": ("cells", "cells below"),
    "from_cofaces": ("cells below", "cells"),
    "gather": ("entries", "cells below"),
    "spread": ("entries", "cells"),
    "upper": ("cells below", "cells below"),
    "lower": ("cells", "cells"),
    "upper_messages": ("cells below", "entries"),
    "lower_messages": ("cells", "entries"),
    "to_faces": ("cells below", "entries"),
    "to_cells": ("cells", "entries"),
    "cell_others": ("entries", "entries"),
    "face_others": ("entries", "entries"),
}


def side_sizes(rows: Rows) -> dict[str, int]:
    """Return the numbers of rows on the sides of sums."""
    return {"cells": len(rows), "cells below": rows.count, "entries": rows.item.shape[0]}


def signs_of(rows: Rows, sign: Tensor | None) -> Tensor:
    """Return the sign of every entry, (nnz,) int8: by default (-1)^i for the i-th of a row."""
    if sign is not None:
        return sign
    width = rows.width or 1
    parity = 1 - 2 * (torch.arange(width, device=rows.item.device) % 2)
    return parity.to(torch.int8).repeat(rows.item.shape[0] // width)


def operator_of(rows: Rows, sign: Tensor | None, name: str, signed: bool) -> Operator:
    """Return the sparse matrix of a sum, named after the method; the rows keep it."""

    def find() -> Operator:
        weight = signs_of(rows, sign) if signed else None
        if name == "from_faces":
            return Matrix(rows, weight)
        if name == "from_cofaces":
            return operator_of(rows, sign, "from_faces", signed).T
        if name == "gather":
            return Matrix(Rows(rows.item, rows.count, 1), weight, lambda: rows.positions)
        cells, faces, n = rows.spans, rows.positions, len(rows)
        if name == "spread":
            return Matrix(Rows(rows.row, n, 1), None, lambda: cells)
        if name in ("to_faces", "to_cells"):
            inverse = "gather" if name == "to_faces" else "spread"
            return operator_of(rows, sign, inverse, signed).T
        if name == "upper":
            return LeaveOneOut(cells, faces, rows.item, rows.count, weight).symmetric()
        if name == "lower":
            return LeaveOneOut(faces, cells, rows.row, n, weight).symmetric()
        if name in ("cell_others", "face_others"):
            each = Rows(cells.item, cells.count, 1)
            groups = cells if name == "cell_others" else faces
            return LeaveOneOut(groups, each, cells.item, cells.count).symmetric()
        groups, receivers = (cells, faces) if name == "upper_messages" else (faces, cells)
        return LeaveOneOut(groups, receivers, cells.item, cells.count, weight)

    return rows._keep((name, signed), find)  # type: ignore[no-any-return]


# A compiler sees one operator. It is called with the tensors of an incidence, by which the value
# is found again, with the matrices that it keeps; a program that was exported finds none.
_LIVING: WeakValueDictionary[tuple[int, int], Rows] = WeakValueDictionary()


def remember(rows: Rows, sign: Tensor | None) -> None:
    """Let a value be found by :func:`living`."""
    if not torch.compiler.is_compiling():
        _LIVING[id(rows.item), id(sign)] = rows


def living(
    face: Tensor, ptr: Tensor | None, sign: Tensor | None, count: int, width: int
) -> Rows | None:
    """Return the value that has these parts, if it still exists; ``width`` is 0 if it varies."""
    rows = _LIVING.get((id(face), id(sign)))
    same = rows is not None and rows.ptr is ptr and (rows.count, rows.width or 0) == (count, width)
    return rows if same else None


@torch.library.custom_op("mpsn::incidence_sum", mutates_args=())
def incidence_sum(
    h: Tensor,
    face: Tensor,
    ptr: Tensor | None,
    sign: Tensor | None,
    count: int,
    width: int,
    name: str,
    signed: bool,
    transposed: bool,
) -> Tensor:
    """Return a sum over an incidence, or the product with the transpose of its matrix."""
    rows = living(face, ptr, sign, count, width) or Rows(face, count, width or None, ptr)
    operator = operator_of(rows, sign, name, signed)
    with torch.no_grad():
        return (operator.T if transposed else operator) @ h


@incidence_sum.register_fake
def _(h: Tensor, *inputs: Any) -> Tensor:
    face, ptr, _, count, width, name, _, transposed = inputs
    sizes = side_sizes(Rows(face, count, width or None, ptr))
    return h.new_empty(sizes[SIDES[name][transposed]], *h.shape[1:])


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, face, ptr, sign, *ctx.plain = inputs
    ctx.save_for_backward(face, ptr, sign)


def _turn_back(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    *plain, transposed = ctx.plain
    out: Tensor = incidence_sum(grad, *ctx.saved_tensors, *plain, not transposed)
    return out, *(None,) * 8


incidence_sum.register_autograd(_turn_back, setup_context=_save)
