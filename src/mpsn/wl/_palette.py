"""Colors that stay valid from one refinement to the next."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Self

import torch
from torch import Tensor

from mpsn.errors import ColoringError, FileError


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
        out._tables = {place: dict(table) for place, table in self._tables.items()}
        return out

    def to_parts(self, colors: Tensor) -> dict[str, Tensor]:
        """Return some colors of :func:`swl`, ascending, and their signatures, as tensors by name.

        ``keys`` holds the bytes of all signatures, those of color i from ``ptr[i]`` to
        ``ptr[i + 1]``; ``places`` (colors, 2) the round and the dimension of each.
        """
        rows = {
            color: (place, key)
            for place, table in self._tables.items()
            for key, color in table.items()
        }
        kept = [rows[color] for color in colors.tolist()]
        keys = b"".join(key for _, key in kept)  # type: ignore[misc]
        sizes = torch.tensor([len(key) for _, key in kept], dtype=torch.int64)  # type: ignore[arg-type]
        return {
            "colors": colors,
            "keys": torch.frombuffer(bytearray(keys), dtype=torch.uint8)
            if keys
            else sizes.byte()[:0],
            "ptr": torch.nn.functional.pad(sizes.cumsum(0), (1, 0)),
            "places": torch.tensor([place for place, _ in kept], dtype=torch.int64).reshape(-1, 2),
        }

    @classmethod
    def from_parts(cls, parts: Mapping[str, Tensor]) -> Self:
        """Build a palette from the tensors of :meth:`to_parts`, which are checked."""
        kinds = {"colors": 1, "keys": 1, "ptr": 1, "places": 2}
        colors, keys, ptr, places = (parts.get(name) for name in kinds)
        if (
            colors is None
            or keys is None
            or ptr is None
            or places is None
            or any(parts[name].dim() != kinds[name] for name in kinds)
            or any(part.dtype != torch.int64 for part in (colors, ptr, places))
            or keys.dtype != torch.uint8
            or places.shape != (len(colors), 2)
            or ptr.tolist()[:1] != [0]
            or len(ptr) != len(colors) + 1
            or bool((ptr.diff() < 0).any())
            or ptr.tolist()[-1] != len(keys)
            or not bool(((colors >= 0) & (colors < 1 << 31)).all())
            or bool((colors.diff() <= 0).any())
        ):
            raise FileError("expected colors and their signatures")
        out, content, ends = cls(), keys.cpu().numpy().tobytes(), ptr.tolist()
        for color, place, start, stop in zip(
            colors.tolist(), places.tolist(), ends, ends[1:], strict=False
        ):
            out._tables.setdefault((place[0], place[1]), {})[content[start:stop]] = color
        out._used = int(colors[-1]) + 1 if len(colors) else 0
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

    def name(self, round: int, level: int, keys: Sequence[Hashable]) -> Tensor:
        """Return the colors of signatures seen in one round on one level, (len(keys),) int64."""
        table = self._tables.setdefault((round, level), {})
        for key in keys:
            if key not in table:
                table[key] = self._used
                self._used += 1
        return torch.tensor([table[key] for key in keys], dtype=torch.int64)
