"""Inputs of the tests: graphs, and initial colors from dimension, features or the caller."""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.packages import is_pyg
from mpsn.complexes import ComplexDataset, collate
from mpsn.complexes.complex import Complex
from mpsn.convert import CleanGraphs, Graph, as_graph, clean_graphs
from mpsn.errors import ColoringError

NAN = "Expected initial colors that equal themselves, got NaN; use a number in its place."
WIDER = {  # types that torch or numpy cannot work with, and where their values stay different
    torch.uint16: torch.int64,
    torch.uint32: torch.int64,
    torch.uint64: torch.int64,
    torch.bfloat16: torch.float32,
}


def is_one(graphs: object) -> bool:
    """Return whether this is one graph, not a list; a pair (edge_index, num_nodes) is one graph."""
    if isinstance(graphs, tuple) and len(graphs) == 2:
        return isinstance(graphs[1], (int, np.integer))
    is_list = isinstance(graphs, Sequence) or is_pyg(graphs, "Dataset")
    return isinstance(graphs, Graph) or not is_list


def read(graphs: object) -> CleanGraphs:
    """Read one graph or many, of any supported type, and refuse graphs without vertices."""
    clean = clean_graphs([graphs] if is_one(graphs) else graphs)  # type: ignore[arg-type]
    check_vertices(clean.ptr.diff(), "graph")
    return clean


def bare(graphs: Sequence[object]) -> list[tuple[Tensor, int]]:
    """Drop features and labels, whose shapes may differ between graphs."""
    return [(graph.edge_index, graph.num_nodes) for graph in map(as_graph, graphs)]


def check_vertices(sizes: Tensor, what: str) -> None:
    """Refuse complexes or graphs without vertices: there is nothing to color."""
    if bool((sizes == 0).any()):
        number = int((sizes == 0).nonzero()[0])
        raise ColoringError(
            f"Expected at least one vertex, got none in {what} {number}; leave it out."
        )


def union_of(complexes: object, with_features: bool = False) -> Complex:
    """Join complexes, without what the test ignores: labels, orientations, features."""
    if isinstance(complexes, ComplexDataset):
        complexes = complexes.union
    elif isinstance(complexes, Sequence) and all(isinstance(K, Complex) for K in complexes):
        complexes = collate(
            [K.bare().replace(x=K.x) if with_features else K.bare() for K in complexes]
        )
    if not isinstance(complexes, Complex):
        raise ColoringError(
            f"Expected complexes, got {complexes!r:.60}; lift graphs with mpsn.clique_complexes or "
            f"another lift."
        )
    check_vertices(complexes.ptr(0).diff(), "complex")
    return complexes


class Initial(NamedTuple):
    """Initial colors of one level: a number per receiver, and what each number stands for."""

    ids: Tensor
    keys: Sequence[Hashable]


def uniform(n: int, device: torch.device) -> Initial:
    """Give all n receivers of a level one color."""
    return Initial(torch.zeros(n, dtype=torch.int64, device=device), [b""] if n else [])


def from_rows(rows: Tensor) -> Initial:
    """Color by rows of numbers, (n,) or (n, F): equal rows, equal colors."""
    table = rows.reshape(len(rows), -1).to(WIDER.get(rows.dtype, rows.dtype))
    if bool(table.isnan().any()):
        raise ColoringError(NAN)
    if table.shape[1] == 0:
        return uniform(len(rows), rows.device)
    values, ids = torch.unique(table, dim=0, return_inverse=True)
    return Initial(ids, [row.tobytes() for row in (values + 0).cpu().numpy()])


def from_values(values: Sequence[Hashable]) -> Initial:
    """Color by values that can be sorted and hashed."""
    try:
        if any(isinstance(value, Tensor) for value in values):
            raise TypeError("tensors hash by identity")
        keys = sorted(set(values))  # type: ignore[type-var]
    except TypeError as error:
        raise ColoringError(
            f"Expected initial colors that can be sorted and hashed, got {values[0]!r:.40} and "
            f"others; use numbers or strings."
        ) from error
    if any(key != key for key in keys):
        raise ColoringError(NAN)
    rank = {key: i for i, key in enumerate(keys)}
    return Initial(torch.tensor([rank[value] for value in values], dtype=torch.int64), keys)


def kind_of(colors: Any) -> str:
    """Name the type of initial colors, so that different types are not compared."""
    if colors is None:
        return "none"
    if isinstance(colors, Tensor):
        width = colors.reshape(len(colors), -1).shape[1] if len(colors) else None
        return f"{colors.dtype}" if width in (None, 1) else f"{colors.dtype} rows of {width}"
    return " and ".join(sorted({type(color).__name__ for color in colors})) or "nothing"


def of_vertices(colors: Any, sizes: Sequence[int]) -> tuple[Initial, str]:
    """Return the initial colors of vertices given per graph, and their common type.

    Args:
        colors: One entry per graph: a tensor or array, (n,) or (n, F), or n values.
        sizes: Number of vertices of each graph.
    """
    if isinstance(colors, (Mapping, Set)) or not isinstance(colors, Iterable):
        raise ColoringError(
            f"Expected a list of vertex colors, one entry per graph, got {colors!r:.60}."
        )
    colors = [_readable(part, i) for i, part in enumerate(colors)]
    if len(colors) != len(sizes):
        raise ColoringError(
            f"Expected vertex colors for each of {len(sizes)} graphs, got {len(colors)} entries; "
            f"give one sequence per graph."
        )
    for i, (part, n) in enumerate(zip(colors, sizes, strict=True)):
        if len(part) != n:
            raise ColoringError(
                f"Expected {n} vertex colors for graph {i}, got {len(part)}; give one per vertex."
            )
    kinds = sorted({kind_of(part) for part in colors})
    if len(kinds) > 1 or " and " in kinds[0]:
        raise ColoringError(
            f"Expected initial colors of one type, got {', '.join(kinds)}; "
            f"convert them, or use numbers for all."
        )
    if isinstance(colors[0], Tensor):
        return from_rows(torch.cat([part.reshape(len(part), -1) for part in colors])), kinds[0]
    return from_values([color for part in colors for color in part]), kinds[0]


def _readable(colors: Any, number: int) -> Any:
    """Return the colors of one graph as a tensor or a collection in vertex order."""
    if isinstance(colors, np.ndarray) and colors.ndim:
        if colors.dtype.kind not in "biuf":
            return colors.tolist()
        return torch.from_numpy(np.array(colors, colors.dtype.newbyteorder("=")))
    unordered = isinstance(colors, (Mapping, Set)) or not hasattr(colors, "__len__")
    if unordered or getattr(colors, "ndim", 1) == 0:
        raise ColoringError(
            f"Expected the colors of graph {number} as a tensor, array or list, one per vertex in "
            f"the order of its vertices, got {colors!r:.60}; of a dict, use [colors[v] for v in G]."
        )
    return colors
