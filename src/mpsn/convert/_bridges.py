"""Conversion from and to other libraries of graphs and higher-order networks."""

from array import array
from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from mpsn._rows.memory import available_memory, check_room
from mpsn._rows.packages import package
from mpsn.complexes import Complex, SimplicialComplex
from mpsn.complexes.internal import close_tables, named_complex
from mpsn.errors import ComplexError, warn

GUDHI_BYTES = 400  # of a simplex of gudhi, while it becomes one of ours


def to_networkx(K: Complex) -> "nx.Graph[Hashable]":
    """Return the graph of vertices and edges, with the vertex labels as node names."""
    names = K.vertex_labels or range(K.num_nodes)
    graph: nx.Graph[Hashable] = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[u], names[v]) for v, u in K.incidence(1).table.tolist())
    return graph


def to_pyg(K: SimplicialComplex) -> Any:
    """Return vertices and edges as PyG ``Data``, every edge in both directions."""
    edges = K.simplices(1).T
    both = torch.cat([edges, edges.flip(0)], dim=1)
    data = package("torch_geometric.data").Data(edge_index=both, num_nodes=K.num_nodes)
    x, attr = (*K.x, None, None)[:2]
    if x is not None:
        data.x = x
    if attr is not None:
        data.edge_attr = torch.cat([attr, attr])
    if K.y is not None:
        data.y = K.y
    return data


def to_hasse(K: Complex) -> Any:
    """Return the Hasse diagram: see :meth:`mpsn.complexes.Complex.hasse_graph`."""
    starts = [0, *accumulate(K.counts)]
    dims = torch.repeat_interleave(torch.arange(len(K.counts)), torch.tensor(K.counts))
    edges, types, signs = [], [], []
    for k in range(1, K.dim + 1):
        B = K.incidence(k)
        up = torch.stack([B.face + starts[k - 1], B.cell + starts[k]])
        for direction, edge_index in enumerate((up, up.flip(0))):
            edges.append(edge_index)
            types.append(torch.full_like(B.face, 2 * (k - 1) + direction))
            signs.append(B.signs)
    data = package("torch_geometric.data").Data(
        edge_index=torch.cat(edges, dim=1) if edges else torch.zeros(2, 0, dtype=torch.int64),
        edge_type=torch.cat(types) if types else torch.zeros(0, dtype=torch.int64),
        sign=torch.cat(signs) if signs else torch.zeros(0, dtype=torch.int8),
        dim=dims.to(K.device),
        num_nodes=starts[-1],
    )
    features = [x for x in K.x[: K.dim + 1] if x is not None]
    if len(features) == K.dim + 1 and len({x.shape[1:] for x in features}) == 1:
        data.x = torch.cat(features)
    if K.y is not None:
        data.y = K.y
    return data


def to_scipy(K: SimplicialComplex, k: int | None = None) -> Any:
    """Return the adjacency matrix of the vertices, or the signed boundary matrix of dimension k."""
    if k is not None:
        matrix = K.boundary_matrix(k).cpu().coalesce()
        entries = matrix.values().double().numpy(), tuple(matrix.indices().numpy())
        return scipy.sparse.csr_array(entries, shape=tuple(matrix.shape))
    u, v = K.simplices(1).cpu().numpy().T
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    return scipy.sparse.csr_array((np.ones(2 * len(u)), ends), shape=(K.num_nodes, K.num_nodes))


def from_gudhi(tree: Any) -> SimplicialComplex:
    """Build from a gudhi ``SimplexTree``; filtration values become features x[k], (n_k, 1)."""
    count, limit = tree.num_simplices(), available_memory(torch.device("cpu"))
    remedy = "give a smaller radius or dimension"
    check_room(GUDHI_BYTES * count, limit, "a complex", f"{count:,} simplices", remedy)
    sizes = range(1, tree.dimension() + 2)
    vertices, values = {n: array("q") for n in sizes}, {n: array("d") for n in sizes}
    for simplex, value in tree.get_simplices():  # to keep these tuples would take twice as long
        vertices[len(simplex)].extend(simplex)
        values[len(simplex)].append(value)
    names = np.sort(np.array(vertices.get(1, ()), np.int64))
    tables, x = {}, []
    for size, flat in vertices.items():
        rows = np.sort(np.searchsorted(names, np.array(flat).reshape(-1, size)))
        order = np.lexsort(rows.T[::-1])
        tables[size] = torch.from_numpy(rows[order])
        x.append(torch.from_numpy(np.array(values[size])[order])[:, None])
    K = close_tables(tables, len(names), None).replace(x=x)
    plain = bool((names == np.arange(len(names))).all())
    return K if plain else K.replace(vertex_labels=names.tolist())


