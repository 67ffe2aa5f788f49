"""Co-authors and the citations of their joint papers, as a complex with a value on each simplex."""

import os
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._files.limits import explained
from mpsn._files.npz import read_arrays
from mpsn.complexes import SimplicialComplex
from mpsn.datasets._sources import expect
from mpsn.errors import ComplexError

NAME = "coauthor/coauthor_150250.npz"
MOST_BYTES = 1 << 26


class Coauthors(NamedTuple):
    """A complex with citations as features (n_k, 1), and what Ebli et al. hid of them.

    ``missing`` has a mask (n_k,) per dimension, of 30 %.
    """

    complex: SimplicialComplex
    missing: tuple[Tensor, ...]


def coauthors(data: str | os.PathLike[str] | None = None) -> Coauthors:
    """Read the co-author complex of Ebli et al. (2020), with citations on all of its simplices.

    The authors of a paper span a simplex, and its citations count for all faces: a simplex has the
    citations of all papers that its authors wrote together, so no simplex has more than its faces.

    Args:
        data: Folder of local copies with ``coauthor/coauthor_150250.npz``: arrays ``simplices_k``
            (n_k, k+1), ``citations_k`` (n_k,) and ``missing30_k`` (n_k,) for k = 0, 1, ... Defaults
            to the environment variable ``MPSN_DATA``.
    """
    source = "Ebli et al.'s data (github.com/stefaniaebli/simplicial_neural_networks)"
    path = expect(NAME, source, data)
    with explained(path, "the co-author complex"):
        return _build(read_arrays(path, MOST_BYTES))


def _build(arrays: dict[str, NDArray[Any]]) -> Coauthors:
    names = ("simplices", "citations", "missing30")
    dims = range(len(arrays) // 3)
    if not dims or {*arrays} != {f"{name}_{k}" for name in names for k in dims}:
        raise ComplexError(
            f"expected arrays {', '.join(names)} of each dimension, got {len(arrays)}"
        )
    tables, citations, missing = [], [], []
    for k in dims:
        table, values, hidden = (arrays[f"{name}_{k}"] for name in names)
        n = len(table) if table.ndim == 2 else 0
        if (table.shape, values.shape, hidden.shape) != ((n, k + 1), (n,), (n,)) or not n:
            raise ComplexError(f"expected {k + 1} vertices and one value per {k}-simplex")
        if table.dtype.kind not in "iu" or values.dtype.kind not in "iuf" or hidden.dtype != bool:
            raise ComplexError(f"expected integers, numbers and a mask in dimension {k}")
        if not ((values > 0) & (values < 1 << 24)).all():
            raise ComplexError(f"expected positive citations in dimension {k}")
        order = np.lexsort(table.T[::-1])  # as from_simplices orders them
        tables.append(table[order].astype(np.int64))
        citations.append(torch.from_numpy(values[order].astype(np.float32))[:, None])
        missing.append(torch.from_numpy(hidden[order]))
    vertices = tables[0][:, 0]
    places = [np.searchsorted(vertices, table).clip(max=len(vertices) - 1) for table in tables]
    if any((vertices[place] != table).any() for place, table in zip(places, tables, strict=True)):
        raise ComplexError("expected simplices among the vertices")
    K = SimplicialComplex.from_simplices(row for place in places for row in place.tolist())
    found = [K.simplices(k).numpy() for k in range(K.dim + 1)]
    if len(found) != len(dims) or not all(map(np.array_equal, found, places)):
        raise ComplexError("expected each simplex once, ascending, with all its faces")
    return Coauthors(K.replace(x=citations), tuple(missing))
