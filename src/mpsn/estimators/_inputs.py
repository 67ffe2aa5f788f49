"""From graphs of any kind to complexes with features."""

import os
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.packages import is_pyg
from mpsn.complexes import CellComplex, ComplexDataset, collate
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import labels_by_complex
from mpsn.convert import Graph
from mpsn.errors import GraphError, LeftOut
from mpsn.estimators._features import Encoding, Wanted, attributes, find_encoding, lines
from mpsn.estimators._given import Notes, Read, drop_lifted, read, tables
from mpsn.lifting import Lift, lift_features

Prepared = tuple[ComplexDataset[Any], Encoding]
CHUNK = 1000  # graphs that are read, lifted and predicted at a time


def prepare(
    graphs: Iterable[object],
    max_dim: int,
    encoding: Encoding | None = None,
    wanted: Wanted = "auto",
    notes: Notes | None = None,
    lift: Lift | None = None,
) -> Prepared:
    """Read graphs, lift them, and give all cells features; see :func:`encoded`."""
    data, encoding = encoded(graphs, max_dim, encoding, wanted, notes, lift)
    return ComplexDataset(with_means(data.union, max_dim)), encoding


def encoded(
    graphs: Iterable[object],
    max_dim: int,
    encoding: Encoding | None = None,
    wanted: Wanted = "auto",
    notes: Notes | None = None,
    lift: Lift | None = None,
) -> Prepared:
    """Read graphs, lift them, and give cells features of their own; :func:`with_means` adds others.

    ``graphs`` are networkx graphs, PyG ``Data``, complexes, paths of files of one graph each, or
    anything that :func:`mpsn.clique_complex` takes. The ``encoding`` of features defaults to what
    is found in these graphs, where ``wanted``; the ``lift`` to cliques. What is left out is counted
    in ``notes``.
    """
    notes = Notes() if notes is None else notes
    every = [read(graph, notes) for graph in graphs]
    union = lift_all(every, lift or Lift("cliques", max_dim=max(max_dim, 1)))
    host = union.to("cpu")
    if above := sum(host.counts[max(max_dim, 1) + 1 :]):
        notes["cells of higher dimension", f"max_dim is {max_dim}"] += above
    given = tables(host, every, None if encoding is None else encoding.directed, notes)
    counts = [host.count(k) for k in range(max_dim + 1)]
    if encoding is None:
        seen = sum((attributes(k, table) for k, table in enumerate(given.columns)), ())
        drop_lifted(given, host)
        encoding, own = find_encoding(given, counts, wanted, notes)
        encoding = replace(encoding, seen=seen)
    else:
        own = encoding.encode(given, counts, notes)
    own = [x.to(union.device) for x in own]
    return ComplexDataset(union.bare().skeleton(max_dim).replace(x=own)), encoding


def with_means(K: Complex, max_dim: int) -> Complex:
    """Put the means of the vertices' features before those of edges and higher cells."""
    means = lift_features(K.replace(x=K.x[:1]), "mean", max_dim).x
    both = zip(means, K.x, strict=True)
    parts = [[t for t in pair[: 2 if k else 1] if t is not None] for k, pair in enumerate(both)]
    return K.replace(x=[p[0] if len(p) == 1 else torch.cat(p, dim=1) for p in parts])


def growth(K: Complex, most: Sequence[int]) -> NDArray[np.float64]:
    """Return how many times more cells each complex has than any of a fit, (C,), at least 1."""
    sizes = zip(range(len(K.counts)), most, strict=False)
    times = [K.ptr(k).diff().cpu().numpy() / max(many, 1) for k, many in sizes]
    return np.maximum(1.0, np.max(times, axis=0)) if times else np.ones(K.num_complexes)


def say(notes: Notes) -> None:
    """Warn about everything that was left out."""
    for line in lines(notes):
        warnings.warn(f"{line}.", LeftOut, stacklevel=3)


def vertex_names(graph: object) -> tuple[Hashable, ...] | None:
    """Return the user's names of the vertices of a graph; None if they are 0, 1, ..."""
    found = read(graph, Notes()).graph
    return found.vertex_labels if isinstance(found, Complex) else found.labels


def check_many(graphs: object) -> None:
    """Refuse a single graph; some kinds of graph can be iterated over too."""
    one = (str, os.PathLike, nx.Graph, Complex, Graph)
    many = hasattr(graphs, "__iter__") and not hasattr(graphs, "edge_index")
    if isinstance(graphs, (Tensor, np.ndarray)):  # points, an image, edges; or an array of objects
        many = graphs.ndim != 2 or graphs.dtype == object
    if isinstance(graphs, one) or not (many or is_pyg(graphs, "Dataset")):
        raise GraphError(
            f"Expected a list of graphs, got one {type(graphs).__name__}; put it into a list."
        )


def lift_all(every: Sequence[Read], lift: Lift) -> Complex:
    """Return the union of complexes; all graphs among them are lifted together."""
    flat = [g.graph for g in every if isinstance(g.graph, Graph)]
    lifted: ComplexDataset[Complex] = lift.many(
        [(graph.edge_index, graph.num_nodes) for graph in flat]
    )
    for graph, n in zip(flat, lifted.union.ptr(0).diff().tolist(), strict=True):
        if n != graph.num_nodes:
            raise GraphError(
                f"Expected a lift that keeps the {graph.num_nodes} vertices of a graph, got {n}."
            )
    if len(flat) == len(every):
        return lifted.union
    new = iter(lifted)
    parts = [g.graph.bare() if isinstance(g.graph, Complex) else next(new) for g in every]
    if len(parts) == 1:  # which may be large: no copy
        return parts[0]
    mixed = len({type(K) for K in parts}) > 1
    return collate(map(CellComplex.from_complex, parts) if mixed else parts)


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
    """Return the targets that PyG data and complexes carry: (n,), or (n, targets) of several."""
    found: list[list[float]] = []
    rows = labels_by_complex(graphs) if isinstance(graphs, ComplexDataset) else None
    if rows is not None and rows.shape[1]:
        found = rows.tolist()
    for i, graph in enumerate(graphs if not found else ()):
        y = getattr(graph, "y", None)
        row = None if y is None else torch.as_tensor(y).reshape(-1)
        if row is None or not len(row) or (found and len(row) != len(found[0])):
            kind = "a complex" if isinstance(graph, Complex) else type(graph).__name__
            raise GraphError(
                f"Expected targets y, or graphs with as many targets each, got {kind} with "
                f"{0 if row is None else len(row)} at index {i}; pass y."
            )
        found.append(row.tolist())
    return np.array(found).squeeze(1) if found and len(found[0]) == 1 else np.array(found)


def as_complexes(graphs: Iterable[object], lift: Lift) -> Iterable[object]:
    """Return complexes, where a lift takes other data than the edges of graphs."""
    if lift.takes_edges:
        return graphs
    return [graph if isinstance(graph, Complex) else lift(graph) for graph in graphs]
