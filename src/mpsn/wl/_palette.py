"""Colors that stay valid from one refinement to the next."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Self

import torch
from torch import Tensor

from mpsn.errors import ColoringError


class Palette:
    """Record which signature got which color, so that complexes can be refined one by one.

    Pass a palette to :func:`mpsn.wl.swl` or another test: known signatures keep their colors, new
    ones get new colors. Signatures are stored whole. The palette grows in place and comes back as
    ``result.palette``; :meth:`copy` it to keep a state. It serves one test with one choice of
    adjacencies and initial colors.

    Example:
        >>> one = mpsn.wl.wl(nx.cycle_graph(6), palette=mpsn.wl.Palette())
        >>> two = mpsn.wl.wl(nx.cycle_graph(3), palette=one.palette)
        >>> one.histograms, two.histograms
        ([({1: 6},)], [({1: 3},)])
    """

    def __init__(self) -> None:
        self._rules: dict[Hashable, Hashable] = {}
        self._tables: dict[tuple[int, int], dict[Hashable, int]] = {}
        self._used = 0

    def __len__(self) -> int:
        """Return the number of colors in use."""
        return self._used

    def __repr__(self) -> str:
        return f"Palette({self._used} colors)"

    def copy(self) -> Self:
        """Return an independent copy."""
        out = type(self)()
        out._rules, out._used = dict(self._rules), self._used
        out._tables = {at: dict(table) for at, table in self._tables.items()}
        return out

    def adopt(self, rule: Hashable, kinds: Mapping[int, str]) -> None:
        """Fix what the palette is used for, or refuse another use.

        Args:
            rule: The test and its choices.
            kinds: The type of the initial colors on each level that has receivers.
        """
        for what, value in [("test", rule), *kinds.items()]:
            if self._rules.setdefault(what, value) != value:
                raise ColoringError(
                    f"Expected a palette made with {value}, got one made with {self._rules[what]}; "
                    f"colors of different tests or initial color types cannot be compared."
                )

    def name(self, turn: int, level: int, keys: Sequence[Hashable]) -> Tensor:
        """Return the colors of signatures seen in one round on one level, (len(keys),) int64."""
        table = self._tables.setdefault((turn, level), {})
        for key in keys:
            if key not in table:
                table[key] = self._used
                self._used += 1
        return torch.tensor([table[key] for key in keys], dtype=torch.int64)
