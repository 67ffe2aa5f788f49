"""The adjacencies of cells, read off the incidences (Definition 4 of the paper)."""

from collections.abc import Callable
from typing import NamedTuple, cast

import torch
from torch import Tensor

from mpsn._rows.rows import Rows
from mpsn.complexes._operators import Kind
from mpsn.complexes.complex import Complex
from mpsn.wl._grouping import Multisets
from mpsn.wl._refinement import Colors, Painter


class Relation(NamedTuple):
    """The senders of each receiver: entries ``ptr[i]:ptr[i + 1]``, each one or more cells.

    ``columns`` holds (step, index) pairs: cells ``index`` of the receiver's dimension + step.
    """

    ptr: Tensor
    columns: tuple[tuple[int, Tensor], ...]

    def gather(self, k: int, colors: Colors, painter: Painter) -> Multisets:
        """Collect the colors that each k-cell receives."""
        heard = [colors[k + step].index_select(0, index) for step, index in self.columns]
        return Multisets(self.ptr, painter.pack(heard) if heard else self.ptr[:0])


def _boundary(K: Complex, k: int) -> Relation | None:
    if k == 0:
        return None
    B = K.incidence(k)
    return Relation(B.offsets, ((-1, narrow(B.face)),))


def _coboundary(K: Complex, k: int) -> Relation | None:
    if k >= K.dim:
        return _silence(K, k)
    B = K.incidence(k + 1)
    cofaces = B.T
    return Relation(cofaces.offsets, ((1, narrow(cofaces.item)),))


def _upper(K: Complex, k: int) -> Relation | None:
    if k >= K.dim:
        return _silence(K, k)
    B = K.incidence(k + 1)
    entries = B.positions @ B.others()  # the other faces of every co-face
    sender, shared = narrow(B.face), narrow(B.cell)
    return Relation(entries.offsets, ((0, sender[entries.item]), (1, shared[entries.item])))


def _lower(K: Complex, k: int) -> Relation | None:
    if k == 0:
        return None
    pairs = K.adjacency(k, "lower")
    entries = Rows(pairs.receiver, K.count(k)).positions
    order, ptr = entries.item, entries.offsets
    shared = cast("Tensor", pairs.shared)
    return Relation(ptr, ((0, narrow(pairs.sender[order])), (-1, narrow(shared[order]))))


def _silence(K: Complex, k: int) -> Relation:
    """Return empty multisets: with a palette, other complexes may have co-faces here."""
    return Relation(torch.zeros(K.count(k) + 1, dtype=torch.int64, device=K.device), ())


def narrow(index: Tensor) -> Tensor:
    """Convert an index to int32 if it fits: half the memory, and faster gathers."""
    fits = index.numel() == 0 or int(index.max()) < 1 << 31
    return index.to(torch.int32) if fits else index


ADJACENCIES: dict[Kind, Callable[[Complex, int], Relation | None]] = {
    "boundary": _boundary,
    "coboundary": _coboundary,
    "lower": _lower,
    "upper": _upper,
}
