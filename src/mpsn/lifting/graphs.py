"""Other complexes of a graph: neighborhoods, independent sets, paths, and similar features."""

from functools import partial

import torch
from scipy.sparse import csc_array

from mpsn._rows.memory import Budget
from mpsn._rows.rows import ends
from mpsn.complexes import SimplicialComplex
from mpsn.complexes.internal import as_incidences, close_tables
from mpsn.convert import CleanGraphs, Graph, clean_graphs, complex_of
from mpsn.errors import GraphError, warn
from mpsn.lifting._joins import Neighbors, grow, listed
from mpsn.lifting._near import as_points, nearest
from mpsn.lifting._shared import Device, check_size
from mpsn.lifting.clique import EDGE_BYTES, clique_complex, cliques
from mpsn.lifting.relations import columns_complex


def neighborhood_complex(
    graph: object, max_dim: int | None = 2, *, device: Device = None
) -> SimplicialComplex:
    """Lift a graph to its neighborhood complex: neighbors of one vertex span a simplex.

    Lovász (1978): its connectivity bounds the chromatic number. The edges of the graph are in
    general no simplices of it. Time and size grow with the sum of degree^(max_dim + 1).

    Args:
        graph: A graph of any kind that :func:`mpsn.clique_complex` accepts; x and y are kept.
        max_dim: Largest dimension of a simplex; None for no bound. Defaults to 2.
        device: Device of the complex. Defaults to that of the graph.

    Example:
        >>> mpsn.lifting.neighborhood_complex(nx.cycle_graph(4))
        SimplicialComplex(dim=1, counts=(4, 2))
    """
    check_size(max_dim, "max_dim", 0, "no bound")
    clean = _clean(graph, device)
    n = clean.num_nodes
    u, v = clean.edges.cpu().numpy().T
    half = csc_array((u >= 0, (u, v)), shape=(n, n))
    return _dressed(columns_complex(csc_array(half + half.T), max_dim), clean)


def independence_complex(
    graph: object,
    max_dim: int | None = 2,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> SimplicialComplex:
    """Lift a graph to its independence complex: vertices without an edge between span a simplex.

    The clique complex of the complement, which has O(n^2) edges for a sparse graph.

    Args:
        graph: A graph of any kind that :func:`mpsn.clique_complex` accepts; x and y are kept.
        max_dim: Largest dimension of a simplex; None for all independent sets. Defaults to 2.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Example:
        >>> mpsn.lifting.independence_complex(nx.cycle_graph(5))
        SimplicialComplex(dim=1, counts=(5, 5))
    """
    check_size(max_dim, "max_dim", 0, "all independent sets")
    clean = _clean(graph, device)
    n = clean.num_nodes
    with Budget(max_bytes, clean.edges.device, [n]) as budget:
        pairs = n * (n - 1) // 2 - len(clean.edges)
        budget.check(pairs, EDGE_BYTES * pairs + n * n)
        apart = torch.ones((n, n), dtype=torch.bool, device=clean.edges.device).triu_(1)
        apart[clean.edges[:, 0], clean.edges[:, 1]] = False
        clean = clean._replace(edges=apart.nonzero(), starts=ends(apart.sum(dim=1)))
        del apart
        tables = cliques(clean, max_dim, budget)
        return complex_of(SimplicialComplex, clean, as_incidences(tables, n))


def path_complex(
    graph: object,
    length: int = 2,
    max_dim: int | None = None,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> SimplicialComplex:
    """Lift a graph to the complex of its paths: the vertices of a simple path span a simplex.

    The elementary paths of Grigor'yan, Lin, Muranov and Yau (2012), which path networks pass
    messages between (Truong and Chin, 2024), with all faces of the simplices that they span: so
    boundaries close, as they do not for paths alone. Time grows with the number of paths, at most
    n * degree^length.

    Args:
        graph: A graph of any kind that :func:`mpsn.clique_complex` accepts; x and y are kept.
        length: Largest number of edges of a path. Defaults to 2.
        max_dim: Largest dimension of a simplex. Defaults to ``length``.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the list of paths. Defaults to half of the free memory.

    Example:
        >>> mpsn.lifting.path_complex(nx.path_graph(4))
        SimplicialComplex(dim=2, counts=(4, 5, 2))
    """
    check_size(length, "length", 1)
    check_size(max_dim, "max_dim", 0, "the length of the paths")
    clean = _clean(graph, device)
    n, device = clean.num_nodes, clean.edges.device
    with Budget(max_bytes, device, [n]) as budget:
        around = Neighbors(clean.edges, n, budget)

        def judge(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            simple = (rows[:, :-1] != rows[:, -1:]).all(dim=1)
            return simple & (rows.shape[1] <= length), simple & (rows[:, 0] < rows[:, -1])

        starts = torch.arange(n, device=device)[:, None]
        chunks = partial(grow, starts, around, judge, budget)
        paths = listed(chunks, budget, lambda width: 8 * width, "a smaller length, ")
        tables = {width: rows.sort(dim=1).values.cpu() for width, rows in paths.items()}
        return _dressed(close_tables(tables, n, max_dim), clean)


def nearest_neighbor_complex(
    graph: object, k: int = 3, max_dim: int | None = 2, *, device: Device = None
) -> SimplicialComplex:
    """Lift a graph to the cliques of its edges and of edges between vertices of similar features.

    Each vertex is joined to the ``k`` vertices whose features are nearest, by Euclidean distance.

    Args:
        graph: A graph with features x, such as PyG ``Data``; x and y are kept.
        k: Number of nearest neighbors. Of several at the same distance, any.
        max_dim: Largest dimension of a simplex; None for all cliques. Defaults to 2.
        device: Device of the complex. Defaults to that of the graph.

    Example:
        >>> from torch_geometric.data import Data
        >>> x = torch.tensor([[0.0], [0.1], [9.0]])
        >>> data = Data(x=x, edge_index=torch.tensor([[0, 1], [2, 2]]))
        >>> mpsn.lifting.nearest_neighbor_complex(data, k=1)
        SimplicialComplex(dim=2, counts=(3, 3, 1), features=(1, None, None))
    """
    check_size(k, "k", 1)
    clean = _clean(graph, device)
    plain = clean.graphs[0]
    if plain.x is None:
        raise GraphError(
            "Expected a graph with features x of vertices, such as PyG Data, got none; set data.x."
        )
    x = as_points(plain.x, clean.edges.device).position
    with Budget(None, x.device, [len(x)]) as budget:
        edges = torch.cat([clean.edges, nearest(x, k, budget)]).T
    moved = [None if t is None else t.to(x.device) for t in (plain.x, plain.y)]
    joined = Graph(edges, plain.num_nodes, moved[0], None, moved[1], plain.labels)
    return clique_complex(joined, max_dim)


def _clean(graph: object, device: Device) -> CleanGraphs:
    """Read a graph for a lift whose edges are others."""
    clean = clean_graphs([graph], device)
    plain = clean.graphs[0]
    if plain.edge_attr is not None:
        warn("edge_attr is not used: the edges of this complex are not those of the graph.")
    return clean._replace(graphs=[plain._replace(edge_attr=None)], first=None, same=None)


def _dressed(K: SimplicialComplex, clean: CleanGraphs) -> SimplicialComplex:
    """Return a complex on the device of a graph, with the features, labels and names of that."""
    K = K.to(clean.edges.device)
    return complex_of(SimplicialComplex, clean, [K.incidence(k) for k in range(1, K.dim + 1)])
