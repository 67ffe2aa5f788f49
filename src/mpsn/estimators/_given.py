"""What graphs of any kind say about their vertices, edges and simplices, as tables of columns."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._rows.packages import is_pyg
from mpsn.complexes.complex import Complex
from mpsn.convert import Graph, as_graph
from mpsn.datasets import category_names, graph_suffix, is_molecule, iter_graphs, molecule_graph
from mpsn.errors import GraphError
from mpsn.lifting.features import vertices as vertices_of

Values = NDArray[Any]  # of numbers, or of objects with None where there is no value
Notes = Counter[tuple[str, str]]  # how many of what were left out, and why

PYG = {"x", "edge_index", "edge_attr", "edge_weight", "y", "num_nodes"}


class Read(NamedTuple):
    """One graph or complex, and the attributes (rows, ...) of its vertices, edges, ..., by name.

    The columns of ``edges`` (2, rows) may repeat an edge. They stand for edges in ``"both"``
    directions or in ``"one"``, or for either, if an undirected edge should be ``"listed"`` twice.
    """

    graph: Complex | Graph
    attributes: list[dict[str, Values]]
    edges: Tensor
    ways: Literal["both", "one", "listed"]


class Tables(NamedTuple):
    """What all graphs of a union say: per dimension, the columns (rows,) by name.

    Rows are cells, except that an edge may have several: ``edge`` (rows,) says which has it.
    ``lacking`` holds names of attributes, with the first graph without. ``one_way`` and
    ``parallel`` are the numbers of edges with a direction, and of multiple edges.
    """

    columns: list[dict[str, Values]]
    lacking: list[dict[str, int]]
    edge: Tensor
    one_way: int
    parallel: int


def read(graph: object, notes: Notes) -> Read:
    """Read a graph or complex; a path is opened, and other words are SMILES of a molecule."""
    if means_molecule(graph):
        plain = molecule_graph(graph)
        return Read(plain, list(category_names(plain)), plain.edge_index, "both")
    if isinstance(graph, (str, os.PathLike)):
        found = list(iter_graphs(graph))
        if len(found) != 1:
            raise GraphError(
                f"Expected one graph in {graph}, got {len(found)}; read them with mpsn.read_graphs."
            )
        return read(found[0], notes)
    if isinstance(graph, Complex):
        if graph.num_complexes != 1:
            raise GraphError(
                f"Expected single complexes, got a union of {graph.num_complexes}; "
                f"split it with to_list()."
            )
        rows = [{} if x is None else {name(k): _matrix(x)} for k, x in enumerate(graph.x)]
        return Read(graph, rows, _edges(graph).cpu(), "both")
    plain = as_graph(graph)
    vertices = {} if plain.x is None else {"x": _matrix(plain.x)}
    edges = {} if plain.edge_attr is None else {"edge_attr": _matrix(plain.edge_attr)}
    ways: Literal["both", "one", "listed"] = "both"
    if isinstance(graph, nx.Graph):
        vertices = _attributes([row for _, row in graph.nodes(data=True)])
        edges = _attributes([row for _, _, row in graph.edges(data=True)])
        ways = "one" if graph.is_directed() else "both"
    elif is_pyg(graph, "Data"):
        ways = "listed"
        if (weight := graph.get("edge_weight")) is not None:
            edges["edge_weight"] = _matrix(weight)
        for key in sorted(set(graph.keys()) - PYG):
            notes[f"graphs with {key!r}", "only x, edge_attr and edge_weight are used"] += 1
    elif scipy.sparse.issparse(graph):
        ways, data = "listed", scipy.sparse.coo_array(graph).data
        edges = {"weight": data[data != 0]} if (data[data != 0] != 1).any() else {}
    ends = plain.edge_index.cpu().long()
    keep = ends[0] != ends[1]
    if loops := int((~keep).sum()):
        notes["self-loops", "the vertices of a simplex are distinct"] += loops
        ends, kept = ends[:, keep], keep.numpy()
        edges = {key: values[kept] for key, values in edges.items()}
    return Read(plain, [vertices, edges], ends, ways)


def means_molecule(graph: object) -> bool:
    """Return whether a graph is RDKit's, or SMILES: a word that does not look like a file."""
    if not isinstance(graph, str):
        return is_molecule(graph)
    return not os.path.exists(graph) and graph_suffix(Path(graph)) is None  # noqa: PTH110 (of any length)


