"""Extend cliques by one vertex, in plain torch, for the GPU."""

from functools import lru_cache

import torch
from torch import Tensor

from mpsn._rows.rows import ranges
from mpsn.lifting._shared import Budget, Progress, cut

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
    chunks = list(cut(size.cumsum(0), budget.room(CANDIDATE_BYTES)))

    @lru_cache(maxsize=1)  # most often one chunk, which is then joined once
    def join(begin: int, stop: int, total: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the children of a chunk: their cliques, later siblings, and first faces."""
        owner, candidate = ranges(start[begin:stop], size[begin:stop], total)
        owner += begin
        key = searched[owner] * n + last[candidate]
        match = torch.searchsorted(keys, key).clamp_(max=m - 1)
        hit = (keys[match] == key).nonzero().squeeze(1)
        owner, candidate, match = owner[hit], candidate[hit], match[hit]
        direct = scans_siblings[owner]
        pair = torch.where(direct, candidate, match), torch.where(direct, match, candidate)
        return owner, *pair

    with Progress(2 * m, width) as bar:
        counts = []
        for chunk in chunks:
            counts.append(len(join(*chunk)[0]))
            bar.update(chunk[1] - chunk[0])
        budget.check(sum(counts), 8 * sum(counts) * (width + 2))
        out = torch.empty((sum(counts), width + 1), dtype=torch.int64, device=device)
        out_last = torch.empty(sum(counts), dtype=torch.int64, device=device)
        parts = torch.split(out, counts), torch.split(out_last, counts)
        for chunk, rows, w in zip(chunks, *parts, strict=True):
            clique, sibling, first = join(*chunk)
            w[:] = last[sibling]
            rows[:, 0], rows[:, -2], rows[:, -1] = first, sibling, clique
            for i in range(1, width - 1):
                rows[:, i] = torch.searchsorted(keys, faces[clique, i] * n + w)
            bar.update(chunk[1] - chunk[0])
    parents = torch.arange(m + 1, device=device)
    return out, out_last, torch.searchsorted(out[:, -1].contiguous(), parents)
