"""Individualization and refinement: mark vertices one after another, and refine."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from mpsn._rows.memory import available_memory, check_room
from mpsn._rows.rows import ends
from mpsn.complexes import ComplexDataset
from mpsn.complexes.complex import Complex
from mpsn.errors import ColoringError
from mpsn.wl import _partitions_cpu as cpu
from mpsn.wl._inputs import union_of
from mpsn.wl._partitions import Partition, Refiner, graphs_of
from mpsn.wl._refinement import Refinement

DELAY = 3.0  # seconds before a progress bar appears
SHIFT = 0  # bits of hashes that are dropped; with more, tests provoke collisions


def individualized(
    complexes: Complex | ComplexDataset | Sequence[Complex],
    depth: int = 1,
    *,
    branch: Literal["largest", "all"] = "largest",
) -> Refinement:
    r"""Individualize and refine: mark each vertex of a class in turn, refine, and go on from there.

    .. math:: c_0(K) = \mathrm{SWL}(K), \qquad
        c_d(K) = \big(\mathrm{SWL}(K), \{\!\{c_{d-1}(K_v) \mid v \in V\}\!\}\big)

    where V is the largest class of vertices of K that SWL cannot distinguish, the first by color if
    there are several, or all vertices, and :math:`K_v` is K with v marked besides those marked
    before. The cost is that of as many refinements as there are ways to choose ``depth`` vertices,
    n^depth at most. With all vertices it is at least as powerful as so many ``marks`` of
    :func:`swl`, and far faster.

    On complexes of dimension 1 this is color refinement of their graphs. A complex that has a color
    of its own, or is isomorphic to another one, is not branched any further.

    Args:
        complexes: The complexes to compare: one, a union, a list or a dataset.
        depth: How many vertices to mark one after another.
        branch: Which vertices to mark next, in turn: those of the "largest" class, or "all".

    Returns:
        A refinement with one color per complex. Its rounds are the depths 0, ..., ``depth``; it is
        ``stable`` if more depth can make no difference.

    Example:
        >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
        >>> graphs = mpsn.clique_complexes([hexagon, triangles], max_dim=1)
        >>> r = mpsn.wl.individualized(graphs, depth=2)
        >>> [r.classes(d).unique().tolist() for d in (0, 1)]
        [[0], [0, 1]]
        >>> r.refinements  # each graph alone, and once more, then with each of its vertices marked
        16
    """
    if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or depth < 0:
        raise ColoringError(f"Expected depth >= 0 as an integer, got {depth!r:.40}.")
    if branch not in ("largest", "all"):
        raise ColoringError(f"Expected branch 'largest' or 'all', got {branch!r:.40}.")
    union = union_of(complexes)
    graphs, counts = _graphs(union)
    alike: dict[tuple[int, ...], list[list[int]]] = {}
    for i, sizes in enumerate(counts.tolist()):
        alike.setdefault(tuple(sizes), []).append([i])
    classes = [_Class(copies, len(copies)) for copies in alike.values()]
    history: list[Tensor] = []
    refinements = used = 0
    for level in range(depth + 1):
        split = []
        for each in classes:
            if level and (len(each.copies) == 1 or not each.width):
                split.append(each)
                continue
            sizes = counts[each.copies[0][0]].tolist()
            tree = _Tree(graphs, sizes, level, each.width, branch == "all")
            split += tree.split(each)
            refinements += tree.refiner.refinements
        classes, colors = split, torch.empty(len(counts), dtype=torch.int64)
        for number, each in enumerate(classes):
            colors[[i for copies in each.copies for i in copies]] = used + number
        used += len(classes)
        history.append(colors.to(union.device))
    stable = not any(each.width for each in classes if len(each.copies) > 1)
    ptr = torch.arange(len(counts) + 1, device=union.device)
    colors_of_depths = tuple((colors,) for colors in history)
    return Refinement("individualized", colors_of_depths, (ptr,), stable, None, refinements)


def _graphs(union: Complex) -> tuple[cpu.Graphs, NDArray[np.int64]]:
    """Return graphs with the stable colors of complexes, and their numbers of cells by dimension.

    A complex of dimension 1 is the graph itself. Of others, all cells are vertices, with an edge
    from each cell to each of its faces: from there a cell hears of its upper neighbors, too.
    """
    levels = range(max(union.dim, 0) + 1) if union.dim > 1 else range(1)
    counts = torch.stack([union.ptr(k).diff().cpu() for k in levels], dim=1)  # (complexes, levels)
    first = ends(counts.sum(1))
    start = first[:-1, None] + counts.cumsum(1) - counts  # (complexes, levels)
    complex_of = [union.batch(k).cpu() for k in levels]

    def vertex(k: int, cell: Tensor) -> Tensor:
        own = complex_of[k][cell]
        return start[own, k] + cell - union.ptr(k).cpu()[own]

    if union.dim > 1:
        faces = [union.incidence(k) for k in levels[1:]]
        ends_of = [
            torch.stack([vertex(k, B.face.cpu()), vertex(k + 1, B.cell.cpu())], dim=1)
            for k, B in enumerate(faces)
        ]
        edges = torch.cat(ends_of)
    else:
        edges = vertex(0, union.incidence(1).table.cpu().reshape(-1, 2))
    dims = torch.arange(len(levels)).expand_as(counts).reshape(-1)
    color = torch.repeat_interleave(dims, counts.reshape(-1))
    return graphs_of(edges, color, first), counts.numpy()


class _Class(NamedTuple):
    """Complexes that share a color, in groups that are known to be isomorphic.

    ``width`` is the number of refinements that the next depth takes.
    """

    copies: list[list[int]]
    width: int


class _IsomorphicError(Exception):
    """A complex turned out to be isomorphic to another, which is the argument."""


class _Tree:
    """The ways to mark ``depth`` vertices of some complexes with equal numbers of cells."""

    def __init__(
        self, graphs: cpu.Graphs, counts: list[int], depth: int, width: int, every: bool
    ) -> None:
        n, self.vertices, self.depth, self.every = sum(counts), counts[0], depth, every
        self.refiner = Refiner(graphs, n)
        got = f"{width:,} refinements of {n} cells at depth {depth}"
        need, limit = width * (2 * n + 24), available_memory(torch.device("cpu"))
        check_room(need, limit, "partitions", got, "choose a smaller depth")
        self.kind = np.uint16 if n <= 1 << 16 else np.uint32
        self.used, self.wider = 0, 0  # partitions in the table; refinements of another depth
        self.table = self._room(16)
        self.colors: dict[bytes, int] = {}
        self.bar = tqdm(total=width, desc=f"Depth {depth}", delay=DELAY, leave=False)

    def split(self, each: _Class) -> list[_Class]:
        """Return the parts of a class that differ at this depth."""
        parts: dict[int, _Class] = {}
        merged: dict[int, list[int]] = {}
        for copies in each.copies:
            self.wider = 0
            try:
                stable = self.refiner.stable(copies[0])
                number = self.number(copies[0], stable)
                color = self.color(copies[0], stable, number, self.depth)
            except _IsomorphicError as error:
                merged[error.args[0]].extend(copies)
                merged[copies[0]] = merged[error.args[0]]
                continue
            merged[copies[0]] = copies
            groups, width = parts.get(color, _Class([], 0))
            parts[color] = _Class([*groups, copies], width + self.wider)
        self.bar.close()
        return list(parts.values())

    def color(self, i: int, partition: Partition, number: int, depth: int) -> int:
        """Return the color of a complex with some vertices marked, if ``depth`` more are."""
        s, size = cpu.choices(partition, self.vertices, self.every)
        if not depth:
            self.wider += size
            return number
        children = np.empty(size, np.int64)
        if depth == 1 and size:
            self.branch(i, partition, children)
        elif size:
            for j, v in enumerate(partition[cpu.ORDER, s : s + size].tolist()):
                child = self.refiner.single_out(i, v, partition)
                own = self.color(i, child, self.number(i, child), depth - 1)
                children[j] = own * self.refiner.graphs.n + partition[cpu.START, v]
        children.sort()
        key = np.array([depth, number]).tobytes() + children.tobytes()
        return self.colors.setdefault(key, len(self.colors))

    def branch(self, i: int, partition: Partition, children: NDArray[np.int64]) -> None:
        """Find the codes of the partitions with one vertex more marked."""
        self.reserve(len(children))
        self.used, done, wider, twin = cpu.branch(
            self.refiner.graphs,
            i,
            partition,
            self.vertices,
            self.every,
            self.refiner.work,
            self.table,
            self.used,
            SHIFT,
            children,
        )
        self.refiner.refinements += done
        self.wider += wider
        self.bar.update(done)
        if twin >= 0:
            raise _IsomorphicError(twin)

    def number(self, i: int, partition: Partition) -> int:
        """Return the number of a partition in the table."""
        self.reserve(1)
        number = cpu.number_of(
            self.refiner.graphs, i, partition, self.refiner.work, self.table, self.used, SHIFT
        )
        self.used = max(self.used, number + 1)
        return number

    def reserve(self, more: int) -> None:
        """Make room in the table."""
        size = len(self.table.hashes)
        if self.used + more > size:
            self.table = self._room(max(2 * size, self.used + more), self.table)

    def _room(self, size: int, old: cpu.Table | None = None) -> cpu.Table:
        """Return a table with room for some partitions, and those that there are."""
        slots = np.full(1 << (2 * size - 1).bit_length(), -1, np.int32)
        hashes, owners = np.empty(size, np.int64), np.empty(size, np.int32)
        table = cpu.Table(slots, hashes, owners, np.empty((size, self.refiner.graphs.n), self.kind))
        if old is not None:
            hashes[: self.used] = old.hashes[: self.used]
            owners[: self.used] = old.owners[: self.used]
            table.starts[: self.used] = old.starts[: self.used]
            cpu.rehash(table, self.used)
        return table
