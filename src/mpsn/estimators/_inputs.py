"""From graphs of any kind to complexes with features."""

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Dataset

from mpsn.complexes import ComplexDataset, SimplicialComplex, collate
from mpsn.complexes._graphs import Graph, as_graph
from mpsn.datasets._files import iter_graphs
from mpsn.errors import GraphError
from mpsn.estimators._features import FeatureRule, Vertices, find_rule
from mpsn.lifting import clique_complexes, lift_features

CHUNK = 1000  # graphs that are read, lifted and predicted at a time


def prepare(
    graphs: Iterable[object],
    max_dim: int,
    rule: FeatureRule | None = None,
    wanted: str | Sequence[str] = "auto",
) -> tuple[ComplexDataset, FeatureRule]:
    """Read graphs, lift them, and give all simplices the mean features of their vertices.

    ``graphs`` are networkx graphs, PyG ``Data``, complexes, paths of files of one graph each, or
    anything that :func:`mpsn.clique_complex` takes. The ``rule`` for vertex features defaults to
    what is found in these graphs, where ``wanted``.
    """
    read = [_open(graph) for graph in graphs]
    union = _lift(read, max_dim)
    vertices = [_vertices(graph) for graph in read]
    rule = rule or find_rule(union, vertices, wanted)
    x = rule.apply(union, vertices).to(union.device)
    bare = union.bare().skeleton(max_dim).replace(x=[x])  # complexes handed in may have more
    return ComplexDataset(lift_features(bare, "mean", max_dim)), rule


def vertex_names(graph: object) -> tuple[Hashable, ...] | None:
    """Return the user's names of the vertices of a graph; None if they are 0, 1, ..."""
    read = _open(graph)
    return read.vertex_labels if isinstance(read, SimplicialComplex) else as_graph(read).labels


def check_many(graphs: object) -> None:
    """Refuse a single graph; some kinds of graph can be iterated over too."""
    one = (str, os.PathLike, nx.Graph, SimplicialComplex, Graph)
    many = hasattr(graphs, "__iter__") and not hasattr(graphs, "edge_index")
    if isinstance(graphs, one) or not (many or isinstance(graphs, Dataset)):
        raise GraphError(
            f"Expected a list of graphs, got one {type(graphs).__name__}; put it into a list."
        )


def _open(graph: object) -> Any:
    """Return a graph or complex; a path is read."""
    if isinstance(graph, (str, os.PathLike)):
        found = list(iter_graphs(graph))
        if len(found) != 1:
            raise GraphError(
                f"Expected one graph in {graph}, got {len(found)}; read them with mpsn.read_graphs."
            )
        return found[0]
    if isinstance(graph, SimplicialComplex):
        if graph.num_complexes != 1:
            raise GraphError(
                f"Expected single complexes, got a union of {graph.num_complexes}; "
                f"split it with to_list()."
            )
        return graph
    return graph if isinstance(graph, nx.Graph) else as_graph(graph)


def _vertices(graph: Any) -> Vertices:
    if isinstance(graph, SimplicialComplex):
        return Vertices(graph.x[0] if graph.x else None)
    if not isinstance(graph, nx.Graph):
        return Vertices(graph.x)
    rows = [attributes for _, attributes in graph.nodes(data=True)]
    names = set(rows[0]).intersection(*rows) if rows else set()
    return Vertices(None, {str(name): [row[name] for row in rows] for name in names})


def _lift(read: Sequence[Any], max_dim: int) -> SimplicialComplex:
    """Return the union of complexes; all graphs among them are lifted together."""
    flat = [g for g in read if not isinstance(g, SimplicialComplex)]
    bare = [(graph.edge_index, graph.num_nodes) for graph in map(as_graph, flat)]
    lifted = clique_complexes(bare, max_dim)
    if len(flat) == len(read):
        return lifted.union
    new = iter(lifted)
    parts = [graph if isinstance(graph, SimplicialComplex) else next(new) for graph in read]
    return collate(K.bare() for K in parts)


def chunks(graphs: Iterable[object]) -> Iterator[Sequence[object]]:
    """Split graphs, or a stream of them, into parts of at most 1000."""
    if isinstance(graphs, ComplexDataset):
        for start in range(0, len(graphs), CHUNK):
            yield graphs[start : start + CHUNK]
        return
    rest = iter(graphs)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def targets_of(graphs: Sequence[object]) -> NDArray[Any]:
    """Return the targets that PyG data and complexes carry."""
    found = []
    for i, graph in enumerate(graphs):
        y = getattr(graph, "y", None)
        row = None if y is None else torch.as_tensor(y).reshape(-1)
        if row is None or len(row) != 1:
            kind = "a complex" if isinstance(graph, SimplicialComplex) else type(graph).__name__
            raise GraphError(
                f"Expected targets y, or graphs with one target each, got {kind} without at index "
                f"{i}; pass y."
            )
        found.append(row.item())
    return np.array(found)
