"""Face tables read the other way round: who lies above a simplex."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from mpsn.complexes import grouped
from mpsn.errors import LayerError


class Cofaces(NamedTuple):
    """The entries of a face table (n, k+1), sorted by the simplex they name."""

    places: Tensor
    """Where each entry stands in the flattened table, (n(k+1),)."""
    simplices: Tensor
    """The row it stands in: a co-face, (n(k+1),)."""
    ptr: Tensor
    """Where the entries that name simplex 0, 1, ... begin, and the end, (count + 1,)."""
    version: int
    """How often the table had been written to."""


_known = WeakTensorKeyDictionary()


def cofaces(table: Tensor, count: int, listed: Tensor | None = None) -> Cofaces:
    """Return the co-faces of every simplex.

    They are found in linear time (on a GPU by sorting, without waiting for it) and kept for as long
    as the table lives: each layer, each derivative and each epoch reads the same table, and adding
    up what is listed takes a fraction of the time of adding entry by entry to where it belongs.

    Args:
        table: Face table (n, k+1), not empty.
        count: Number of (k-1)-simplices.
        listed: Which rows of the table count, (n,) of truth values; all unless said. This is kept
            too: from then on every sum over the co-faces in this table leaves the others out.

    Example:
        >>> from mpsn.nn.functional.cofaces import cofaces
        >>> above = cofaces(torch.tensor([[1, 0], [2, 0]]), 3)  # edges 01 and 02
        >>> above.simplices, above.ptr
        (tensor([0, 1, 0, 1]), tensor([0, 2, 3, 4]))
    """
    found = known(table)
    if found is None or len(found.ptr) != count + 1:
        if listed is not None or table.is_cuda:
            named = table if listed is None else torch.where(listed[:, None], table, count)
            places, ptr = _sort(named, count)
        else:
            check_entries(table, count)
            places, ptr = grouped(table, count)
        rows = places // table.shape[1]
        found = _known[table] = Cofaces(places, rows, ptr, _version(table))
    return found


def known(table: Tensor) -> Cofaces | None:
    """Return what :func:`cofaces` has found for a table, or None if it has not been asked."""
    found: Cofaces | None = _known.get(table)  # type: ignore[no-untyped-call]
    return found if found is not None and found.version == _version(table) else None


def _version(table: Tensor) -> int:
    return -1 if table.is_inference() else table._version


def check_entries(table: Tensor, count: int) -> None:
    """Raise unless a face table, not empty, names simplices from 0 to ``count`` - 1 only."""
    lowest, highest = (int(end) for end in table.aminmax())
    if lowest < 0 or highest >= count:
        raise LayerError(
            f"Expected a face table with entries from 0 to {count - 1}, got {lowest} to {highest}; "
            f"there must be as many rows of features, or a count, as simplices one dimension below."
        )


def _sort(table: Tensor, count: int) -> tuple[Tensor, Tensor]:
    named, places = torch.sort(table.reshape(-1), stable=True)  # beyond count: in no one's list
    ptr = torch.searchsorted(named, torch.arange(count + 1, device=table.device))
    return places, ptr
