"""Candidates for simplices: where their faces are, and which ones are missing in a complex."""

from itertools import combinations

import torch
from torch import Tensor

from mpsn._rows.rows import unique_rows
from mpsn.complexes import SimplicialComplex
from mpsn.lifting import clique_complex

ROUNDS = 20  # of drawing candidates at random, until there are enough


def find_simplices(K: SimplicialComplex, rows: Tensor) -> Tensor:
    """Return which simplices of K have the vertices (m, k + 1), each row ascending; -1 for none."""
    n, at = K.num_nodes, rows[:, 0]
    for i in range(1, rows.shape[1]):
        keys, order = (K.faces(i)[:, i] * n + K.simplices(i)[:, -1]).sort()
        wanted = at * n + rows[:, i]
        if not len(keys):
            return torch.full_like(at, -1)
        near = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        at = torch.where((at >= 0) & (keys[near] == wanted), order[near], -1)
    return at


def faces_of(K: SimplicialComplex, rows: Tensor) -> list[Tensor]:
    """Return the faces of candidates (m, k + 1) in K by dimension 0 to k - 1, (m, many); or -1."""
    width = rows.shape[1]
    return [
        torch.stack(
            [find_simplices(K, rows[:, list(some)]) for some in combinations(range(width), size)],
            dim=1,
        )
        for size in range(1, width)
    ]


def draw_missing(
    K: SimplicialComplex, dim: int, many: int, generator: torch.Generator
) -> tuple[Tensor, int]:
    """Return up to ``many`` candidates (m, dim + 1) that are not in K, and how many are open.

    First those whose faces are all in K, open simplices; then, if there are too few, simplices of K
    with one vertex replaced at random.
    """
    found = K.simplices(dim)[:0]
    if dim > 1:
        edges = K.simplices(1).T
        rows = clique_complex((edges, K.num_nodes), max_dim=dim).simplices(dim)
        missing = (find_simplices(K, rows) < 0) & (faces_of(K, rows)[-1] >= 0).all(dim=1)
        rows = rows[missing]
        found = rows[torch.randperm(len(rows), generator=generator)[:many]]
    is_open, given = len(found), K.simplices(dim)
    for _ in range(ROUNDS):
        if len(found) >= many:
            break
        rows = given[torch.randint(len(given), (2 * many,), generator=generator)].clone()
        column = torch.randint(dim + 1, (len(rows),), generator=generator)
        other = torch.randint(K.num_nodes, (len(rows),), generator=generator)
        rows[torch.arange(len(rows)), column] = other
        rows = rows.sort(dim=1).values
        rows = rows[(rows.diff(dim=1) > 0).all(dim=1)]
        rows = torch.cat([found, rows[find_simplices(K, rows) < 0]])
        at = unique_rows(rows, max(K.num_nodes, 1))[1]
        first = torch.full((int(at.max()) + 1 if len(at) else 0,), len(rows))
        first = first.scatter_reduce(0, at, torch.arange(len(rows)), "amin").sort().values
        found = rows[first][:many]
    return found, is_open if dim > 1 else len(found)
