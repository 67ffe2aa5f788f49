"""Directed flag complexes: the ordered cliques of a digraph."""

from mpsn._rows.memory import Budget
from mpsn.complexes import CellComplex
from mpsn.complexes.internal import as_incidences
from mpsn.convert import clean_graphs, complex_of
from mpsn.lifting._shared import Device, check_size
from mpsn.lifting.clique import cliques


def directed_flag_complex(
    graph: object,
    max_dim: int | None = 2,
    *,
    device: Device = None,
    max_bytes: int | None = None,
) -> CellComplex:
    """Lift a digraph to its directed flag complex: every ordered clique becomes a simplex.

    A k-simplex is a sequence (v_0, ..., v_k) with an edge from v_i to v_j for all i < j (flagser:
    Lütgehetmann, Govc, Smith and Levi, 2020). Its vertices may span others in another order: edges
    in both directions between two vertices are two edges, which bound a loop. So the result is a
    cell complex. Simplices are oriented by their order, face i, without v_i, with sign (-1)^i, and
    listed lexicographically.

    Args:
        graph: A graph of any kind that :func:`mpsn.clique_complex` accepts; its edges run from the
            first to the second vertex, those of undirected networkx graphs in both directions.
        max_dim: Largest dimension of a simplex; None for all.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Example:
        >>> K = mpsn.lifting.directed_flag_complex(nx.DiGraph([(0, 1), (1, 2), (0, 2), (2, 0)]))
        >>> K, K.betti_numbers()
        (CellComplex(dim=2, counts=(3, 4, 1)), (1, 1, 0))
    """
    check_size(max_dim, "max_dim", 0, "all cliques")
    clean = clean_graphs([graph], device, directed=True)
    with Budget(max_bytes, clean.edges.device, [clean.num_nodes]) as budget:
        incidences = as_incidences(cliques(clean, max_dim, budget, ordered=True), clean.num_nodes)
    incidences[1:] = [B.ragged() for B in incidences[1:]]
    return complex_of(CellComplex, clean, incidences)
