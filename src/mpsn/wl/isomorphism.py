"""The truth beside the tests: an exact isomorphism check for small graphs."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.lifting import clique_complexes
from mpsn.wl.graphs import bare, read
from mpsn.wl.simplices import swl
from mpsn.wl.vertices import wl

CHUNK = 256  # guesses refined together
TOP = 3  # dimension of the clique complexes that give vertices their first colors

Guess = tuple[int, ...]


def isomorphic(G: object, H: object) -> bool:
    """Tell whether two graphs are isomorphic, by individualization and refinement.

    Vertices start with their simplicial colors. As long as several vertices of G share a color,
    one of them is singled out, and every vertex of H with its color is tried in its place; what WL
    tells apart is dropped. Guesses are refined many at a time, the deepest first; before that, one
    at a time and straight down, which is enough for most graphs that are isomorphic. Exact, fast on
    the strongly regular graphs that defeat every test here, exponential at worst.

    Example:
        >>> mpsn.wl.isomorphic(nx.path_graph(3), nx.star_graph(2))
        True
    """
    read([G, H])
    pair = bare([G, H])
    both = swl(clique_complexes(pair, TOP))
    if pair[0][1] != pair[1][1] or len(set(both.classes().tolist())) > 1:
        return False
    start = both.colors[-1][0].reshape(2, -1)
    return _search(pair, start, 1, patient=False) or _search(pair, start, CHUNK, patient=True)


def _search(pair: list[tuple[Tensor, int]], start: Tensor, width: int, patient: bool) -> bool:
    """Look for vertices of H to stand for those singled out in G, ``width`` guesses at a time.

    If not patient, give up at the first dead end.
    """
    waiting: list[tuple[Guess, list[Guess]]] = [((), [()])]
    while waiting:
        singled, guesses = waiting.pop()
        now, later = guesses[:width], guesses[width:]
        if later and patient:
            waiting.append((singled, later))
        colors = [_mark(start[0], singled), *(_mark(start[1], guess) for guess in now)]
        found = wl([pair[0]] + [pair[1]] * len(now), colors)
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
    """Group graphs that are isomorphic: positions, by their first member.

    Example:
        >>> mpsn.wl.isomorphism_classes([nx.path_graph(3), nx.cycle_graph(3), nx.star_graph(2)])
        [[0, 2], [1]]
    """
    found: list[list[int]] = []
    for alike in grouped(swl(clique_complexes(bare(graphs), TOP)).classes().tolist()):
        homes: list[list[int]] = []
        for i in alike:
            home = next((same for same in homes if isomorphic(graphs[same[0]], graphs[i])), None)
            homes.append([i]) if home is None else home.append(i)
        found += homes
    return sorted(found)


def grouped(labels: Sequence[int]) -> list[list[int]]:
    """List the positions of equal labels, by their first position."""
    groups: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        groups.setdefault(label, []).append(i)
    return list(groups.values())


def _mark(colors: Tensor, singled: Guess) -> Tensor:
    """Give the vertices singled out colors of their own, by position."""
    out = colors.clone()
    out[list(singled)] = -1 - torch.arange(len(singled), device=colors.device)
    return out
