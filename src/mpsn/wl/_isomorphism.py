"""An exact isomorphism check for small graphs."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse.csgraph
import torch
from torch import Tensor

from mpsn._rows.rows import Rows
from mpsn.errors import TooLargeError
from mpsn.lifting import clique_complexes
from mpsn.wl import _partitions_cpu as cpu
from mpsn.wl._inputs import bare, read
from mpsn.wl._partitions import Partition, Refiner, graphs_of
from mpsn.wl._refinement import Refinement
from mpsn.wl.simplices import swl

STEPS = 10**8  # neighbors visited before giving up: about 20 seconds
TOP = 3  # dimension of the clique complexes that give vertices their first colors

Bare = tuple[Tensor, int]


def isomorphic(G: object, H: object, *, max_steps: int | None = None) -> bool:
    """Return whether two graphs are isomorphic, by individualization and refinement.

    Exact, and fast even on strongly regular graphs that no test here can distinguish. Exponential
    at worst: then it gives up with a :class:`mpsn.errors.TooLargeError`.

    Connected components (of the complements, if the graphs are dense) are matched with each other.
    Vertices start with their SWL colors. While several vertices of a component of G share a color,
    one of them is singled out and matched with every vertex of that color in H in turn; matches
    that color refinement refutes are dropped.

    Args:
        G: A graph of any type that :func:`mpsn.clique_complex` takes.
        H: Another one.
        max_steps: Number of visits to neighbors before giving up. Defaults to 10^8.

    Example:
        >>> mpsn.wl.isomorphic(nx.path_graph(3), nx.star_graph(2))
        True
    """
    clean = read([G, H])
    sizes, edges = clean.ptr.diff().tolist(), clean.edges.cpu()
    second = edges[:, 0] >= sizes[0]
    if sizes[0] != sizes[1] or 2 * int(second.sum()) != len(edges):
        return False
    one = _components(edges[~second], sizes[0])
    two = _components(edges[second] - sizes[0], sizes[0])
    refined = swl(clique_complexes(one + two, TOP))
    labels, n = refined.classes().tolist(), len(one)
    if Counter(labels[:n]) != Counter(labels[n:]):
        return False
    search = _Search(one + two, refined, STEPS if max_steps is None else max_steps)
    parts = partition(labels, search.isomorphic)
    return all(2 * sum(i < n for i in part) == len(part) for part in parts)


def _components(edges: Tensor, n: int) -> list[Bare]:
    """Split a graph, or its complement if that has fewer edges, into connected components."""
    if 4 * len(edges) > n * (n - 1):
        absent = torch.ones((n, n), dtype=torch.bool).triu(1)
        absent[edges[:, 0], edges[:, 1]] = False
        edges = absent.nonzero()
    ones = np.ones(len(edges), np.bool_)
    matrix = scipy.sparse.coo_array((ones, tuple(edges.T.numpy())), shape=(n, n))
    count, labels = scipy.sparse.csgraph.connected_components(matrix, directed=False)
    label = torch.from_numpy(labels.astype(np.int64))
    members = Rows(label, count, 1).positions
    local = torch.empty_like(label)
    local[members.item] = torch.arange(n) - members.offsets[members.row]
    inside = Rows(label[edges[:, 0]], count, 1).positions
    pieces = torch.split(local[edges[inside.item].T], inside.sizes.tolist(), dim=1)
    return list(zip(pieces, members.sizes.tolist(), strict=True))


class _Search:
    """A search for isomorphisms between connected graphs, of a limited number of steps."""

    def __init__(self, graphs: list[Bare], refined: Refinement, limit: int) -> None:
        self.graphs, self.limit, self.steps = graphs, limit, 0
        self.colors = torch.split(refined.colors[-1][0], [size for _, size in graphs])

    def isomorphic(self, i: int, j: int) -> bool:
        """Return whether two of the graphs, which SWL cannot distinguish, are isomorphic.

        Vertices of the first are singled out until all have different colors. In the second,
        vertices that may match these are tried one after another.
        """
        (edges, n), (others, _) = self.graphs[i], self.graphs[j]
        color = torch.unique(torch.cat([self.colors[i], self.colors[j]]), return_inverse=True)[1]
        both = torch.cat([edges, others + n], dim=1).T
        refiner = Refiner(graphs_of(both, color, torch.tensor([0, n, 2 * n])), n)
        cost = n + 2 * edges.shape[1]  # visits of a refinement, at least
        partition, goals, cells = refiner.stable(0), [], []
        while True:
            goals.append(partition[cpu.START].copy())
            sizes = partition[cpu.SIZE]  # positive where classes start
            if sizes.max() == 1:
                break
            cells.append(int(np.where(sizes > 1, sizes, n + 1).argmin()))
            partition = refiner.single_out(0, int(partition[cpu.ORDER, cells[-1]]), partition)
            self._spend(cost)
        partition, matched = refiner.stable(1), 0
        waiting: list[tuple[Partition, int, int]] = []
        while True:
            if refiner.agree(0, goals[matched], 1, partition):
                if matched == len(cells):
                    return True
                start = cells[matched]
                stop = start + partition[cpu.SIZE, start]
                tries = partition[cpu.ORDER, start:stop].tolist()
                waiting += [(partition, vertex, matched + 1) for vertex in tries]
            if not waiting:
                return False
            partition, vertex, matched = waiting.pop()
            partition = refiner.single_out(1, vertex, partition)
            self._spend(cost)

    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self.limit:
            raise TooLargeError(
                f"Expected to match two graphs in at most {self.limit:.3g} steps, got more: they "
                f"have too many symmetries; use smaller graphs, or raise max_steps."
            )


def isomorphism_classes(graphs: Sequence[object]) -> list[list[int]]:
    """Group isomorphic graphs: positions, by their first member."""
    labels = swl(clique_complexes(bare(graphs), TOP)).classes().tolist()
    return sorted(partition(labels, lambda i, j: isomorphic(graphs[i], graphs[j])))


def partition(
    labels: Sequence[int], same: Callable[[int, int], bool] = lambda i, j: True
) -> list[list[int]]:
    """Return classes of positions with equal labels for which ``same`` holds."""
    by_label: dict[int, list[list[int]]] = {}
    for i, label in enumerate(labels):
        classes = by_label.setdefault(label, [])
        mine = next((members for members in classes if same(members[0], i)), None)
        classes.append([i]) if mine is None else mine.append(i)
    return [members for classes in by_label.values() for members in classes]
