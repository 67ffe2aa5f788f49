"""Motif complexes: occurrences of given small graphs become 2-cells."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations, permutations
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from mpsn._rows.memory import Budget
from mpsn._rows.rows import Rows, ends, unique_rows
from mpsn.complexes import CellComplex
from mpsn.complexes.internal import as_incidences
from mpsn.convert import clean_graphs, complex_of
from mpsn.errors import GraphError
from mpsn.lifting._joins import Neighbors, grow, listed
from mpsn.lifting._shared import Device

LARGEST = 8  # vertices of a pattern


def motif_complex(
    graph: object,
    patterns: "Sequence[nx.Graph[int] | int]",
    *,
    induced: bool = False,
    device: Device = None,
    max_bytes: int | None = None,
) -> CellComplex:
    """Lift a graph to a cell complex whose 2-cells are the occurrences of small patterns.

    A 2-cell is bounded by a cycle: each cycle through all vertices of an occurrence of a pattern,
    along its edges, becomes one, once. So the pattern ``nx.cycle_graph(4)`` gives the squares, with
    or without chords, and ``nx.complete_graph(4)`` three squares for each four vertices that are
    all adjacent. Time grows with the number of paths of a pattern's length.

    2-cells are listed by their length, then in lexicographic order of the walk from their smallest
    vertex to the smaller of its two neighbors on the cycle, with sign +1 where the walk ascends.

    Args:
        graph: A graph of any kind that :func:`mpsn.clique_complex` accepts.
        patterns: Graphs of 3 to 8 vertices with a cycle through all of them; a number stands for
            the cycle of that length.
        induced: Whether an occurrence may have no other edges than the pattern.
        device: Device of the complex. Defaults to that of the graph.
        max_bytes: Largest size of the complex. Defaults to half of the free memory.

    Example:
        >>> house = nx.house_graph()  # a square with a roof
        >>> mpsn.lifting.motif_complex(house, [3, nx.cycle_graph(5)])
        CellComplex(dim=2, counts=(5, 6, 2))
        >>> mpsn.lifting.motif_complex(house, [5], induced=True)
        CellComplex(dim=1, counts=(5, 6))
    """
    if not isinstance(patterns, Sequence) or not len(patterns):
        raise GraphError(
            f"Expected a list of patterns, such as [3, 4] for cycles, got {patterns!s:.40}."
        )
    shapes = {shape for pattern in patterns for shape in _shapes(pattern)}
    clean = clean_graphs([graph], device)
    n = clean.num_nodes
    with Budget(max_bytes, clean.edges.device, [n, len(clean.edges)]) as budget:
        around = Neighbors(clean.edges, n, budget)
        cycles = []  # (m, width) each, in lexicographic order
        for width in sorted({width for width, _ in shapes}):
            same = [shape for shape in shapes if shape[0] == width]
            parts = [_cycles(around, clean.edges, shape, induced, budget) for shape in same]
            budget.reserve(_cost(width) * sum(map(len, parts)), f"cycles of {width} vertices")
            cycles.append(parts[0] if len(parts) == 1 else unique_rows(torch.cat(parts), n)[0])
        sizes = torch.cat([rows.new_full((len(rows),), rows.shape[1]) for rows in cycles])
        walks = Rows(torch.cat([rows.reshape(-1) for rows in cycles]), n, ptr=ends(sizes))
        incidences = [*as_incidences([clean.edges.flip(1)], n), around.polygons(walks)]
        return complex_of(CellComplex, clean, incidences)


Shape = tuple[int, frozenset[tuple[int, int]]]


def _shapes(pattern: Any) -> set[Shape]:
    """Return the pattern with vertices numbered along each walk around all of them."""
    if isinstance(pattern, int) and 3 <= pattern <= LARGEST:
        pattern = nx.cycle_graph(pattern)
    n = pattern.number_of_nodes() if isinstance(pattern, nx.Graph) else 0
    out = set()
    if 3 <= n <= LARGEST:
        for walk in permutations(pattern.nodes):
            if all(pattern.has_edge(walk[i - 1], walk[i]) for i in range(n)):
                pairs = combinations(range(n), 2)
                out.add((n, frozenset(p for p in pairs if pattern.has_edge(*(walk[i] for i in p)))))
    if not out:
        raise GraphError(
            f"Expected patterns as networkx graphs of 3 to {LARGEST} vertices with a cycle through "
            f"all of them, got {pattern!s:.80}; for other shapes list the vertices of each "
            f"occurrence and pass them to mpsn.lifting.hypergraph_complex."
        )
    return out


def _cycles(
    around: Neighbors, edges: Tensor, shape: Shape, induced: bool, budget: Budget
) -> Tensor:
    """Return the occurrences of a shape (m, width), walked from their smallest vertex.

    All walks around a pattern are among its shapes: so it is enough to walk a cycle of the graph in
    one way, from its smallest vertex to the smaller of that vertex's two neighbors.
    """
    width, wanted = shape

    def judge(rows: Tensor) -> tuple[Tensor, Tensor]:
        last = rows.shape[1] - 1
        fits = (rows[:, 0] < rows[:, -1]) & (rows[:, 1:-1] != rows[:, -1:]).all(dim=1)
        if last + 1 == width:
            fits &= rows[:, 1] < rows[:, -1]
        for i in range(last - 1):  # the last step is along an edge
            if induced or (i, last) in wanted:
                left = fits.nonzero()[:, 0]
                near = around.find(rows[left, i], rows[left, -1])[0]
                fits[left] = near == ((i, last) in wanted)
        done = fits if last + 1 == width else torch.zeros_like(fits)
        return fits ^ done, done

    chunks = partial(grow, edges, around, judge, budget)
    cycles = listed(chunks, budget, _cost, "smaller patterns, ")
    return cycles.get(width, edges.new_zeros((0, width)))


def _cost(width: int) -> int:
    """Return the bytes of a cycle, while its edges are found."""
    return 64 * width + 8
