"""Extend cliques by one vertex, in plain torch, for the GPU."""

from typing import NamedTuple

import torch
from torch import Tensor


class Hits(NamedTuple):
    """The children found: their clique, its later sibling, its first face's child, all (m,)."""

    clique: Tensor
    sibling: Tensor
    first: Tensor


class Candidates(NamedTuple):
    """Candidates of each clique: their number, their start, and the simplex to search for them."""

    sizes: Tensor
    start: Tensor
    ask: Tensor
    by_sibling: Tensor


def candidates(faces: Tensor, ptr: Tensor, ordered: bool) -> Candidates:
    """Return where to look for the children of each clique.

    A child of clique s is a later sibling of s (if ``ordered``, any) whose last vertex also extends
    s's first face (see ``_cliques_cpu``). The shorter of the two lists is scanned, the longer one
    searched.
    """
    parent, first = faces[:, -1], faces[:, 0]
    sibling = ptr[parent] if ordered else torch.arange(1, len(faces) + 1, device=faces.device)
    siblings, children = ptr[parent + 1] - sibling, ptr[first + 1] - ptr[first]
    by_sibling = siblings <= children
    return Candidates(
        torch.where(by_sibling, siblings, children),
        torch.where(by_sibling, sibling, ptr[first]),
        torch.where(by_sibling, first, parent),
        by_sibling,
    )


def join(last: Tensor, keys: Tensor, n: int, start: int, many: Candidates, total: int) -> Hits:
    """Find the children of the cliques from ``start`` on, by searching sorted keys.

    Args:
        last: Last vertex of every clique of this dimension.
        keys: ``parent * n + last`` of each of them, ascending.
        n: Number of vertices.
        start: Index of the first clique in ``many``.
        many: Candidates of consecutive cliques.
        total: Number of all these candidates.
    """
    sizes, where, ask, by_sibling = many
    owner = torch.repeat_interleave(sizes, output_size=total)
    candidate = torch.arange(total, device=last.device)
    candidate += (where - sizes.cumsum(0) + sizes)[owner]
    key = last[candidate].add_((ask * n)[owner])
    found = torch.searchsorted(keys, key).clamp_(max=len(keys) - 1)
    hit = (keys[found] == key).nonzero().squeeze(1)
    owner, candidate, found = owner[hit], candidate[hit], found[hit]
    direct = by_sibling[owner]
    return Hits(
        owner + start,
        torch.where(direct, candidate, found),
        torch.where(direct, found, candidate),
    )


def face_rows(faces: Tensor, keys: Tensor, n: int, hits: Hits, w: Tensor) -> Tensor:
    """Return the face table rows (m, k+2) of the children found, whose last vertices are ``w``."""
    columns = [hits.first]
    columns += [
        torch.searchsorted(keys, faces[hits.clique, i] * n + w)
        for i in range(1, faces.shape[1] - 1)
    ]
    return torch.stack([*columns, hits.sibling, hits.clique], dim=1)
