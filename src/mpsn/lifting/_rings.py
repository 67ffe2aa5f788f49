"""Find the chordless cycles of graphs."""

import numpy as np
from numpy.typing import NDArray

from mpsn._rows.compiled import compiled

Array = NDArray[np.int64]
Small = NDArray[np.int32]


@compiled
def _remove(v: int, ptr: Array, neighbor: Array, degree: Small, queue: Array) -> None:
    """Remove a vertex, and then all that no longer lie on a cycle or between cycles."""
    queue[0], tail, head = v, 1, 0
    degree[v] = 0
    while head < tail:
        u = queue[head]
        head += 1
        for j in range(ptr[u], ptr[u + 1]):
            w = neighbor[j]
            if degree[w] > 0:
                degree[w] -= 1
                if degree[w] == 1:
                    degree[w] = 0
                    queue[tail] = w
                    tail += 1


@compiled
def prune(ptr: Array, neighbor: Array, degree: Small, queue: Array) -> None:
    """Write the degrees of all vertices, with 0 for those of the trees outside of all cycles."""
    for v in range(len(degree)):
        degree[v] = ptr[v + 1] - ptr[v]
    for v in range(len(degree)):
        if degree[v] == 1:
            _remove(v, ptr, neighbor, degree, queue)


@compiled
def search(
    ptr: Array,
    neighbor: Array,
    edge: Array,
    start: int,
    stop: int,
    limit: int,
    most: int,
    degree: Small,
    small: Small,
    large: Array,
    face: Array,
    sign: NDArray[np.int8],
    sizes: Array,
) -> tuple[int, int, int]:
    """Find the chordless cycles whose smallest vertex is in start .. stop, in depth first order.

    A path from the smallest vertex, the root, grows by neighbors of its end that are adjacent to no
    other vertex of the path, except perhaps the root, where it closes. It never goes further than
    the distance back to the root allows. Of the two directions, the one with the smaller second
    vertex counts. A root that is done is removed, together with the trees that remain.

    Args:
        ptr: Offsets of the neighbors of each vertex, (n + 1,).
        neighbor: The neighbors, ascending.
        edge: The edge to each neighbor.
        start: First root, where the last call stopped.
        stop: End of the roots.
        limit: Largest number of vertices of a cycle.
        most: Largest number of entries of ``face``; if that is empty, they are only counted.
        degree: Number of neighbors of each vertex that is left, from :func:`prune`, (n,).
        small: Scratch: zeros (2, n).
        large: Scratch (2, n).
        face: To hold the edges of the rings, in the order of the walk.
        sign: To hold their signs, +1 where the walk ascends.
        sizes: To hold the length of each ring.

    Returns:
        The next root, earlier than ``stop`` if its rings are too many; the rings and entries.
    """
    distance, blocked, queue, close = small[0], small[1], large[0], large[1]
    path, slot = np.empty(limit + 1, np.int64), np.empty(limit + 1, np.int64)
    rings, entries = 0, 0
    for root in range(start, stop):
        alive = degree[root]
        if alive == 0:
            continue
        degree[root] = 0
        tail, head = 0, 0
        for j in range(ptr[root], ptr[root + 1]):
            w = neighbor[j]
            if degree[w] > 0:
                distance[w], close[w] = 1, edge[j]
                queue[tail] = w
                tail += 1
        firsts, before = tail, (rings, entries)
        while head < tail and distance[queue[head]] < limit // 2:
            v = queue[head]
            head += 1
            for j in range(ptr[v], ptr[v + 1]):
                w = neighbor[j]
                if degree[w] > 0 and distance[w] == 0:
                    distance[w] = distance[v] + 1
                    queue[tail] = w
                    tail += 1
        full = False
        for i in range(firsts - 1):  # the last one has no larger partner
            first, depth = queue[i], 1
            path[1], slot[1] = first, ptr[first]
            blocked[first] += 1
            for j in range(ptr[first], ptr[first + 1]):
                blocked[neighbor[j]] += 1
            while depth:
                u, s = path[depth], slot[depth]
                if s == ptr[u + 1] or full:
                    for j in range(ptr[u], ptr[u + 1]):
                        blocked[neighbor[j]] -= 1
                    depth -= 1
                    continue
                w = neighbor[s]
                slot[depth] = s + 1
                if blocked[w] != 1 or distance[w] == 0 or depth + 1 + distance[w] > limit:
                    continue
                if distance[w] > 1:
                    depth += 1
                    path[depth], slot[depth] = w, ptr[w]
                    for j in range(ptr[w], ptr[w + 1]):
                        blocked[neighbor[j]] += 1
                elif w > first:
                    full = entries + depth + 2 > most
                    if full:
                        continue
                    if len(face):
                        face[entries], sign[entries] = close[first], 1
                        for k in range(1, depth + 1):
                            step = slot[k] - 1
                            face[entries + k] = edge[step]
                            sign[entries + k] = 1 if path[k] < neighbor[step] else -1
                        face[entries + depth + 1], sign[entries + depth + 1] = close[w], -1
                        sizes[rings] = depth + 2
                    rings, entries = rings + 1, entries + depth + 2
            blocked[first] -= 1
            if full:
                break
        for j in range(tail):
            distance[queue[j]] = 0
        if full:
            degree[root] = alive
            if len(face):
                rings, entries = before
            return root, rings, entries
        _remove(root, ptr, neighbor, degree, queue)
    return stop, rings, entries
