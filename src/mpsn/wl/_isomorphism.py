"""An exact isomorphism check for small graphs."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.sparse.csgraph
import torch
from torch import Tensor

from mpsn._rows.rows import grouped
from mpsn.errors import TooLargeError
from mpsn.lifting import clique_complexes
from mpsn.wl._inputs import bare, read
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
    parts, n = one + two, len(one)
    found = swl(clique_complexes(parts, TOP))
    labels = found.classes().tolist()
    if Counter(labels[:n]) != Counter(labels[n:]):
        return False
    colors = torch.split(found.colors[-1][0], [size for _, size in parts])
    limit = STEPS if max_steps is None else max_steps
    taken = 0

    def spend(steps: int) -> None:
        nonlocal taken
        taken += steps
        if taken > limit:
            raise TooLargeError(
                f"Expected to match two graphs in at most {limit:.3g} steps, got more: they have "
                f"too many symmetries; use smaller graphs, or raise max_steps."
            )

    def same(i: int, j: int) -> bool:
        pair, start = (parts[i], parts[j]), (colors[i], colors[j])
        return (
            len(torch.unique(start[0])) == len(start[0])  # the colors are a matching
            or _search(pair, start, spend, 1, patient=False)
            or _search(pair, start, spend, CHUNK, patient=True)
        )

    return all(2 * sum(i < n for i in kind) == len(kind) for kind in partition(labels, same))


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


def _search(
    pair: tuple[Bare, Bare],
    start: tuple[Tensor, Tensor],
    spend: Callable[[int], None],
    width: int,
    patient: bool,
) -> bool:
    """Look for vertices of H that match those singled out in G, ``width`` guesses at a time.

    Unless ``patient``, give up at the first dead end.
    """
    size = pair[0][1] + 2 * pair[0][0].shape[1]
    waiting: list[tuple[Guess, list[Guess]]] = [((), [()])]
    while waiting:
        singled, guesses = waiting.pop()
        now, later = guesses[:width], guesses[width:]
        if later and patient:
            waiting.append((singled, later))
        colors = [_mark(start[0], singled), *(_mark(start[1], guess) for guess in now)]
        found = wl([pair[0]] + [pair[1]] * len(now), colors)
        spend(found.rounds * len(colors) * size)
        same = found.classes().tolist()
        last = found.colors[-1][0].reshape(len(now) + 1, -1)
        alive = [i for i in range(len(now)) if same[i + 1] == same[0]]
        values, sizes = torch.unique(last[0], return_counts=True)
        if alive and len(values) == len(last[0]):
            return True
        if alive:
            cell = values[sizes == sizes[sizes > 1].min()][0]
            vertex = int((last[0] == cell).nonzero()[0])
            guesses = [
                (*now[i], w) for i in alive for w in (last[i + 1] == cell).nonzero()[:, 0].tolist()
            ]
            waiting.append(((*singled, vertex), guesses))
    return False


def isomorphism_classes(graphs: Sequence[object]) -> list[list[int]]:
    """Group isomorphic graphs: positions, by their first member."""
    labels = swl(clique_complexes(bare(graphs), TOP)).classes().tolist()
    return sorted(partition(labels, lambda i, j: isomorphic(graphs[i], graphs[j])))


def partition(
    labels: Sequence[int], same: Callable[[int, int], bool] = lambda i, j: True
) -> Iterator[list[int]]:
    """Yield classes of positions with equal labels for which ``same`` holds."""
    by_label: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        by_label.setdefault(label, []).append(i)
    for positions in by_label.values():
        kinds: list[list[int]] = []
        for i in positions:
            kind = next((kind for kind in kinds if same(kind[0], i)), None)
            kinds.append([i]) if kind is None else kind.append(i)
        yield from kinds


def _mark(colors: Tensor, singled: Guess) -> Tensor:
    """Give each of the vertices singled out a color of its own."""
    out = colors.clone()
    out[list(singled)] = -1 - torch.arange(len(singled), device=colors.device)
    return out
