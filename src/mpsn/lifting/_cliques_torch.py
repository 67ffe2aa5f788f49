"""Extend cliques by one vertex, in plain torch, for the GPU."""

import torch
from torch import Tensor

from mpsn._rows.memory import Budget
from mpsn._rows.rows import ranges
from mpsn.lifting._shared import cut, track

JOIN_BYTES = 24  # of a clique that is found, before its row is written
CANDIDATE_BYTES = 64  # peak memory of the join, per candidate


def extend(
    faces: Tensor, last: Tensor, ptr: Tensor, ordered: bool, n: int, budget: Budget
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the face table, the last vertices and the offsets of the children of cliques.

    A child of clique s is a later sibling of s (if ``ordered``, any) whose last vertex also extends
    s's first face (see ``_cliques_cpu``). The shorter of the two lists is scanned, the longer one
    searched.

    Args:
        faces: Face table of the cliques, (m, width).
        last: Their last vertices, (m,).
        ptr: Where the children of each of their parents start.
        ordered: Whether they are those of a directed graph.
        n: Number of vertices of the graph.
        budget: The memory that the result may take.
    """
    (m, width), device = faces.shape, faces.device
    parent, front = faces[:, -1], faces[:, 0]
    sibling = ptr[parent] if ordered else torch.arange(1, m + 1, device=device)
    siblings, children = ptr[parent + 1] - sibling, ptr[front + 1] - ptr[front]
    scans_siblings = siblings <= children
    size = torch.where(scans_siblings, siblings, children)
    start = torch.where(scans_siblings, sibling, ptr[front])
    searched = torch.where(scans_siblings, front, parent)
    keys = parent * n + last  # ascending
    joins, count = [], 0
    for begin, stop, total in track(list(cut(size.cumsum(0), budget.room(CANDIDATE_BYTES))), width):
        clique, candidate = ranges(start[begin:stop], size[begin:stop], total)
        clique += begin
        key = searched[clique] * n + last[candidate]
        match = torch.searchsorted(keys, key).clamp_(max=m - 1)
        hit = (keys[match] == key).nonzero().squeeze(1)
        clique, candidate, match = clique[hit], candidate[hit], match[hit]
        direct = scans_siblings[clique]
        pair = torch.where(direct, candidate, match), torch.where(direct, match, candidate)
        joins.append((clique, *pair))
        count += len(clique)
        budget.check(count, JOIN_BYTES * count + 8 * count * (width + 2))
    out = torch.empty((count, width + 1), dtype=torch.int64, device=device)
    out_last = torch.empty(count, dtype=torch.int64, device=device)
    row = 0
    for clique, sibling, first in joins:
        rows, w = out[row : row + len(clique)], last[sibling]
        out_last[row : row + len(clique)] = w
        rows[:, 0], rows[:, -2], rows[:, -1] = first, sibling, clique
        for i in range(1, width - 1):
            rows[:, i] = torch.searchsorted(keys, faces[clique, i] * n + w)
        row += len(clique)
    parents = torch.arange(m + 1, device=device)
    return out, out_last, torch.searchsorted(out[:, -1].contiguous(), parents)
