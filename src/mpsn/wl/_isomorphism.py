"""An exact isomorphism check for small graphs."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse.csgraph
import torch
from torch import Tensor

from mpsn._rows.rows import grouped
from mpsn.errors import TooLargeError
from mpsn.lifting import clique_complexes
from mpsn.wl._inputs import bare, read
from mpsn.wl._refinement import Refinement
from mpsn.wl._vertices import wl
from mpsn.wl.simplices import swl

CHUNK = 256  # guesses refined together
STEPS = 10**8  # neighbors visited before giving up: about 20 seconds
TOP = 3  # dimension of the clique complexes that give vertices their first colors

Bare = tuple[Tensor, int]
Guess = tuple[int, ...]


def isomorphic(G: object, H: object, *, max_steps: int | None = None) -> bool:
    """Return whether two graphs are isomorphic, by individualization and refinement.

    Exact, and fast even on strongly regular graphs that no test here can distinguish. Exponential
    at worst: then it gives up with a :class:`mpsn.errors.TooLargeError`.

    Connected components (of the complements, if the graphs are dense) are matched with each other.
    Vertices start with their SWL colors. While several vertices of a component of G share a color,
    one of them is singled out and matched with every vertex of that color in H in turn; matches
    that WL refutes are dropped. A first pass tries one match at a time and gives up at the first
    dead end, which suffices for most isomorphic graphs.

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
    order, ptr = grouped(label, count)
    local = torch.empty_like(order)
    local[order] = torch.arange(n) - ptr[label[order]]
    order, edge_ptr = grouped(label[edges[:, 0]], count)
    pieces = torch.split(local[edges[order].T], edge_ptr.diff().tolist(), dim=1)
    return list(zip(pieces, ptr.diff().tolist(), strict=True))


class _Search:
    """A search for isomorphisms between connected graphs, of a limited number of steps."""

    def __init__(self, graphs: list[Bare], refined: Refinement, limit: int) -> None:
        self.graphs, self.limit, self.steps = graphs, limit, 0
        self.colors = torch.split(refined.colors[-1][0], [size for _, size in graphs])

    def isomorphic(self, i: int, j: int) -> bool:
        """Return whether two of the graphs, which SWL cannot distinguish, are isomorphic."""
        return (
            len(torch.unique(self.colors[i])) == len(self.colors[i])  # the colors are a matching
            or self._match(i, j, 1, patient=False)
            or self._match(i, j, CHUNK, patient=True)
        )

    def _match(self, i: int, j: int, width: int, patient: bool) -> bool:
        """Look for vertices of j that match those singled out in i, ``width`` guesses at a time.

        Unless ``patient``, give up at the first dead end.
        """
        waiting: list[tuple[Guess, list[Guess]]] = [((), [()])]
        while waiting:
            singled, guesses = waiting.pop()
            now, later = guesses[:width], guesses[width:]
            if later and patient:
                waiting.append((singled, later))
            marked = [_mark(self.colors[j], guess) for guess in now]
            copies = [self.graphs[i]] + [self.graphs[j]] * len(now)
            refined = wl(copies, [_mark(self.colors[i], singled), *marked])
            self._spend(refined.rounds * sum(n + 2 * edges.shape[1] for edges, n in copies))
            same = refined.classes().tolist()
            last = refined.colors[-1][0].reshape(len(copies), -1)
            alive = [g for g in range(len(now)) if same[g + 1] == same[0]]
            if not alive:
                continue
            values, sizes = torch.unique(last[0], return_counts=True)
            if len(values) == len(last[0]):
                return True
            cell = values[sizes == sizes[sizes > 1].min()][0]
            members = [(row == cell).nonzero()[:, 0].tolist() for row in last]
            more = [(*now[g], w) for g in alive for w in members[g + 1]]
            waiting.append(((*singled, members[0][0]), more))
        return False

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


def _mark(colors: Tensor, singled: Guess) -> Tensor:
    """Give each of the vertices singled out a color of its own."""
    out = colors.clone()
    out[list(singled)] = -1 - torch.arange(len(singled), device=colors.device)
    return out
