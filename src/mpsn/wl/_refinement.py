"""Color refinement to a stable coloring, for any test, and its result."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.memory import available_memory
from mpsn.errors import ColoringError, TooLargeError
from mpsn.wl._grouping import Distinct, Multisets, distinct, group, merge
from mpsn.wl._inputs import Initial
from mpsn.wl._palette import Palette

Colors = tuple[Tensor, ...]
Histogram = tuple[dict[int, int], ...]
Signatures = Callable[[Colors, "Painter"], Iterable[tuple[Tensor, Sequence[Multisets]]]]


@dataclass(frozen=True, repr=False)
class Refinement:
    """Result of a test, for all complexes (or graphs) that were refined together.

    Two cells of the same dimension have the same color in a round exactly if the test cannot
    distinguish them in that round; colors of different rounds or dimensions are different numbers.
    Without a palette the numbers do not depend on the order or names of the cells.

    Attributes:
        test: Name of the test.
        colors: ``colors[t][k]``, (n_k,) int64, for rounds t = 0, ..., ``rounds``. Tests on vertices
            or vertex tuples have only k = 0, and so has marked refinement: two vertices share a
            color if the test cannot distinguish the complexes with one or the other marked.
        ptr: ``ptr[k]``, (num_complexes + 1,): where the k-cells of each complex start.
        stable: Whether the last round split no color; False only if ``rounds`` was given.
        palette: The palette, if one was passed in.
    """

    test: str
    colors: tuple[Colors, ...]
    ptr: tuple[Tensor, ...]
    stable: bool
    palette: Palette | None

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

    def histograms_at(self, turn: int) -> list[Histogram]:
        """Return the histograms after round ``turn``."""
        out: list[list[dict[int, int]]] = [[] for _ in range(self.num_complexes)]
        for ptr, colors in zip(self.ptr, self.colors[turn], strict=True):
            starts, values = ptr.tolist(), colors.tolist()
            for histogram, start, stop in zip(out, starts, starts[1:], strict=False):
                if start < stop:
                    histogram.append(dict(sorted(Counter(values[start:stop]).items())))
        return [tuple(histogram) for histogram in out]

    def partition(self, k: int = 0, turn: int = -1) -> list[Tensor]:
        """Return the positions of the k-cells of each color after round ``turn``."""
        ordered, order = self.colors[turn][k].sort(stable=True)
        sizes = torch.unique_consecutive(ordered, return_counts=True)[1]
        return list(torch.split(order, sizes.tolist()))

    def num_colors(self, turn: int = -1) -> tuple[int, ...]:
        """Return the number of colors per dimension after round ``turn``."""
        return tuple(len(torch.unique(colors)) for colors in self.colors[turn])

    def classes(self, turn: int = -1, k: int | None = None) -> Tensor:
        """Number the complexes so that those with equal histograms share a number.

        Args:
            turn: The round. Defaults to the last.
            k: The dimension. Defaults to all of them.
        """
        colors = self.colors[turn]
        levels = range(len(colors)) if k is None else [k]
        own = torch.zeros(self.num_complexes, dtype=torch.int64, device=self.ptr[0].device)
        return group(own, [Multisets(self.ptr[k], colors[k].clone()) for k in levels]).ids

    def __repr__(self) -> str:
        return (
            f"Refinement({self.test}, complexes={self.num_complexes}, rounds={self.rounds}, "
            f"colors={self.num_colors()})"
        )


class Painter:
    """Assign colors to groups: from a palette, or new ones from 0 up."""

    def __init__(self, palette: Palette | None) -> None:
        self.palette, self.turn, self.used = palette, 0, 0 if palette is None else len(palette)

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
            named = self.name(-1, ids, len(pairs), pairs.tolist)[0]
            return self.pack([named, columns[-1]])
        code = columns[0]
        for column in columns[1:]:
            code = (code << width) | column
        return code

    def paint(self, level: int, parts: Sequence[Distinct]) -> tuple[Tensor, int]:
        """Return the colors of receivers, grouped in parts, and the number of groups."""
        found = merge(parts)
        return self.name(level, found.ids, len(found.which), lambda: found.keys)

    def name(
        self, level: int, ids: Tensor, count: int, keys: Callable[[], Sequence[Hashable]]
    ) -> tuple[Tensor, int]:
        """Turn group numbers into colors."""
        if self.palette is None:
            self.used += count
            return ids + (self.used - count), count
        colors = self.palette.name(self.turn, level, keys()).to(ids.device)[ids]
        self.used = len(self.palette)
        return colors, count


def refine(
    test: str,
    initial: Sequence[Initial],
    signatures: Sequence[Signatures],
    ptr: Sequence[Tensor],
    rounds: int | None,
    palette: Palette | None,
    summary: Callable[[Colors, Painter], Colors] | None = None,
) -> Refinement:
    """Refine initial colors round by round until the partition no longer changes.

    Args:
        test: Name of the test.
        initial: Initial colors of every level.
        signatures: Maps the colors of all levels and the painter to the own colors of the receivers
            on each level and their multisets. All levels are updated at once. To save memory there
            may be several such functions, each for a part of the receivers, in order.
        ptr: Where the receivers of each complex start, per level.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to take colors from and add them to.
        summary: What to keep of the colors of a round. Defaults to all of them.
    """
    whole = isinstance(rounds, (int, np.integer)) and not isinstance(rounds, bool)
    if rounds is not None and (not whole or rounds < 0):
        raise ColoringError(
            f"Expected rounds >= 0 as an integer, or None to run until stable, got {rounds!r:.40}."
        )
    painter, limit = Painter(palette), available_memory(ptr[0].device)
    now = [
        painter.name(k, ids, len(keys), lambda k=k: initial[k].keys)  # type: ignore[misc]
        for k, (ids, keys) in enumerate(initial)
    ]
    last = tuple(c for c, _ in now)
    colors, stable = [last if summary is None else summary(last, painter)], False
    while painter.turn < rounds if rounds is not None else not stable:
        painter.turn += 1
        if 8 * painter.turn * sum(len(c) for c in colors[0]) > limit:
            raise TooLargeError(
                f"Expected colors of at most {limit / 2**30:.3g} GiB, got {painter.turn} rounds on "
                f"{tuple(len(c) for c in colors[0])} cells; set rounds to stop earlier."
            )
        before = now
        levels: Iterable[Sequence[Distinct]]
        if len(signatures) == 1:
            levels = ([distinct(*level)] for level in signatures[0](last, painter))
        else:
            levels = zip(
                *(
                    [distinct(*level, trim=True) for level in part(last, painter)]
                    for part in signatures
                ),
                strict=True,
            )
        now = [painter.paint(k, level) for k, level in enumerate(levels)]
        last = tuple(c for c, _ in now)
        colors.append(last if summary is None else summary(last, painter))
        stable = all(m == n for (_, m), (_, n) in zip(before, now, strict=True))
    return Refinement(test, tuple(colors), tuple(ptr), stable, palette)
