"""Marked refinement: a copy of the complex for each of its vertices, with that vertex marked."""

from collections.abc import Sequence
from functools import lru_cache

import torch

from mpsn._rows.memory import available_memory, check_room
from mpsn._rows.rows import ends, ranges
from mpsn.complexes import Complex, ComplexDataset
from mpsn.complexes.internal import Kind
from mpsn.wl._grouping import distinct, merge, multisets_of
from mpsn.wl._inputs import Initial
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Coloring, Colors, Painter, Refinement, Relation, refine
from mpsn.wl._relations import relations_of

ENTRIES = 1 << 24  # of all relations, refined at a time
BYTES = 48  # per cell of a copy: old and new colors, and what numbers them


def refine_marked(
    union: Complex,
    adjacencies: Sequence[Kind],
    initial: Sequence[Initial],
    rounds: int | None,
    palette: Palette | None,
    entries: int = ENTRIES,
) -> Refinement:
    """Refine the marked copies of the complexes of a union together; return colors of vertices.

    Args:
        union: The complexes.
        adjacencies: Names of the adjacencies.
        initial: Initial colors of each level.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to take colors from and add them to.
        entries: How many entries of relations to make at a time.
    """
    copies = _Copies(union, adjacencies, entries)
    start, ptr = copies.mark(initial), [union.ptr(0)]
    return refine("swl", start, copies.step, ptr, rounds, palette, copies.histograms)


class _Copies:
    """The marked copies, one per vertex, in the order of the vertices.

    Only their colors are stored. Relations are made for a part of the copies at a time; with one
    part they are kept.
    """

    def __init__(self, union: Complex, adjacencies: Sequence[Kind], entries: int) -> None:
        self.dataset, self.adjacencies, self.dim = ComplexDataset(union), adjacencies, union.dim
        owner, relations = union.batch(0), relations_of(union, adjacencies, union.dim)
        offsets = [union.ptr(k) for k in range(len(relations))]
        counts = torch.stack([ptr.diff()[owner] for ptr in offsets])  # (levels, copies)
        need, limit = BYTES * int(counts.sum()), available_memory(union.device)
        got = f"{len(owner)} copies"
        check_room(need, limit, "marked copies", got, "use fewer or smaller complexes")
        load = counts.sum(0)
        for ptr, level in zip(offsets, relations, strict=True):
            for relation in level:
                load = load + relation.ptr[ptr].diff()[owner]
        part = (load.cumsum(0) - load) // entries
        sizes = torch.unique_consecutive(part, return_counts=True)[1].tolist() or [0]
        self.originals = torch.split(owner, sizes)  # the complexes that are copied, by part
        self.counts = torch.split(counts, sizes, dim=1)
        self.relations = lru_cache(maxsize=1)(self._relations)

    def _relations(self, part: int) -> list[list[Relation]]:
        copies = self.dataset.batch(self.originals[part])
        return relations_of(copies, self.adjacencies, self.dim)

    def mark(self, initial: Sequence[Initial]) -> list[Initial]:
        """Return the initial colors of the copies: those of the union, and the marks."""
        union, owner = self.dataset.union, torch.cat(self.originals)
        marked = []
        for k, (ids, keys) in enumerate(initial):
            copy, cell = ranges(union.ptr(k)[owner], union.ptr(k).diff()[owner])
            marked.append(Initial(ids[cell], keys))
            if k == 0:
                pairs, ids = torch.unique(2 * ids[cell] + (cell == copy), return_inverse=True)
                marked = [Initial(ids, [(keys[pair // 2], pair % 2) for pair in pairs.tolist()])]
        return marked

    def split(self, colors: Colors) -> list[Colors]:
        """Return the colors of the copies of each part."""
        sizes = torch.stack([counts.sum(1) for counts in self.counts], dim=1).tolist()
        return list(zip(*map(torch.split, colors, sizes), strict=True))

    def step(self, colors: Colors, painter: Painter) -> list[Coloring]:
        """Return the next colors of all copies."""
        signatures = []
        for part, own in enumerate(self.split(colors)):
            levels = []
            for k, relations in enumerate(self.relations(part)):
                multisets = [painter.gather(relation, own) for relation in relations]
                levels.append(distinct(own[k], multisets, trim=len(self.counts) > 1))
            signatures.append(levels)
        parts_of_levels = enumerate(zip(*signatures, strict=True))
        return [painter.paint(k, merge(parts)) for k, parts in parts_of_levels]

    def histograms(self, colors: Colors, painter: Painter) -> Colors:
        """Return one color per copy: copies share it if they have equal histograms."""
        signatures = []
        for counts, own in zip(self.counts, self.split(colors), strict=True):
            multisets = [multisets_of(c.clone(), ends(n)) for n, c in zip(counts, own, strict=True)]
            signatures.append(distinct(torch.zeros_like(counts[0]), multisets, trim=True))
        return (painter.paint(-2, merge(signatures)).colors,)
