"""The graphs of a TU set one by one, with all labels and attributes of vertices and edges."""

import itertools
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from mpsn._files.limits import Limit
from mpsn.convert import Graph
from mpsn.datasets._files import AnyGraph
from mpsn.datasets._tu_raw import Integers, Numbers, RawGraphs

GRAPH_BYTES, VERTEX_BYTES, EDGE_BYTES = 1000, 1500, 700  # of Python objects


def split_raw(raw: RawGraphs) -> Iterator[AnyGraph]:
    """Yield the graphs of a set one by one, with all that is known of vertices and edges.

    Labels or attributes become x and edge_attr; if vertices or edges have both, they become the
    attributes ``label`` and ``attribute`` of networkx graphs, so that each keeps its type.
    """
    n, m, graphs = len(raw.owner), len(raw.edges), len(raw.targets)
    both = raw.labels is not None and raw.attributes is not None
    both |= raw.edge_labels is not None and raw.edge_attributes is not None
    need = GRAPH_BYTES * graphs + (VERTEX_BYTES * n + EDGE_BYTES * m) * both
    Limit.of(raw.name, raw.size).check(need, f"{graphs:,} graphs, {n:,} vertices, {m:,} edges")
    numbers = np.arange(graphs + 1)
    starts = np.searchsorted(raw.owner, numbers).tolist()
    owner = raw.owner[raw.edges[:, 0]]
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], numbers).tolist()
    edges = raw.edges[order]
    tables = [
        raw.labels,
        raw.attributes,
        *(
            None if table is None else table[order]
            for table in (raw.edge_labels, raw.edge_attributes)
        ),
    ]
    for i, (start, stop) in enumerate(itertools.pairwise(starts)):
        ends, here = slice(cuts[i], cuts[i + 1]), slice(start, stop)
        own = edges[ends] - start
        labels, values, edge_labels, edge_values = (
            None if table is None else table[part]
            for table, part in zip(tables, (here, here, ends, ends), strict=True)
        )
        if both:
            yield _with_attributes(own, stop - start, labels, values, edge_labels, edge_values)
        else:
            x, attr = (_tensor(a, b) for a, b in ((labels, values), (edge_labels, edge_values)))
            yield Graph(torch.from_numpy(np.ascontiguousarray(own.T)), stop - start, x, attr)


def _tensor(labels: Integers | None, values: Numbers | None) -> Tensor | None:
    if labels is not None:
        return torch.from_numpy(labels.copy())
    return None if values is None else torch.from_numpy(values.astype(np.float32))


def _with_attributes(
    edges: Integers,
    n: int,
    labels: Integers | None,
    values: Numbers | None,
    edge_labels: Integers | None,
    edge_values: Numbers | None,
) -> "nx.Graph[int]":
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(enumerate(_named(labels, values, n)))
    data = _named(edge_labels, edge_values, len(edges))
    for (u, v), attributes in zip(edges.tolist(), data, strict=True):
        if not graph.has_edge(u, v):  # the first listing counts
            graph.add_edge(u, v, **attributes)
    return graph


def _named(labels: Integers | None, values: Numbers | None, n: int) -> Iterator[dict[str, Any]]:
    columns = {}
    for word, table in (("label", labels), ("attribute", values)):
        if table is not None:
            width = table.shape[1]
            for i, column in enumerate(table.T.tolist()):
                columns[word if width == 1 else f"{word}_{i}"] = column
    return (
        (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        if (columns)
        else ({} for _ in range(n))
    )
