"""Hypothesis strategies: random graphs and complexes, including edge cases."""

from itertools import product
from typing import Any, Literal

import networkx as nx
import torch
from hypothesis import strategies as st

from mpsn.complexes import CellComplex, CubicalComplex, SimplicialComplex
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
    kind: Literal["simplicial", "cell", "cubical"] = "simplicial",
) -> Any:
    """Draw a complex: a clique complex, or the closure of random simplices, cubes or polygons.

    Args:
        draw: Passed in by hypothesis.
        max_vertices: Largest number of vertices.
        max_dim: Largest dimension.
        features: Width of random float64 features in every dimension. Defaults to no features.
        oriented: Whether to flip cells at random.
        kind: ``"simplicial"``, ``"cell"`` or ``"cubical"``. Defaults to ``"simplicial"``.
    """
    K: Any
    if kind == "cubical":
        K = draw(_cubes(max_vertices, max_dim))
    elif kind == "cell":
        K = draw(_polygons(max_vertices) if max_dim > 1 and draw(st.booleans()) else st.none())
        if K is None:
            other: Any = draw(st.sampled_from(["simplicial", "cubical"]))
            K = CellComplex.from_complex(draw(complexes(max_vertices, max_dim, kind=other)))
    elif draw(st.booleans()):
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


@st.composite
def _polygons(draw: st.DrawFn, max_vertices: int) -> CellComplex:
    """Draw a graph with some of its cycles as 2-cells."""
    graph = draw(graphs(max_vertices))
    edges = [tuple(sorted(edge)) for edge in graph.edges]
    number = {edge: i for i, edge in enumerate(edges)}
    cycles = [
        [number[min(u, v), max(u, v)] for u, v in zip(c, c[1:] + c[:1], strict=True)]
        for c, _ in zip(nx.simple_cycles(graph, length_bound=6), range(20), strict=False)
    ]
    kept = draw(st.lists(st.sampled_from(cycles), unique_by=frozenset)) if cycles else []
    return CellComplex.from_boundaries(len(graph), [edges, kept])


@st.composite
def _cubes(draw: st.DrawFn, max_vertices: int, max_dim: int) -> CubicalComplex:
    """Draw cubes of a grid and all their faces. A cube is a product of points and intervals."""
    axes = draw(st.integers(0, max(0, min(max_dim, max_vertices.bit_length() - 1))))
    points = list(product(range(3), repeat=axes))  # an odd coordinate is an interval
    cubes = set(draw(st.lists(st.sampled_from(points), max_size=4)))
    for cube in sorted(cubes, key=_dim, reverse=True):
        cubes |= set(product(*([c] if c % 2 == 0 else [0, 1, 2] for c in cube)))
    levels = [sorted(c for c in cubes if _dim(c) == k) for k in range(axes + 1)]
    number = {cube: i for level in levels for i, cube in enumerate(level)}
    tables = [[[number[face] for face in _faces(c)] for c in level] for level in levels[1:]]
    return CubicalComplex(len(levels[0]), [table for table in tables if table])


def _dim(cube: tuple[int, ...]) -> int:
    return sum(c % 2 for c in cube)


def _faces(cube: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the faces as (front, back) along the first axis, (back, front) along the next, ..."""
    odd = [i for i, c in enumerate(cube) if c % 2]
    steps = [(i, (1, -1) if a % 2 == 0 else (-1, 1)) for a, i in enumerate(odd)]
    return [(*cube[:i], cube[i] + d, *cube[i + 1 :]) for i, pair in steps for d in pair]
