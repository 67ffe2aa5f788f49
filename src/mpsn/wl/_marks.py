"""Marked refinement: a copy of the complex for each way to mark some of its cells."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import torch
from torch import Tensor

from mpsn._rows.memory import available_memory, check_room
from mpsn._rows.rows import ends, ranges
from mpsn.complexes import Complex, ComplexDataset
from mpsn.complexes.internal import Kind
from mpsn.errors import ColoringError
from mpsn.wl._grouping import distinct, merge, multisets_of
from mpsn.wl._inputs import Initial
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Coloring, Colors, Painter, Refinement, Relation, refine
from mpsn.wl._relations import relations_of

ENTRIES = 1 << 24  # of all relations, refined at a time
BYTES = 48  # per cell of a copy: old and new colors, and what numbers them


def dimensions(marks: object) -> list[int]:
    """Return the dimension of each mark: all 0 for a number, or as often as a mapping says."""
    numbers: Mapping[Any, Any] = marks if isinstance(marks, Mapping) else {0: marks}
    for number in (*numbers, *numbers.values()):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ColoringError(
                f"Expected marks as an integer >= 0, or such numbers by dimension as in "
                f"{{0: 1, 2: 1}}, got {marks!r:.40}."
            )
    return [k for k in sorted(numbers) for _ in range(numbers[k])]


def refine_marked(
    union: Complex,
    adjacencies: Sequence[Kind],
    initial: Sequence[Initial],
    marks: Sequence[int],
    rounds: int | None,
    palette: Palette | None,
    entries: int = ENTRIES,
) -> Refinement:
    """Refine the marked copies of the complexes of a union together; return a color for each.

    Args:
        union: The complexes.
        adjacencies: Names of the adjacencies.
        initial: Initial colors of each level.
        marks: The dimension of each mark.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to take colors from and add them to.
        entries: How many entries of relations to make at a time.
    """
    copies = _Copies(union, adjacencies, marks, entries)
    start, number = copies.mark(initial), int(copies.ptr[-1])
    return refine(
        "swl", start, copies.step, [copies.ptr], rounds, palette, copies.histograms, number
    )


class _Copies:
    """The marked copies, one per tuple of cells to mark, in lexicographic order.

    Only their colors are stored. Relations are made for a part of the copies at a time; with one
    part they are kept.
    """

    def __init__(
        self, union: Complex, adjacencies: Sequence[Kind], marks: Sequence[int], entries: int
    ) -> None:
        self.dataset, self.adjacencies, self.dim = ComplexDataset(union), adjacencies, union.dim
        offsets = [union.ptr(k) for k in range(max(union.dim, 0) + 1)]
        sizes = torch.stack([ptr.diff() for ptr in offsets], dim=1)  # (complexes, levels)
        # A mark of a dimension without cells is left out.
        self.dims = [k for k in marks if k < len(offsets)]
        choices = sizes[:, self.dims].clamp(min=1)  # (complexes, marks)
        numbers = [prod(row) for row in choices.tolist()]
        cells = zip(numbers, sizes.sum(1).tolist(), strict=True)
        need, limit = BYTES * sum(n * size for n, size in cells), available_memory(union.device)
        got = f"{sum(numbers)} copies"
        check_room(need, limit, "marked copies", got, "use fewer marks, or smaller complexes")
        self.ptr = ends(torch.tensor(numbers, dtype=torch.int64, device=union.device))
        owner = torch.repeat_interleave(self.ptr.diff())
        rest = torch.arange(len(owner), device=union.device) - self.ptr[owner]
        self.marked: list[Tensor] = []  # of each mark: the cell of each copy
        for k, choice in reversed(list(zip(self.dims, choices.unbind(1), strict=True))):
            cell = torch.where(sizes[owner, k] > 0, offsets[k][owner] + rest % choice[owner], -1)
            self.marked.insert(0, cell)
            rest = rest // choice[owner]
        counts, relations = sizes[owner].T, relations_of(union, adjacencies, union.dim)
        load = counts.sum(0)
        for ptr, level in zip(offsets, relations, strict=True):
            for relation in level:
                load = load + relation.ptr[ptr].diff()[owner]
        part = (load.cumsum(0) - load) // entries
        parts = torch.unique_consecutive(part, return_counts=True)[1].tolist() or [0]
        self.originals = torch.split(owner, parts)  # the complexes that are copied, by part
        self.counts = torch.split(counts, parts, dim=1)
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
            ids = ids[cell]
            for dim, chosen in zip(self.dims, self.marked, strict=True):
                if dim == k:
                    codes, ids = torch.unique(2 * ids + (cell == chosen[copy]), return_inverse=True)
                    keys = [(keys[code // 2], code % 2) for code in codes.tolist()]
            marked.append(Initial(ids, keys))
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
