"""Sums over an incidence in torch's own operations: for compilers, tracers and integers.

The same sums as those of :class:`~mpsn.complexes.Incidence`, without lists of co-faces. Entries
are a list: one tensor (n, ...) per column of a face table, so that a compiler can fuse operations
on a column, or one (nnz, ...) if the number of faces varies. Where a cell's own share is subtracted
from a total, single precision is accumulated in double.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mpsn._rows.sparse import rows

if TYPE_CHECKING:
    from mpsn.complexes.incidence import Incidence

Entries = Sequence[Tensor]


def columns(B: "Incidence", m: Tensor) -> Entries:
    """Return entries (nnz, ...) as a list."""
    return [m] if B.width is None else m.view(-1, B.width, *m.shape[1:]).unbind(1)


def flat(B: "Incidence", entries: Entries) -> Tensor:
    """Return a list of entries as one tensor (nnz, ...)."""
    return entries[0] if B.width is None else torch.stack(list(entries), 1).flatten(0, 1)


def gather(B: "Incidence", h: Tensor, signed: bool = False) -> Entries:
    """Return the features of the faces."""
    return _times(B, _read(h, *columns(B, B.face)), signed)


def spread(B: "Incidence", h: Tensor) -> Entries:
    """Return the features of the cells, once for each face."""
    return _read(h, B.cell) if B.width is None else [h] * B.width


def scatter(B: "Incidence", entries: Entries, signed: bool = False) -> Tensor:
    """Sum entries at the faces, (count, ...)."""
    out = entries[0].new_zeros(B.count, *entries[0].shape[1:])
    for face, m in zip(columns(B, B.face), _times(B, entries, signed), strict=True):
        out = out.index_add(0, face, m)
    return _settled(out)


def collect(B: "Incidence", entries: Entries) -> Tensor:
    """Sum entries at the cells, (n, ...)."""
    if B.width is None:
        (m,) = entries
        return _settled(m.new_zeros(len(B), *m.shape[1:]).index_add(0, B.cell, m))
    total = entries[0]
    for m in entries[1:]:
        total = total + m
    return total


def from_faces(B: "Incidence", h: Tensor, signed: bool) -> Tensor:
    return collect(B, gather(B, h, signed))


def from_cofaces(B: "Incidence", h: Tensor, signed: bool) -> Tensor:
    return scatter(B, spread(B, h), signed)


def upper(B: "Incidence", h: Tensor, signed: bool) -> Tensor:
    return upper_messages(B, gather(B, h), signed)


def lower(B: "Incidence", h: Tensor, signed: bool) -> Tensor:
    return lower_messages(B, spread(B, h), signed)


def upper_messages(B: "Incidence", m: Tensor | Entries, signed: bool) -> Tensor:
    entries = columns(B, m) if isinstance(m, Tensor) else m
    return scatter(B, leave_one_out(B, _times(B, entries, signed)), signed)


def lower_messages(B: "Incidence", m: Tensor | Entries, signed: bool) -> Tensor:
    entries = columns(B, m) if isinstance(m, Tensor) else m
    wide = [_wide(e) for e in entries]
    shared = gather(B, scatter(B, wide, signed), signed)
    return collect(B, [s - e for s, e in zip(shared, wide, strict=True)]).to(entries[0].dtype)


def leave_one_out(B: "Incidence", entries: Entries) -> Entries:
    """Return for each entry the sum of the other entries of its cell."""
    if B.width is None:
        (m,) = entries
        wide = _wide(m)
        (total,) = _read(collect(B, [wide]), B.cell)
        return [(total - wide).to(m.dtype)]
    right = [torch.zeros_like(entries[-1]), *entries[:0:-1]]  # from the last entry to the second
    for i in range(2, len(right)):
        right[i] = right[i] + right[i - 1]
    out, left = [right.pop()], entries[0]
    for m in entries[1:]:
        out.append(left + right.pop() if len(right) > 1 else left)
        left = left + m
    return out


def _times(B: "Incidence", entries: Entries, signed: bool) -> Entries:
    if not signed:
        return entries
    return [rows(s, m) * m for s, m in zip(columns(B, B.signs), entries, strict=True)]


def _wide(m: Tensor) -> Tensor:
    return m.double() if m.is_floating_point() else m


def _read(h: Tensor, *indices: Tensor) -> Entries:
    graded = torch.is_grad_enabled() and h.requires_grad
    if not graded or not torch.compiler.is_compiling():
        return [h.index_select(0, index) for index in indices]
    out: Entries = _Read.apply(h, *indices)  # type: ignore[no-untyped-call]
    return out


class _Read(torch.autograd.Function):
    """Rows of h for a compiler, with a gradient that is summed in one tensor and settled."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, *indices: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*indices)
        ctx.count = h.shape[0]
        return tuple(h.index_select(0, index) for index in indices)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out = grads[0].new_zeros(ctx.count, *grads[0].shape[1:])
        for index, grad in zip(ctx.saved_tensors, grads, strict=True):
            out = out.index_add(0, index, grad)
        return _settled(out), *(None for _ in grads)


def _settled(sums: Tensor) -> Tensor:
    return settle(sums) if torch.compiler.is_compiling() else sums


@torch.library.custom_op("mpsn::settle", mutates_args=())
def settle(sums: Tensor) -> Tensor:
    """Return a copy by an operator that is opaque to the compiler.

    Inductor (torch 2.13 on CPU) may otherwise fuse an element-wise reader of a sum with other work
    and schedule both before the additions, with silently wrong results.
    """
    return sums.clone()


@settle.register_fake
def _(sums: Tensor) -> Tensor:
    return torch.empty_like(sums)


settle.register_autograd(lambda ctx, grad: grad)
