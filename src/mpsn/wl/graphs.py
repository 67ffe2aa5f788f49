"""Graphs as the tests on vertices and vertex tuples see them."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from mpsn.complexes._graphs import CleanGraphs, Graph, as_graph, clean_graphs
from mpsn.errors import ColoringError


def is_one(graphs: object) -> bool:
    """Tell one graph from a list of graphs; a pair (edge_index, num_nodes) is one graph."""
    if isinstance(graphs, tuple) and len(graphs) == 2:
        return isinstance(graphs[1], (int, np.integer))
    return isinstance(graphs, Graph) or not isinstance(graphs, Sequence)


def read(graphs: object) -> CleanGraphs:
    """Read one graph or many of any kind, and refuse those without vertices."""
    clean = clean_graphs([graphs] if is_one(graphs) else graphs)  # type: ignore[arg-type]
    check_vertices(clean.ptr.diff(), "graph")
    return clean


def bare(graphs: Sequence[object]) -> list[tuple[Tensor, int]]:
    """Return graphs without features and labels, which may not agree between them."""
    return [(graph.edge_index, graph.num_nodes) for graph in map(as_graph, graphs)]


def check_vertices(sizes: Tensor, what: str) -> None:
    """Refuse complexes or graphs without vertices: there is nothing to color."""
    if bool((sizes == 0).any()):
        number = int((sizes == 0).nonzero()[0])
        raise ColoringError(
            f"Expected at least one vertex, got none in {what} {number}; leave it out."
        )
