"""Marked refinement: a copy of the complex for each of its vertices, with that vertex marked."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import torch
from torch import Tensor
from torch.nn.functional import pad

from mpsn._rows.memory import available_memory
from mpsn._rows.rows import ranges
from mpsn.complexes.complex import Complex
from mpsn.errors import TooLargeError
from mpsn.wl._grouping import Multisets, distinct
from mpsn.wl._inputs import Initial
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Colors, Painter, Refinement, refine
from mpsn.wl.relations import Relation, narrow

ENTRIES = 1 << 24  # of all relations, refined at a time
BYTES = 48  # per cell of a copy: old and new colors, and what numbers them


def refine_marked(
    union: Complex,
    relations: Sequence[Sequence[Relation]],
    initial: Sequence[Initial],
    rounds: int | None,
    palette: Palette | None,
    entries: int = ENTRIES,
) -> Refinement:
    """Refine the marked copies of the complexes of a union together; return colors of vertices.

    Args:
        union: The complexes.
        relations: The relations of each level.
        initial: Initial colors of each level.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to take colors from and add them to.
        entries: How many entries of relations to make at a time.
    """
    copies = _Copies(union, relations, entries)
    parts = [partial(copies.signatures, i) for i in range(len(copies.parts))]
    offsets = [union.ptr(0)]
    return refine("swl", copies.mark(initial), parts, offsets, rounds, palette, copies.histograms)


class _Copies:
    """The marked copies, one per vertex, in the order of the vertices.

    Only their colors are stored. Relations are those of the union, shifted, and made for a part of
    the copies at a time; with one part they are kept.
    """

    def __init__(
        self, union: Complex, relations: Sequence[Sequence[Relation]], entries: int
    ) -> None:
        self.relations, self.owner = relations, union.batch(0)  # (copies,)
        self.starts = [union.ptr(k) for k in range(len(relations))]
        counts = [ptr.diff()[self.owner] for ptr in self.starts]
        self.ptr = [pad(n.cumsum(0), (1, 0)) for n in counts]  # where the cells of copies start
        need, limit = BYTES * sum(int(ptr[-1]) for ptr in self.ptr), available_memory(union.device)
        if need > limit:
            raise TooLargeError(
                f"Expected marked copies of at most {limit / 2**30:.3g} GiB, got "
                f"{len(self.owner)} copies, which need {need / 2**30:.3g} GiB; use fewer or "
                f"smaller complexes."
            )
        load = torch.stack(counts).sum(0)
        for ptr, level in zip(self.starts, relations, strict=True):
            for relation in level:
                load = load + relation.ptr[ptr].diff()[self.owner]
        part = (load.cumsum(0) - load) // entries
        ends = torch.unique_consecutive(part, return_counts=True)[1].cumsum(0).tolist() or [0]
        self.parts = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self._shifted = lru_cache(maxsize=1)(self._shift)

    def mark(self, initial: Sequence[Initial]) -> list[Initial]:
        """Return the initial colors of the copies: those of the union, and the marks."""
        out = []
        for (ids, keys), ptr, starts in zip(initial, self.ptr, self.starts, strict=True):
            copy, cell = ranges(starts[self.owner], ptr.diff())
            out.append(Initial(ids[cell], keys))
            if len(out) == 1:
                pairs, ids = torch.unique(2 * ids[cell] + (cell == copy), return_inverse=True)
                out = [Initial(ids, [(keys[pair // 2], pair % 2) for pair in pairs.tolist()])]
        return out

    def signatures(
        self, i: int, now: Colors, painter: Painter
    ) -> Iterator[tuple[Tensor, list[Multisets]]]:
        """Yield the signatures of part i, level by level."""
        for k, level in enumerate(self._shifted(i)):
            yield self._cells(i, k, now), [relation.gather(k, now, painter) for relation in level]

    def _cells(self, i: int, k: int, now: Colors) -> Tensor:
        copies, ptr = self.parts[i], self.ptr[k]
        return now[k][ptr[copies.start] : ptr[copies.stop]]

    def _shift(self, i: int) -> list[list[Relation]]:
        """Make the relations of a part, between all copies."""
        copies, out = self.parts[i], []
        owner = self.owner[copies]
        shifts = [
            ptr[:-1][copies] - starts[owner]
            for ptr, starts in zip(self.ptr, self.starts, strict=True)
        ]
        for k, level in enumerate(self.relations):
            first, stop = self.starts[k][owner], self.starts[k][owner + 1]
            cell, relations = ranges(first, stop - first)[1], []
            for ptr, columns in level:
                copy, entry = ranges(ptr[first], ptr[stop] - ptr[first])
                moved = [
                    (step, narrow(index[entry] + shifts[k + step][copy])) for step, index in columns
                ]
                ends = pad(ptr.diff()[cell].cumsum(0), (1, 0))
                relations.append(Relation(ends, tuple(moved)))
            out.append(relations)
        return out

    def histograms(self, now: Colors, painter: Painter) -> Colors:
        """Return one color per copy: copies share it if they have equal histograms."""
        found = []
        for i, copies in enumerate(self.parts):
            multisets = [
                Multisets(
                    ptr[copies.start : copies.stop + 1] - ptr[copies.start],
                    self._cells(i, k, now).clone(),
                )
                for k, ptr in enumerate(self.ptr)
            ]
            found.append(distinct(torch.zeros_like(self.owner[copies]), multisets, trim=True))
        return (painter.paint(-2, found)[0],)
