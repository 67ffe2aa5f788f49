"""The adjacencies of simplices, read off the face tables (Definition 4 of the paper)."""

from collections.abc import Callable
from typing import NamedTuple, cast

import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex, grouped
from mpsn.complexes.operators import Kind
from mpsn.wl._grouping import Multisets
from mpsn.wl._refinement import Colors, Painter


class Relation(NamedTuple):
    """The senders of each receiver: entries ``ptr[i]:ptr[i + 1]``, each one or more simplices.

    ``columns`` holds (step, index) pairs: simplices ``index`` of the receiver's dimension + step.
    """

    ptr: Tensor
    columns: tuple[tuple[int, Tensor], ...]

    def gather(self, k: int, colors: Colors, painter: Painter) -> Multisets:
        """Collect the colors that each k-simplex receives."""
        heard = [colors[k + step].index_select(0, index) for step, index in self.columns]
        return Multisets(self.ptr, painter.pack(heard) if heard else self.ptr[:0])


def _boundary(K: SimplicialComplex, k: int) -> Relation | None:
    if k == 0:
        return None
    table = K.faces(k)
    ptr = torch.arange(0, table.numel() + 1, k + 1, device=K.device)
    return Relation(ptr, ((-1, narrow(table.reshape(-1))),))


def _coboundary(K: SimplicialComplex, k: int) -> Relation | None:
    if k >= K.dim:
        return _silence(K, k)
    at, ptr = grouped(K.faces(k + 1), K.count(k))
    return Relation(ptr, ((1, narrow(at // (k + 2))),))


def _upper(K: SimplicialComplex, k: int) -> Relation | None:
    if k >= K.dim:
        return _silence(K, k)
    table, width = K.faces(k + 1), k + 2
    at, ptr = grouped(table, K.count(k))
    row, column = at // width, at % width
    others = (column[:, None] + torch.arange(1, width, device=K.device)) % width
    others += (row * width)[:, None]  # (incidences, k + 1): positions of the other faces
    sender = narrow(table.reshape(-1)).index_select(0, others.reshape(-1))
    shared = narrow(row).repeat_interleave(width - 1)
    return Relation(ptr * (width - 1), ((0, sender), (1, shared)))


def _lower(K: SimplicialComplex, k: int) -> Relation | None:
    if k == 0:
        return None
    pairs = K.adjacency(k, "lower")
    order, ptr = grouped(pairs.receiver, K.count(k))
    shared = cast("Tensor", pairs.shared)
    return Relation(ptr, ((0, narrow(pairs.sender[order])), (-1, narrow(shared[order]))))


def _silence(K: SimplicialComplex, k: int) -> Relation:
    """Return empty multisets: with a palette, other complexes may have co-faces here."""
    return Relation(torch.zeros(K.count(k) + 1, dtype=torch.int64, device=K.device), ())


def narrow(index: Tensor) -> Tensor:
    """Convert an index to int32 if it fits: half the memory, and faster gathers."""
    fits = index.numel() == 0 or int(index.max()) < 1 << 31
    return index.to(torch.int32) if fits else index


ADJACENCIES: dict[Kind, Callable[[SimplicialComplex, int], Relation | None]] = {
    "boundary": _boundary,
    "coboundary": _coboundary,
    "lower": _lower,
    "upper": _upper,
}
