"""Co-authors and the citations of their joint papers, as a complex with a value on each simplex."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn_reproduction.papers.sources import expect, reading

NAME = "coauthor/coauthor_150250.npz"
SOURCE = "Ebli et al.'s data (github.com/stefaniaebli/simplicial_neural_networks)"


class Coauthors(NamedTuple):
    """A complex with citations as features (n_k, 1), and what Ebli et al. hid of them.

    ``missing`` has a mask (n_k,) per dimension, of 30 %.
    """

    complex: SimplicialComplex
    missing: tuple[Tensor, ...]


def coauthors(folder: Path | None = None) -> Coauthors:
    """Read the co-author complex of Ebli et al. (2020), with citations on all of its simplices.

    The authors of a paper span a simplex, and its citations count for all faces: a simplex has the
    citations of all papers that its authors wrote together, so no simplex has more than its faces.

    Args:
        folder: Folder with ``coauthor/coauthor_150250.npz``: arrays ``simplices_k`` (n_k, k+1),
            ``citations_k`` (n_k,) and ``missing30_k`` (n_k,) for k = 0, 1, ... Defaults to the
            environment variable ``MPSN_DATA``.
    """
    path = expect(NAME, SOURCE, folder)
    with reading(path), np.load(path) as arrays:
        return from_arrays(arrays)


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Coauthors:
    """Build the complex from the arrays of the file."""
    tables, citations, missing = [], [], []
    for k in range(sum(name.startswith("simplices_") for name in arrays)):
        table, values = arrays[f"simplices_{k}"], arrays[f"citations_{k}"]
        hidden = arrays[f"missing30_{k}"]
        if not (len(table) == len(values) == len(hidden) and hidden.dtype == bool):
            raise ValueError(f"expected one value and a mask per {k}-simplex")
        if not ((values > 0) & (values < 1 << 24)).all():
            raise ValueError(f"expected positive citations in dimension {k}")
        order = np.lexsort(table.T[::-1])  # as from_simplices orders them
        tables.append(table[order])
        citations.append(torch.from_numpy(values[order].astype(np.float32))[:, None])
        missing.append(torch.from_numpy(hidden[order]))
    position = {vertex: i for i, vertex in enumerate(tables[0][:, 0].tolist())}
    rows = [[[position[v] for v in row] for row in table.tolist()] for table in tables]
    K = SimplicialComplex.from_simplices(row for level in rows for row in level)
    if [K.simplices(k).tolist() for k in range(K.dim + 1)] != rows:
        raise ValueError("expected each simplex once, ascending, with all its faces")
    return Coauthors(K.replace(x=citations), tuple(missing))
