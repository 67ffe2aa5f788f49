"""Find the chordless cycles of graphs in plain torch, for the GPU."""

from collections.abc import Iterator

import torch
from torch import Tensor

from mpsn.lifting._joins import CANDIDATE_BYTES, Neighbors, grow
from mpsn.lifting._shared import Budget


def search(around: Neighbors, edges: Tensor, limit: int, budget: Budget) -> Iterator[Tensor]:
    """Return the chordless cycles of 3 to ``limit`` vertices as walks (m, length), in chunks.

    Paths grow as in ``_rings_cpu``, all at once. Chunks of one length are in lexicographic order.
    """
    keys, distance, far = _distances(around, edges, limit // 2, budget.room(2 * CANDIDATE_BYTES))
    n = around.vertex.count

    def judge(path: Tensor) -> tuple[Tensor, Tensor]:
        root, w, length = path[:, 0], path[:, -1], path.shape[1]
        key = root * n + w
        place = torch.searchsorted(keys, key).clamp_(max=len(keys) - 1)
        back = torch.where(keys[place] == key, distance[place], far)
        fits = (w > root) & (w != path[:, -3]) & (back + length <= limit + 1)
        for i in range(1, length - 2):
            fits &= ~around.find(path[:, i], w)[0]
        closed = around.find(root, w)[0]
        return fits & ~closed, fits & closed & (w > path[:, 1])

    return grow(edges, around, judge, budget)


def _distances(
    around: Neighbors, edges: Tensor, radius: int, room: int
) -> tuple[Tensor, Tensor, int]:
    """Return distances of larger vertices from every root, through larger vertices only.

    Returns:
        Pairs ``root * n + vertex``, ascending, their distances, and a lower bound for all others.
        Stops short of ``radius`` where there are more than ``room`` pairs.
    """
    n, ptr = around.vertex.count, around.vertex.offsets
    keys = front = edges[:, 0] * n + edges[:, 1]
    distance = torch.ones_like(keys)
    for step in range(2, radius + 1):
        pairs = int((ptr[front % n + 1] - ptr[front % n]).sum())
        if not len(front) or pairs > room:
            return keys, distance, step if len(front) else radius + 1
        owner, w = around.extend(front % n)
        root = front[owner] // n
        front = torch.unique((root * n + w)[w > root])
        place = torch.searchsorted(keys, front).clamp_(max=len(keys) - 1)
        front = front[keys[place] != front]
        keys, order = torch.cat([keys, front]).sort()
        distance = torch.cat([distance, torch.full_like(front, step)])[order]
    return keys, distance, radius + 1
