"""Small graphs with names, which Weisfeiler-Lehman tests can or cannot distinguish."""

from collections.abc import Callable

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from mpsn.convert import Graph, as_graph
from mpsn.errors import GraphError, did_you_mean

Adjacency = NDArray[np.bool_]


def rook(n: int = 4) -> Adjacency:
    """Return the n×n rook's graph: cells are adjacent if they share a row or column."""
    row, column = np.divmod(np.arange(n * n), n)
    same = (row[:, None] == row) ^ (column[:, None] == column)
    return np.asarray(same)


def shrikhande() -> Adjacency:
    """Return the Shrikhande graph: Z₄×Z₄, adjacent at a difference of ±(1,0), ±(0,1) or ±(1,1)."""
    a, b = np.divmod(np.arange(16), 4)
    step = (a[:, None] - a) % 4 * 4 + (b[:, None] - b) % 4
    return np.isin(step, [4, 12, 1, 3, 5, 15])


def triangular(n: int = 8) -> Adjacency:
    """Return the triangular graph T(n): pairs of n points, adjacent if they share a point."""
    pairs = np.argwhere(np.triu(np.ones((n, n)), 1))
    common = (pairs[:, None, :, None] == pairs[None, :, None, :]).sum(axis=(2, 3))
    return np.asarray(common == 1)


def switch(adjacency: Adjacency, chosen: NDArray[np.bool_]) -> Adjacency:
    """Apply Seidel switching: swap edges and non-edges between the chosen vertices and the rest."""
    return np.asarray(adjacency ^ (chosen[:, None] ^ chosen))


def chang(cycles: tuple[int, ...]) -> Adjacency:
    """Return a Chang graph: T(8) switched at the edges of disjoint cycles on the 8 points.

    The three are those of (2, 2, 2, 2), which stands for single edges, (8,) and (3, 5).
    """
    after: dict[int, int] = {}
    for start, size in zip(np.cumsum((0, *cycles)).tolist(), cycles, strict=False):
        after |= {start + i: start + (i + 1) % size for i in range(size)}
    edges = {frozenset(edge) for edge in after.items()}
    pairs = np.argwhere(np.triu(np.ones((8, 8)), 1))
    return switch(triangular(8), np.array([frozenset(pair) in edges for pair in pairs.tolist()]))


def to_graph(adjacency: Adjacency) -> Graph:
    """Return the graph of an adjacency matrix."""
    return as_graph((np.argwhere(np.triu(adjacency)).T, len(adjacency)))


def _two_rings(graph: "nx.Graph[int]") -> Graph:
    """Cut a ring of ten into two rings of six, or connect two rings of five."""
    graph.add_edge(0, 5)
    return as_graph(graph)


def _twice(graph: "nx.Graph[int]") -> "nx.Graph[int]":
    return nx.disjoint_union(graph, graph)


NAMED_GRAPHS: dict[str, Callable[[], Graph]] = {
    "hexagon": lambda: as_graph(nx.cycle_graph(6)),
    "two-triangles": lambda: as_graph(_twice(nx.cycle_graph(3))),
    "rook4x4": lambda: to_graph(rook(4)),
    "shrikhande": lambda: to_graph(shrikhande()),
    "decalin": lambda: _two_rings(nx.cycle_graph(10)),
    "bicyclopentyl": lambda: _two_rings(_twice(nx.cycle_graph(5))),
    "prism": lambda: as_graph(nx.circular_ladder_graph(3)),
    "k3,3": lambda: as_graph(nx.complete_bipartite_graph(3, 3)),
    "dodecahedron": lambda: as_graph(nx.dodecahedral_graph()),
    "desargues": lambda: as_graph(nx.desargues_graph()),
    "t8": lambda: to_graph(triangular(8)),
    "chang1": lambda: to_graph(chang((2, 2, 2, 2))),
    "chang2": lambda: to_graph(chang((8,))),
    "chang3": lambda: to_graph(chang((3, 5))),
}


def named_graph(name: str) -> Graph:
    """Return a built-in graph by name.

    Pairs to compare: hexagon and two-triangles (the paper's figure 2), rook4x4 and shrikhande
    (figure 3), decalin and bicyclopentyl (appendix), prism and k3,3, dodecahedron and desargues,
    and any two of the graphs SR(28,12,6,4): t8, chang1, chang2, chang3.

    Args:
        name: The name; an unknown one raises an error that lists all.

    Example:
        >>> mpsn.datasets.named_graph("decalin").num_nodes
        10
    """
    if name not in NAMED_GRAPHS:
        raise GraphError(
            f"Expected a built-in graph among {', '.join(NAMED_GRAPHS)}, got {name!r}."
            f"{did_you_mean(name, NAMED_GRAPHS)}"
        )
    return NAMED_GRAPHS[name]()
