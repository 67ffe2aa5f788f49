"""Color refinement to a stable coloring, for any test, and its result."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.memory import available_memory, check_room
from mpsn._rows.rows import Rows
from mpsn.errors import ColoringError, TooLargeError
from mpsn.wl._grouping import Distinct, distinct, group, multisets_of
from mpsn.wl._inputs import Initial
from mpsn.wl._palette import Palette

Colors = tuple[Tensor, ...]  # per level
Histogram = tuple[dict[int, int], ...]
Step = Callable[[Colors, "Painter"], "list[Coloring]"]


@dataclass(frozen=True, repr=False)
class Refinement:
    """Result of a test, for all complexes (or graphs) that were refined together.

    Two cells of the same dimension have the same color in a round exactly if the test cannot
    distinguish them in that round; colors of different rounds or dimensions are different numbers.
    Without a palette the numbers do not depend on the order or names of the cells.

    Attributes:
        test: Name of the test.
        colors: ``colors[t][k]``, (n_k,) int64, for rounds t = 0, ..., ``rounds``. Tests on vertices
            or vertex tuples have only k = 0, and so has marked refinement: two ways to mark cells
            share a color if the test cannot distinguish the complexes marked in these ways.
        ptr: ``ptr[k]``, (num_complexes + 1,): where the k-cells of each complex start.
        stable: Whether the last round split no color; False only if ``rounds`` was given.
        palette: The palette, if one was passed in.
        refinements: Number of colorings that were refined: one per complex, or per marked copy.
    """

    test: str
    colors: tuple[Colors, ...]
    ptr: tuple[Tensor, ...]
    stable: bool
    palette: Palette | None
    refinements: int

    @property
    def rounds(self) -> int:
        """Number of rounds run; running until stable includes one round that splits nothing."""
        return len(self.colors) - 1

    @property
    def num_complexes(self) -> int:
        """Number of complexes refined together."""
        return self.ptr[0].numel() - 1

    @cached_property
    def histograms(self) -> list[Histogram]:
        """Number of cells of each color after the last round, per complex and dimension.

        Two complexes refined together until stable have equal histograms exactly if the test cannot
        distinguish them. If they were refined one by one with one palette, compare
        ``histograms_at(min(one.rounds, two.rounds))``: colors of different rounds never agree.
        """
        return self.histograms_at(self.rounds)

    def histograms_at(self, round: int) -> list[Histogram]:
        """Return the histograms after a round."""
        histograms: list[list[dict[int, int]]] = [[] for _ in range(self.num_complexes)]
        for ptr, colors in zip(self.ptr, self.colors[round], strict=True):
            values = colors.tolist()
            for histogram, (start, stop) in zip(histograms, pairwise(ptr.tolist()), strict=True):
                if start < stop:
                    histogram.append(dict(sorted(Counter(values[start:stop]).items())))
        return [tuple(histogram) for histogram in histograms]

    def partition(self, k: int = 0, round: int = -1) -> list[Tensor]:
        """Return the positions of the k-cells of each color after a round."""
        ordered, order = self.colors[round][k].sort(stable=True)
        sizes = torch.unique_consecutive(ordered, return_counts=True)[1]
        return list(torch.split(order, sizes.tolist()))

    def num_colors(self, round: int = -1) -> tuple[int, ...]:
        """Return the number of colors per dimension after a round."""
        return tuple(len(torch.unique(colors)) for colors in self.colors[round])

    def classes(self, round: int = -1, k: int | None = None) -> Tensor:
        """Number the complexes so that those with equal histograms share a number.

        Args:
            round: The round. Defaults to the last.
            k: The dimension. Defaults to all of them.
        """
        colors = self.colors[round]
        levels = range(len(colors)) if k is None else [k]
        own = torch.zeros(self.num_complexes, dtype=torch.int64, device=self.ptr[0].device)
        return group(own, [multisets_of(colors[k].clone(), self.ptr[k]) for k in levels]).ids

    def __repr__(self) -> str:
        return (
            f"Refinement({self.test}, complexes={self.num_complexes}, rounds={self.rounds}, "
            f"colors={self.num_colors()})"
        )


class Relation(NamedTuple):
    """The senders of each receiver: entries ``ptr[i]:ptr[i + 1]``, each one or more cells.

    ``columns`` holds (level, index) pairs: for each entry, one of its cells on that level.
    """

    ptr: Tensor
    columns: tuple[tuple[int, Tensor], ...]


class Coloring(NamedTuple):
    """The colors of the receivers on a level, and the number of different ones."""

    colors: Tensor
    number: int


class Painter:
    """Assign colors to groups: from a palette, or new ones from 0 up."""

    def __init__(self, palette: Palette | None) -> None:
        self.palette, self.round, self.used = palette, 0, 0 if palette is None else len(palette)

    def gather(self, relation: Relation, colors: Colors) -> Rows:
        """Collect the colors that each receiver receives."""
        columns = [colors[k].index_select(0, i) for k, i in relation.columns if len(i)]
        return multisets_of(self.pack(columns) if columns else relation.ptr[:0], relation.ptr)

    def pack(self, columns: Sequence[Tensor]) -> Tensor:
        """Encode pairs or triples of colors as single integers, one to one.

        With a palette the codes must mean the same in later calls: 31 bits per color, and the first
        two colors of a triple are replaced by one color of their own.
        """
        if self.used > 1 << 31:
            raise TooLargeError(
                f"Expected at most 2^31 colors over all rounds, got {self.used}; limit rounds."
            )
        width = 62 // max(2, len(columns))
        if len(columns) > 2 and (self.palette is not None or self.used > 1 << width):
            pairs, ids = torch.unique(self.pack(columns[:-1]), return_inverse=True)
            pair_colors = self.name(-1, ids, len(pairs), pairs.tolist).colors
            return self.pack([pair_colors, columns[-1]])
        code = columns[0]
        for column in columns[1:]:
            code = (code << width) | column
        return code

    def paint(self, level: int, signatures: Distinct) -> Coloring:
        """Return the colors of receivers by their signatures."""
        return self.name(level, signatures.ids, len(signatures.first), signatures.keys)

    def name(
        self, level: int, ids: Tensor, number: int, keys: Callable[[], Sequence[Hashable]]
    ) -> Coloring:
        """Turn group numbers into colors."""
        if self.palette is None:
            self.used += number
            return Coloring(ids + (self.used - number), number)
        colors = self.palette.name(self.round, level, keys()).to(ids.device)[ids]
        self.used = len(self.palette)
        return Coloring(colors, number)


def step_by_relations(
    levels: Sequence[Sequence[Relation]], colors: Colors, painter: Painter
) -> list[Coloring]:
    """Return the next colors of receivers on several levels, each with relations of its own."""
    colorings = []
    for k, relations in enumerate(levels):
        multisets = [painter.gather(relation, colors) for relation in relations]
        colorings.append(painter.paint(k, distinct(colors[k], multisets)))
    return colorings


def refine(
    test: str,
    initial: Sequence[Initial],
    step: Step,
    ptr: Sequence[Tensor],
    rounds: int | None,
    palette: Palette | None,
    summary: Callable[[Colors, Painter], Colors] | None = None,
    copies: int | None = None,
) -> Refinement:
    """Refine initial colors round by round until the partition no longer changes.

    Args:
        test: Name of the test.
        initial: Initial colors of every level.
        step: Computes the next colors of all levels from the current ones.
        ptr: Where the receivers of each complex start, per level.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to take colors from and add them to.
        summary: What to keep of the colors of a round. Defaults to all of them.
        copies: How many complexes are refined. Defaults to those that the result is about.
    """
    whole = isinstance(rounds, (int, np.integer)) and not isinstance(rounds, bool)
    if rounds is not None and (not whole or rounds < 0):
        raise ColoringError(
            f"Expected rounds >= 0 as an integer, or None to run until stable, got {rounds!r:.40}."
        )
    painter, limit = Painter(palette), available_memory(ptr[0].device)
    colorings = [
        painter.name(k, ids, len(keys), partial(list, keys))
        for k, (ids, keys) in enumerate(initial)
    ]
    colors, numbers = zip(*colorings, strict=True)
    history, stable = [colors if summary is None else summary(colors, painter)], False
    while painter.round < rounds if rounds is not None else not stable:
        painter.round += 1
        cells = tuple(len(kept) for kept in history[0])
        got = f"{painter.round} rounds on {cells} cells"
        need = 8 * painter.round * sum(cells)
        check_room(need, limit, "colors", got, "set rounds to stop earlier")
        before = numbers
        colors, numbers = zip(*step(colors, painter), strict=True)
        history.append(colors if summary is None else summary(colors, painter))
        stable = numbers == before
    copies = len(ptr[0]) - 1 if copies is None else copies
    return Refinement(test, tuple(history), tuple(ptr), stable, palette, copies)