def to_gudhi(K: SimplicialComplex, filtration: Sequence[Tensor | None] | None = None) -> Any:
    """Return a gudhi ``SimplexTree``, with filtration values per dimension or zeros."""
    tree = package("gudhi", "tda").SimplexTree()
    by_dim = [*(filtration or ()), *[None] * (K.dim + 1)]
    below = np.zeros(0)
    for k in range(K.dim + 1):
        rows, value = K.simplices(k).cpu().numpy(), by_dim[k]
        values = np.zeros(len(rows)) if value is None else value.detach().double().cpu().numpy()
        if values.shape not in ((len(rows),), (len(rows), 1)):
            raise ComplexError(
                f"Expected a filtration value for each of the {len(rows)} simplices of dimension "
                f"{k}, got shape {values.shape}."
            )
        values = np.ascontiguousarray(values.reshape(-1))
        if k and (below[K.faces(k).cpu().numpy()] > values[:, None]).any():
            raise ComplexError(
                f"Expected filtration values at least as large as those of all faces, got smaller "
                f"ones in dimension {k}; take the maximum over the faces."
            )
        tree.insert_batch(np.ascontiguousarray(rows.T).astype(np.int32), values)
        below = values
    return tree


def from_toponetx(complex: Any) -> SimplicialComplex:
    """Build from a TopoNetX ``SimplicialComplex``; names of vertices become ``vertex_labels``."""
    simplices = list(complex.simplices)
    attributes = {name for s in simplices for name in complex[s]} - {"is_maximal", "membership"}
    _warn("TopoNetX", attributes)
    return named_complex(simplices)


def to_toponetx(K: SimplicialComplex) -> Any:
    """Return a TopoNetX ``SimplicialComplex`` of all simplices, by the names of the vertices."""
    return package("toponetx").SimplicialComplex(_maximal(K))


def from_xgi(complex: Any, max_dim: int | None = None) -> SimplicialComplex:
    """Build from an XGI ``SimplicialComplex``, or a ``Hypergraph`` and all faces of its edges."""
    members = [edge for edge in complex.edges.members() if edge]
    parts = complex.nodes, complex.edges
    _warn("XGI", {name for part in parts for i in part for name in part[i]})
    return named_complex([*([node] for node in complex.nodes), *map(list, members)], max_dim)


def to_xgi(K: SimplicialComplex) -> Any:
    """Return an XGI ``SimplicialComplex`` of all simplices, by the names of the vertices."""
    out = package("xgi").SimplicialComplex()
    out.add_nodes_from(K.vertex_labels or range(K.num_nodes))
    out.add_simplices_from(row for row in _maximal(K) if len(row) > 1)
    return out


def _warn(library: str, attributes: set[Any]) -> None:
    if attributes:
        warn(
            f"The attributes {', '.join(sorted(map(str, attributes))):.200} of a complex of "
            f"{library} are not used: set features with replace(x=...)."
        )


def _maximal(K: SimplicialComplex) -> list[list[Any]]:
    """Return the vertices of the simplices that are no faces of others, by their names."""
    names = K.vertex_labels or range(K.num_nodes)
    out = []
    for k in range(K.dim + 1):
        covered = set(K.faces(k + 1).reshape(-1).tolist()) if k < K.dim else set()
        rows = K.simplices(k).tolist()
        out += [[names[v] for v in row] for i, row in enumerate(rows) if i not in covered]
    return out
