"""Complexes of hypergraphs, of relations, and of groups in a table."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, cast

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.complexes.internal import close_tables, named_complex
from mpsn.errors import ComplexError


def hypergraph_complex(hyperedges: object, max_dim: int | None = 2) -> SimplicialComplex:
    """Build the downward closure of a hypergraph: each hyperedge becomes a simplex with its faces.

    A hyperedge of m vertices has m choose k + 1 faces of dimension k. They are counted before they
    are made: a result that would not fit into memory is refused.

    Args:
        hyperedges: Collections of vertices, which are numbers 0, 1, ... or names; a mapping with
            such collections as values; an XGI ``Hypergraph``; or an incidence matrix with a row
            per vertex and a column per hyperedge. Empty hyperedges do not count.
        max_dim: Largest dimension of a simplex: of a larger hyperedge, all faces up to it. None for
            no bound. Defaults to 2.

    Example:
        >>> mpsn.lifting.hypergraph_complex([["ann", "bob", "carl", "dora"], ["ann", "eve"]])
        SimplicialComplex(dim=2, counts=(5, 7, 4))
    """
    if hasattr(hyperedges, "edges") and hasattr(hyperedges.edges, "members"):
        return SimplicialComplex.from_xgi(hyperedges, max_dim)
    if _is_matrix(hyperedges):
        return dowker_complex(hyperedges, max_dim)
    if isinstance(hyperedges, Mapping):
        hyperedges = hyperedges.values()
    try:
        rows = [row for row in cast("Iterable[Collection[Hashable]]", hyperedges) if len(row)]
    except TypeError as error:
        raise ComplexError(
            f"Expected hyperedges as lists of vertices, such as [[0, 1, 2], [2, 3]], or a matrix, "
            f"got {type(hyperedges).__name__}: {hyperedges!r:.60}."
        ) from error
    return SimplicialComplex.from_simplices(rows, max_dim=max_dim)


def dowker_complex(relation: object, max_dim: int | None = 2) -> SimplicialComplex:
    """Build the Dowker complex of a relation: rows related to one column span a simplex.

    The complex of the transposed relation, in which columns are the vertices, has the same homotopy
    type (Dowker, 1952).

    Args:
        relation: A matrix (n, m), dense or sparse; entries other than 0 are related.
        max_dim: Largest dimension of a simplex; None for no bound. Defaults to 2.

    Example:
        >>> relation = [[1, 0, 1], [1, 1, 0], [0, 1, 1]]  # three people, three pairwise meetings
        >>> mpsn.lifting.dowker_complex(torch.tensor(relation)).betti_numbers()
        (1, 1)
    """
    if not _is_matrix(relation):
        raise ComplexError(
            f"Expected a relation as a matrix, dense or sparse, got {type(relation).__name__}; "
            f"pass lists of vertices to mpsn.lifting.hypergraph_complex."
        )
    if isinstance(relation, Tensor):
        relation = relation.detach().cpu().to_dense().numpy()
    if isinstance(relation, np.ndarray):
        if relation.dtype.kind not in "biuf":
            raise ComplexError(f"Expected a relation as a matrix of numbers, got {relation.dtype}.")
        relation = relation != 0
    table: Any = scipy.sparse.csc_array(relation)
    return columns_complex(table, max_dim)


def columns_complex(table: Any, max_dim: int | None) -> SimplicialComplex:
    """Build the complex of the rows that have entries in one column of a CSC matrix."""
    table.eliminate_zeros()
    table.sum_duplicates()  # sorts each column
    index, start, size = (
        torch.from_numpy(part.astype(np.int64))
        for part in (table.indices, table.indptr[:-1], np.diff(table.indptr))
    )
    tables = {
        width: index[start[size == width][:, None] + torch.arange(width)]
        for width in torch.unique(size).tolist()
        if width
    }
    return close_tables(tables, table.shape[0], max_dim)


def from_groups(table: Any, member: str, group: str, max_dim: int | None = 2) -> SimplicialComplex:
    """Build the complex of groups in a pandas table: members of one group span a simplex.

    Args:
        table: A data frame with a row per member of a group; rows may repeat.
        member: The column of the members, which become the vertices, by name.
        group: The column of the groups.
        max_dim: Largest dimension of a simplex; None for no bound. Defaults to 2.

    Example:
        >>> import pandas as pd
        >>> rows = {"paper": [1, 1, 1, 2, 2], "author": ["ann", "bob", "carl", "ann", "dora"]}
        >>> K = mpsn.from_groups(pd.DataFrame(rows), "author", "paper")
        >>> K, K.vertex_labels
        (SimplicialComplex(dim=2, counts=(4, 4, 1)), ('ann', 'bob', 'carl', 'dora'))
    """
    for column in (member, group):
        if column not in table.columns:
            raise ComplexError(
                f"Expected a column {column!r:.40}, got columns "
                f"{', '.join(map(str, table.columns)):.200}."
            )
    pairs = table[[member, group]]
    if empty := int(pairs.isna().any(axis=1).sum()):
        raise ComplexError(
            f"Expected a member and a group in each row, got {empty} rows with a missing value; "
            f"drop them with dropna."
        )
    groups: dict[Any, dict[Any, None]] = {}
    for name, which in zip(pairs[member].tolist(), pairs[group].tolist(), strict=True):
        groups.setdefault(which, {})[name] = None
    return named_complex(groups.values(), max_dim)


def _is_matrix(value: object) -> bool:
    return (isinstance(value, (np.ndarray, Tensor)) and value.ndim == 2) or bool(
        scipy.sparse.issparse(value)
    )
