"""Face tables read the other way round: who lies above a simplex."""

from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from mpsn.errors import LayerError


class Cofaces(NamedTuple):
    """The entries of a face table (n, k+1), sorted by the simplex they name."""

    places: Tensor
    """Where each entry stands in the flattened table, (n(k+1),)."""
    simplices: Tensor
    """The row it stands in: a co-face, (n(k+1),)."""
    offsets: Tensor
    """Where the entries that name simplex 0, 1, ... begin, (count,)."""
    version: int
    """How often the table had been written to."""


_known = WeakTensorKeyDictionary()


def cofaces(table: Tensor, count: int) -> Cofaces:
    """Return the co-faces of every simplex, for a face table in main memory.

    They are found in linear time and kept for as long as the table lives: each layer, each
    derivative and each epoch reads the same table, and adding up what is listed takes a fraction of
    the time of adding entry by entry to where it belongs.

    Args:
        table: Face table (n, k+1), not empty.
        count: Number of (k-1)-simplices.

    Example:
        >>> from mpsn.nn.functional.cofaces import cofaces
        >>> above = cofaces(torch.tensor([[1, 0], [2, 0]]), 3)  # edges 01 and 02
        >>> above.simplices, above.offsets
        (tensor([0, 1, 0, 1]), tensor([0, 2, 3]))
    """
    version = -1 if table.is_inference() else table._version
    found: Cofaces | None = _known.get(table)  # type: ignore[no-untyped-call]
    if found is None or found.version != version or len(found.offsets) != count:
        found = _known[table] = _transpose(table, count, version)
    return found


def _transpose(table: Tensor, count: int, version: int) -> Cofaces:
    lowest, highest = int(table.min()), int(table.max())
    if lowest < 0 or highest >= count:
        raise LayerError(
            f"Expected a face table with entries from 0 to {count - 1}, got {lowest} to {highest}; "
            f"count is the number of simplices one dimension below."
        )
    n, width = table.shape
    entries = np.arange(n * width)
    rows = (entries, table.reshape(-1).numpy(), np.arange(0, n * width + 1, width))
    columns = scipy.sparse.csr_array(rows, shape=(n, count)).tocsc()
    places = torch.from_numpy(columns.data)
    offsets = torch.from_numpy(columns.indptr[:-1].astype(np.int64))
    return Cofaces(places, places // width, offsets, version)
