"""Parts of one large complex: what a network must see to compute its outputs on some cells."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor
from torch.utils.data import DataLoader

from mpsn._rows.checks import as_index, as_int, check_by_dimension
from mpsn._rows.packages import package
from mpsn.complexes._parts import extract
from mpsn.complexes.complex import Complex
from mpsn.complexes.incidence import Incidence
from mpsn.errors import ComplexError

C = TypeVar("C", bound=Complex)
Rows = list[Tensor]  # of each dimension: different numbers of cells, ascending


class Part(NamedTuple, Generic[C]):
    """A subcomplex around some cells.

    Attributes:
        complex: The subcomplex, with features and labels.
        rows: For each dimension, the numbers of its cells in the whole complex, ascending.
        seeds: For each dimension, the positions of the cells asked for in the subcomplex.
    """

    complex: C
    rows: tuple[Tensor, ...]
    seeds: dict[int, Tensor]


def neighborhood(
    K: C,
    cells: Mapping[int, Tensor],
    hops: int,
    *,
    upper: bool = True,
    lower: bool = False,
    fan_out: int | None = None,
    generator: torch.Generator | None = None,
) -> Part[C]:
    """Return the subcomplex that determines the output of ``hops`` layers on some cells.

    A layer that passes messages from boundaries, co-faces and upper adjacent cells, as SIN and CIN
    do, sees the faces and co-faces of a cell; with ``lower``, also the cells that share a face with
    it. The output of that many layers on ``cells`` is the same on the subcomplex as on the whole
    complex. Time is linear in the size of the subcomplex, not of the complex.

    Args:
        K: The complex.
        cells: For any dimension k, different numbers of k-cells.
        hops: Number of layers.
        upper: Whether layers use co-faces. Defaults to True.
        lower: Whether layers use lower adjacencies. Defaults to False.
        fan_out: Largest number of co-faces to follow from a cell, sampled at random; outputs are
            then estimates. Defaults to all.
        generator: Of the random numbers.

    Example:
        >>> K = mpsn.clique_complex(nx.path_graph(10))
        >>> part = mpsn.complexes.neighborhood(K, {0: torch.tensor([5])}, hops=2)
        >>> part.rows[0], part.seeds
        (tensor([3, 4, 5, 6, 7]), {0: tensor([2])})
    """
    check_by_dimension(cells, "the cells")
    seeds = {k: _cells(K, k, chosen) for k, chosen in cells.items()}
    nothing = torch.zeros(0, dtype=torch.int64, device=K.device)
    rows = [_join(seeds.get(k, nothing)) for k in range(max(K.dim, 0) + 1)]
    for _ in range(as_int(hops, "hops")):
        wider = list(rows)
        for k in range(K.dim if upper else 0):
            wider[k + 1] = _join(
                wider[k + 1], _cofaces(K.incidence(k + 1), rows[k], fan_out, generator)
            )
        for k in range(1, K.dim + 1 if lower else 0):
            B = K.incidence(k)
            wider[k] = _join(wider[k], _cofaces(B, _faces(B, rows[k]), fan_out, generator))
        rows = _closure(K, wider)
    rows = _closure(K, rows)
    positions = {k: torch.searchsorted(rows[k], seed) for k, seed in seeds.items()}
    return Part(extract(K, rows), tuple(rows), positions)


def _cells(K: Complex, k: int, chosen: object) -> Tensor:
    return as_index(chosen, K.count(k) if 0 <= k <= K.dim else 0, f"{k}-cells", K.device)


def _join(*rows: Tensor) -> Tensor:
    joined: Tensor = torch.unique(torch.cat(rows))
    return joined


def _faces(B: Incidence, rows: Tensor) -> Tensor:
    return _join(B.take(rows).face)


def _closure(K: Complex, rows: Rows) -> Rows:
    for k in range(K.dim, 0, -1):
        rows[k - 1] = _join(rows[k - 1], _faces(K.incidence(k), rows[k]))
    return rows


def _cofaces(
    B: Incidence, rows: Tensor, fan_out: int | None, generator: torch.Generator | None
) -> Tensor:
    entries = B.positions.take(rows)
    entry = entries.item
    if fan_out is not None and len(entry):
        key = torch.rand(len(entry), generator=generator, dtype=torch.float64).to(entry.device)
        shuffled = torch.argsort(entries.row + key)  # within each cell
        place = entries.spans.item - entries.offsets[entries.row]
        entry = entry[shuffled[place < fan_out]]
    if B.width is not None:
        return _join(entry // B.width)
    return _join(torch.searchsorted(B.offsets, entry, right=True) - 1)


class SubcomplexLoader(DataLoader[Any]):
    """Load the neighborhoods of cells of one large complex, batch after batch.

    Each batch is a :class:`~mpsn.complexes.Part`: the subcomplex on which ``hops`` layers have the
    same outputs on the batch's cells as on the whole complex.

    Args:
        K: The complex, in main memory.
        cells: Numbers of cells, to be divided into batches; or a list of batches, such as that of
            :func:`~mpsn.complexes.partition`.
        dim: The dimension of the cells.
        hops: Number of layers of the network.
        batch_size: Number of cells in a batch. Defaults to 1024.
        upper, lower, fan_out: Which neighbors are needed; see :func:`~mpsn.complexes.neighborhood`.
        seed: Of the samples that ``fan_out`` asks for; they do not depend on the number of worker
            processes then. Defaults to torch's own random numbers.
        **options: Of PyTorch's ``DataLoader``: ``shuffle``, ``num_workers``, ``pin_memory``, ...

    Example:
        >>> K = mpsn.clique_complex(nx.path_graph(10))
        >>> loader = mpsn.SubcomplexLoader(K, range(10), dim=0, hops=1, batch_size=5)
        >>> [part.complex.counts for part in loader]
        [(6, 5), (6, 5)]
    """

    def __init__(
        self,
        K: Complex,
        cells: Tensor | Sequence[int] | Sequence[Tensor],
        dim: int,
        hops: int,
        *,
        batch_size: int = 1024,
        upper: bool = True,
        lower: bool = False,
        fan_out: int | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        for k in range(1, K.dim + 1):
            _ = K.incidence(k).positions  # found once, before workers start
        divided = not isinstance(cells, Tensor) and any(isinstance(part, Tensor) for part in cells)
        which: dict[str, Any] = {"upper": upper, "lower": lower, "fan_out": fan_out}
        make = partial(_load, K, dim, seed, hops=hops, **which)
        super().__init__(
            cells if divided else _cells(K, dim, cells),  # type: ignore[arg-type]
            batch_size=None if divided else batch_size,
            collate_fn=make,
            **options,
        )


def _load(
    K: Complex, dim: int, seed: int | None, rows: Tensor | list[Tensor], **options: Any
) -> Part[Complex]:
    cells = rows if isinstance(rows, Tensor) else torch.stack(rows)
    random = None
    if seed is not None:
        random = torch.Generator().manual_seed(seed + int(cells[:1].sum()))  # one for each batch
    return neighborhood(K, {dim: cells}, generator=random, **options)


def partition(K: Complex, dim: int, parts: int) -> list[Tensor]:
    """Divide the cells of a dimension into parts with few neighbors in other parts, by METIS.

    Vertices are divided, and a cell goes with its first vertex. Needs the package ``pymetis``.

    Example:
        >>> K = mpsn.clique_complex(nx.path_graph(10))
        >>> sorted(part.tolist() for part in mpsn.complexes.partition(K, dim=0, parts=2))
        [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    """
    if as_int(parts, "parts") < 1:
        raise ComplexError(f"Expected parts >= 1, got {parts}.")
    metis, graph = package("pymetis"), _graph(K)
    _, part_of_vertex = metis.part_graph(parts, metis.CSRAdjacency(graph.indptr, graph.indices))
    vertex, start = K.cells(dim)
    part_of_cell = torch.tensor(part_of_vertex)[vertex[start[:-1]].cpu()]
    return [(part_of_cell == part).nonzero()[:, 0].to(K.device) for part in range(parts)]


def nearby(K: Complex, dim: int) -> Tensor:
    """Return a rank for each cell, (n_dim,) on the CPU; cells of similar rank share neighbors.

    That of a vertex of the cell, in the breadth-first order of Cuthill and McKee.

    Example:
        >>> from mpsn.complexes._sampling import nearby
        >>> edges = torch.tensor([[0, 3], [3, 1], [1, 2]]).T
        >>> nearby(mpsn.clique_complex((edges, 4)), 0)  # a path from 0 to 2
        tensor([3, 1, 0, 2])
    """
    order = reverse_cuthill_mckee(_graph(K), symmetric_mode=True)
    rank = torch.empty(K.num_nodes, dtype=torch.int64)
    rank[torch.from_numpy(order.astype(np.int64))] = torch.arange(len(order))
    cell = torch.arange(K.count(dim))
    for k in range(dim, 0, -1):
        B = K.incidence(k)
        cell = B.face[B.offsets[cell]].cpu()
    return rank[cell]


def _graph(K: Complex) -> csr_array:
    """Return the adjacency matrix of the vertices."""
    n = K.num_nodes
    ends = K.incidence(1).face.view(-1, 2).int().cpu().numpy()
    ones = np.ones(len(ends), dtype=np.int8)
    half = csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(n, n))
    return half + half.T