def name(k: int) -> str:
    """Return the name of the features of the k-cells that come as a matrix."""
    return ("x", "edge_attr")[k] if k < 2 else f"x[{k}]"


def tables(union: Complex, graphs: Sequence[Read], directed: bool | None, notes: Notes) -> Tables:
    """Gather the columns of all graphs, whose union is given, and add those of their structure.

    ``directed`` says whether a missing second listing of an edge gives it a direction. Defaults to
    whether there are edges that are listed twice.
    """
    offsets, sizes = union.ptr(0).tolist(), [graph.edges.shape[1] for graph in graphs]
    lacking: list[dict[str, int]] = [{} for _ in range(max(union.dim, 1) + 1)]
    columns = [
        _gather(graphs, k, sizes if k == 1 else union.ptr(k).diff().tolist(), lacking[k])
        for k in range(len(lacking))
    ]
    parts = [graph.edges + at for graph, at in zip(graphs, offsets, strict=False)]
    ends = torch.cat([torch.zeros(2, 0, dtype=torch.int64), *parts], dim=1)  # (2, rows)
    edges = _edges(union)
    edge = _find(edges, ends, union.num_nodes)
    ways = (ends[0] < ends[1], ends[0] > ends[1])
    count = torch.stack([torch.bincount(edge[way], minlength=edges.shape[1]) for way in ways])
    one_way = count.min(dim=0).values == 0
    both, listed = (
        torch.tensor([graph.ways == kind for graph in graphs], dtype=torch.bool).repeat_interleave(
            union.ptr(1).diff()
        )
        for kind in ("both", "listed")
    )
    if directed is None:
        directed = bool((listed & ~one_way).any())
    if not directed:
        if ignored := int((listed & one_way).sum()):
            notes[
                "edges listed in one direction",
                "taken as undirected, like all; directions are those of networkx.DiGraph",
            ] += ignored
        both = both | listed
    one_way = one_way & ~both
    n = union.num_nodes
    starts = [edges[way][(count[way] > 0) | ~one_way] for way in (0, 1)]
    multiplicity = count.max(dim=0).values
    vertices = {
        "constant": torch.ones(n),
        "degree": torch.bincount(edges.reshape(-1), minlength=n),
        "out_degree": torch.bincount(torch.cat(starts), minlength=n),
    }
    listings = {"both_ways": (~one_way).long()[edge], "multiplicity": multiplicity[edge]}
    rings = {"ring_size": union.incidence(2).offsets.diff()} if union.dim > 1 else {}
    for given, structure in zip(columns, (vertices, listings, rings), strict=False):
        for key, values in structure.items():
            given.setdefault(key, values.numpy())
    return Tables(columns, lacking, edge, int(one_way.sum()), int((multiplicity > 1).sum()))


def _find(edges: Tensor, ends: Tensor, n: int) -> Tensor:
    """Return which of ``edges`` (2, n_1), of ascending ends, each of ``ends`` (2, rows) is."""
    keys, order = (edges[0] * n + edges[1]).sort()
    wanted = ends.min(dim=0).values * n + ends.max(dim=0).values
    at = torch.searchsorted(keys, wanted).clamp(max=max(len(keys) - 1, 0))
    if len(wanted) and (not len(keys) or bool((keys[at] != wanted).any())):
        raise GraphError("Expected a lift that keeps all edges of a graph, got one without some.")
    return order[at]


