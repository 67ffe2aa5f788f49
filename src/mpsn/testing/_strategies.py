"""Hypothesis strategies: random graphs and complexes, including edge cases."""

import networkx as nx
import torch
from hypothesis import strategies as st

from mpsn.complexes import SimplicialComplex
from mpsn.lifting import clique_complex


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 9) -> "nx.Graph[int]":
    """Draw a simple graph on vertices 0, 1, ..., from empty to complete."""
    n = draw(st.integers(0, max_nodes))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    kept = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    if draw(st.booleans()):  # dense graphs as often as sparse ones
        kept = set(pairs) - kept
    graph: nx.Graph[int] = nx.empty_graph(n)
    graph.add_edges_from(kept)
    return graph


@st.composite
def complexes(
    draw: st.DrawFn,
    max_vertices: int = 8,
    max_dim: int = 3,
    features: int | None = None,
    oriented: bool = False,
) -> SimplicialComplex:
    """Draw a complex: a clique complex, or the closure of random simplices.

    Args:
        draw: Passed in by hypothesis.
        max_vertices: Largest number of vertices.
        max_dim: Largest dimension.
        features: Width of random float64 features in every dimension. Defaults to no features.
        oriented: Whether to flip simplices at random.
    """
    if draw(st.booleans()):
        K = clique_complex(draw(graphs(max_vertices)), max_dim)
    else:
        n = draw(st.integers(0, max_vertices))
        simplex = st.lists(
            st.integers(0, n - 1), min_size=1, max_size=min(n, max_dim + 1), unique=True
        )
        K = SimplicialComplex.from_simplices(draw(st.lists(simplex, max_size=8)) if n else [], n)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31 - 1)))
    if features is not None:
        shapes = [(count, features) for count in K.counts]
        K = K.replace(x=[torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes])
    if oriented:
        dims = range(1, K.dim + 1)
        K = K.flip({k: torch.rand(K.count(k), generator=generator) < 0.5 for k in dims})
    return K
