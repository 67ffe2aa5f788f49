"""Conversion from and to other libraries of higher-order networks: scipy, TopoNetX, XGI."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from mpsn._rows.packages import package
from mpsn.complexes._convert import named_complex
from mpsn.errors import LeftOut

if TYPE_CHECKING:
    from mpsn.complexes.simplicial import SimplicialComplex


def to_scipy(K: "SimplicialComplex", k: int | None = None) -> Any:
    """Return the adjacency matrix of the vertices, or the signed boundary matrix of dimension k.

    Args:
        k: None for the adjacency matrix (n_0, n_0) of zeros and ones; else B_k, (n_(k-1), n_k).

    Returns:
        A ``scipy.sparse.csr_array`` of float64.

    Example:
        >>> SimplicialComplex.from_simplices([[0, 1], [1, 2]]).to_scipy().toarray()
        array([[0., 1., 0.],
               [1., 0., 1.],
               [0., 1., 0.]])
    """
    if k is not None:
        matrix = K.boundary_matrix(k).cpu().coalesce()
        entries = matrix.values().double().numpy(), tuple(matrix.indices().numpy())
        return scipy.sparse.csr_array(entries, shape=tuple(matrix.shape))
    u, v = K.simplices(1).cpu().numpy().T
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    return scipy.sparse.csr_array((np.ones(2 * len(u)), ends), shape=(K.num_nodes, K.num_nodes))


def from_toponetx(complex: Any) -> "SimplicialComplex":
    """Build from a TopoNetX ``SimplicialComplex``; names of vertices become ``vertex_labels``.

    Attributes of simplices are left out, with a warning :class:`mpsn.errors.LeftOut`.
    """
    simplices = list(complex.simplices)
    attributes = {name for s in simplices for name in complex[s]} - {"is_maximal", "membership"}
    _warn("TopoNetX", attributes)
    return named_complex(simplices)


def to_toponetx(K: "SimplicialComplex") -> Any:
    """Return a TopoNetX ``SimplicialComplex`` of all simplices, by the names of the vertices."""
    return package("toponetx").SimplicialComplex(_maximal(K))


def from_xgi(complex: Any, max_dim: int | None = None) -> "SimplicialComplex":
    """Build from an XGI ``SimplicialComplex``, or a ``Hypergraph`` and all faces of its hyperedges.

    Names of vertices become ``vertex_labels``. Attributes of vertices and simplices are left out,
    with a warning :class:`mpsn.errors.LeftOut`.

    Args:
        max_dim: Largest dimension to keep. Defaults to no bound.
    """
    members = [edge for edge in complex.edges.members() if edge]
    _warn(
        "XGI", {name for part in (complex.nodes, complex.edges) for i in part for name in part[i]}
    )
    return named_complex([*([node] for node in complex.nodes), *map(list, members)], max_dim)


def to_xgi(K: "SimplicialComplex") -> Any:
    """Return an XGI ``SimplicialComplex`` of all simplices, by the names of the vertices."""
    out = package("xgi").SimplicialComplex()
    out.add_nodes_from(K.vertex_labels or range(K.num_nodes))
    out.add_simplices_from(row for row in _maximal(K) if len(row) > 1)
    return out


def _warn(library: str, attributes: set[str]) -> None:
    if attributes:
        warnings.warn(
            f"The attributes {', '.join(sorted(map(str, attributes))):.200} of a complex of "
            f"{library} are not used: set features with replace(x=...).",
            LeftOut,
            stacklevel=3,
        )


def _maximal(K: "SimplicialComplex") -> list[list[Any]]:
    """Return the vertices of the simplices that are no faces of others, by their names."""
    names = K.vertex_labels or range(K.num_nodes)
    out = []
    for k in range(K.dim + 1):
        covered = set(K.faces(k + 1).reshape(-1).tolist()) if k < K.dim else set()
        rows = K.simplices(k).tolist()
        out += [[names[v] for v in row] for i, row in enumerate(rows) if i not in covered]
    return out