def _edges(K: Complex) -> Tensor:
    """Return the ends of the edges, (2, n_1), ascending."""
    return K.incidence(1).table.sort(dim=1).values.T


def _matrix(x: Tensor) -> Values:
    x = x.detach().cpu()
    x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return x.reshape(len(x), -1).numpy() if x.numel() else np.zeros((len(x), 0))


def _attributes(rows: Sequence[dict[Any, Any]]) -> dict[str, Values]:
    names = dict.fromkeys(key for row in rows for key in row)
    return {str(key): _objects([row.get(key) for row in rows]) for key in names}


def _objects(values: Iterable[Any]) -> Values:
    """Return plain values (rows,), or (rows, F) if they are lists of one length."""
    plain = [
        value.tolist() if isinstance(value, (Tensor, np.ndarray, np.generic)) else value
        for value in values
    ]
    present = [value for value in plain if value is not None]
    many = {len(value) if isinstance(value, (list, tuple)) else -1 for value in present}
    width = many.pop() if len(many) == 1 else -1
    shape = (len(plain),) if width < 0 else (len(plain), width)
    out = np.full(shape, None, dtype=object)
    for i, value in enumerate(plain):
        if value is not None:
            out[i] = value
    return out


def _gather(
    graphs: Sequence[Read], k: int, sizes: Sequence[int], lacking: dict[str, int]
) -> dict[str, Values]:
    """Join the attributes of the k-cells of all graphs, and split matrices into columns."""
    given = [graph.attributes[k] if k < len(graph.attributes) else {} for graph in graphs]
    columns: dict[str, Values] = {}
    for key in dict.fromkeys(key for part in given for key in part):
        parts = [part.get(key) for part in given]
        shapes = {part.shape[1:] for part in parts if part is not None and len(part)}
        if len(shapes) > 1:
            widths = sorted(shape[0] if shape else 1 for shape in shapes)
            raise GraphError(
                f"Expected {key!r} of one width in all graphs, got widths {widths[0]} and "
                f"{widths[-1]}."
            )
        shape = next(iter(shapes), ())
        whole = np.concatenate(
            [
                np.full((size, *shape), None) if part is None or not len(part) else part
                for part, size in zip(parts, sizes, strict=True)
                if size
            ]
            or [np.zeros((0, *shape))]
        )
        split = {f"{key}.{j}": whole[:, j] for j in range(shape[0])} if shape else {key: whole}
        columns |= split
        without = (i for i, size in enumerate(sizes) if size and parts[i] is None)
        if (first := next(without, None)) is not None:
            lacking |= dict.fromkeys(split, first)
    return columns


def drop_lifted(given: Tables, union: Complex) -> None:
    """Drop features of cells that are the means, or sums, of their vertices', or sizes of rings."""
    rings = given.columns[2] if len(given.columns) > 2 else {}
    if np.array_equal(rings.get("x[2].0", ()), rings.get("ring_size", ())):
        rings.pop("x[2].0", None)
    x = _stack(given.columns[0], "x")
    for k, columns in enumerate(given.columns[1:], start=1):
        own = _stack(columns, name(k))
        if x is None or own is None or x.shape[1] != own.shape[1]:
            continue
        corners = vertices_of(union, k)
        total = corners.from_faces(torch.from_numpy(x.astype(np.float64))).numpy()
        many = corners.offsets.diff()[:, None].numpy()
        if k == 1:
            total, many = total[given.edge], many[given.edge]
        if np.allclose(own, total) or np.allclose(own, total / many):
            for j in range(own.shape[1]):
                del columns[f"{name(k)}.{j}"]


def _stack(columns: dict[str, Values], matrix: str) -> Values | None:
    """Return the columns of a matrix of numbers side by side; None if there is no such matrix."""
    parts = [columns[key] for key in columns if key.startswith(f"{matrix}.")]
    return np.stack(parts, axis=1) if parts and parts[0].dtype != object else None
