"""Ordered partitions of the vertices of a graph: refine, hash and compare them, on the CPU.

A partition is four rows of numbers. ``ORDER`` lists the vertices class by class, ``PLACE`` is where
each vertex is in that list, ``START`` the place where its class starts, which is its color, and
``SIZE`` the number of vertices of the class that starts at a place. Classes are split, and the new
ones ordered, by numbers of neighbors alone. So graphs that color refinement cannot distinguish get
partitions with classes of the same sizes, and with the same numbers of neighbors from each class
in each other one; conversely, if these agree, it cannot distinguish the graphs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpsn._rows.compiled import compiled
from mpsn.wl._segments_cpu import FIRST, SECOND, _mix, sort_segment

Integers = NDArray[np.int32]
Array = NDArray[np.int64]

ORDER, PLACE, START, SIZE = range(4)  # rows of a partition
COUNT, HITS, QUEUE, QUEUED, SEEN, BUCKET = range(6)  # rows of the work space


class Graphs(NamedTuple):
    """Graphs of n vertices each: the neighbors of vertex v of graph g are in row first[g] + v."""

    ptr: Array
    near: Integers
    color: Integers
    first: Array
    n: int


@compiled
def refine(
    graphs: Graphs, graph: int, partition: Integers, work: Integers, head: int, waiting: int
) -> int:
    """Split classes until their vertices have equally many neighbors in each class.

    Args:
        graphs: The graphs.
        graph: The one to refine.
        partition: Its partition, (4, n), which is changed.
        work: Work space, (6, n + 1), all zeros but for the queue of classes to split by.
        head: Where the queue starts.
        waiting: How many classes are in it.

    Returns:
        The number of classes.
    """
    ptr, near, _, first, n = graphs
    order, place, start, size = partition
    count, hits, queue, queued, seen, _ = work
    classes = _classes(size, n)
    touched = np.empty(n, np.int64)
    while waiting and classes < n:
        splitter = queue[head]
        queued[splitter] = 0
        head, waiting = (head + 1) % n, waiting - 1
        reached = 0
        for i in range(splitter, splitter + size[splitter]):
            row = first[graph] + order[i]
            for j in range(ptr[row], ptr[row + 1]):
                u = near[j]
                if size[start[u]] > 1:
                    if count[u] == 0:
                        seen[reached] = u
                        reached += 1
                    count[u] += 1
        number = 0
        for i in range(reached):  # move these to the ends of their classes
            u = seen[i]
            s = start[u]
            if hits[s] == 0:
                touched[number] = s
                number += 1
            hits[s] += 1
            p, q = place[u], s + size[s] - hits[s]
            other = order[q]
            order[p], order[q], place[other], place[u] = other, u, p, q
        sort_segment(touched, 0, number)
        for i in range(number):
            fragments = _split(touched[i], partition, work)
            if fragments > 1:
                classes += fragments - 1
                waiting = _enqueue(touched[i], fragments, size, queue, queued, n, head, waiting)
    while waiting:  # all classes are single vertices
        queued[queue[head]] = 0
        head, waiting = (head + 1) % n, waiting - 1
    return classes


@compiled
def _classes(size: Integers, n: int) -> int:
    classes, p = 0, 0
    while p < n:
        p += size[p]
        classes += 1
    return classes


@compiled
def _split(s: int, partition: Integers, work: Integers) -> int:
    """Split a class, whose vertices with a count are at its end, by counts; return the pieces."""
    order, place, start, size = partition
    count, hits, _, _, seen, bucket = work
    stop = s + size[s]
    first = stop - hits[s]
    hits[s] = 0
    low = high = count[order[first]]
    for p in range(first + 1, stop):
        c = count[order[p]]
        low, high = min(low, c), max(high, c)
    if low < high:
        for p in range(first, stop):
            seen[p - first] = order[p]
            bucket[count[order[p]] - low] += 1
        total = first
        for c in range(high - low + 1):
            total, bucket[c] = total + bucket[c], total
        for i in range(stop - first):
            u = seen[i]
            c = count[u] - low
            order[bucket[c]], place[u] = u, bucket[c]
            bucket[c] += 1
        for c in range(high - low + 1):
            bucket[c] = 0
    pieces, begin = 0, s
    for p in range(first, stop):
        u = order[p]
        if p > s and (p == first or count[u] != count[order[p - 1]]):
            size[begin] = p - begin
            begin = p
            pieces += 1
        start[u] = begin
    size[begin] = stop - begin
    for p in range(first, stop):
        count[order[p]] = 0
    return pieces + 1


@compiled
def _enqueue(
    s: int,
    pieces: int,
    size: Integers,
    queue: Integers,
    queued: Integers,
    n: int,
    head: int,
    waiting: int,
) -> int:
    """Queue the pieces of a class; one of the largest is left out if the class was not waiting."""
    out, p = s, s
    if not queued[s]:
        for _ in range(pieces):
            if size[p] > size[out]:
                out = p
            p += size[p]
        p = s
    for _ in range(pieces):
        if p != out:
            queue[(head + waiting) % n] = p
            queued[p] = 1
            waiting += 1
        p += size[p]
    return waiting


@compiled
def single_out(graphs: Graphs, graph: int, v: int, partition: Integers, work: Integers) -> int:
    """Put a vertex before the others of its class, refine, and return the number of classes."""
    order, place, start, size = partition
    s, p = start[v], place[v]
    length = size[s]
    if length > 1:
        u = order[s]
        order[s], order[p], place[v], place[u] = v, u, s, p
        for i in range(s + 1, s + length):
            start[order[i]] = s + 1
        size[s], size[s + 1] = 1, length - 1
        work[QUEUE][0] = s
        work[QUEUED][s] = 1
        return refine(graphs, graph, partition, work, 0, 1)
    return _classes(size, graphs.n)


@compiled
def hashed(graphs: Graphs, graph: int, partition: Integers) -> int:
    """Hash the sizes and initial colors of the classes, and their neighbors' classes."""
    ptr, near, color, first, n = graphs
    order, _, start, size = partition
    out, s = n, 0
    while s < n:
        row = first[graph] + order[s]
        total = SECOND * size[s] + color[row]
        for j in range(ptr[row], ptr[row + 1]):
            total += _mix(start[near[j]])
        out = _mix(FIRST * out + total)
        s += size[s]
    return out


@compiled
def agree(
    graphs: Graphs, one: int, starts: Integers, two: int, partition: Integers, work: Integers
) -> bool:
    """Return whether partitions of two graphs are the same to color refinement.

    Args:
        graphs: The graphs.
        one: The first.
        starts: Row ``START`` of its partition.
        two: The second.
        partition: Its partition.
        work: Work space; a row holds a vertex of each class of the first graph, another counts.
    """
    ptr, near, color, first, n = graphs
    order, _, start, size = partition
    member, count = work[SEEN], work[COUNT]
    for v in range(n):
        count[starts[v]] += 1
        member[starts[v]] = v
    same, s = True, 0
    while s < n:
        same = same and count[s] == size[s]
        s += size[s]
    for v in range(n):
        count[starts[v]] = 0
    s = 0
    while same and s < n:
        a, b = first[one] + member[s], first[two] + order[s]
        same = color[a] == color[b] and ptr[a + 1] - ptr[a] == ptr[b + 1] - ptr[b]
        for j in range(ptr[a], ptr[a + 1]):
            count[starts[near[j]]] += 1
        for j in range(ptr[b], ptr[b + 1]):
            count[start[near[j]]] -= 1
        for j in range(ptr[a], ptr[a + 1]):
            same = same and count[starts[near[j]]] == 0
            count[starts[near[j]]] = 0
        for j in range(ptr[b], ptr[b + 1]):
            count[start[near[j]]] = 0
        s += size[s]
    return same


class Table(NamedTuple):
    """Partitions that color refinement can distinguish: hash, graph, and row ``START`` of each.

    ``slots`` has the number of the partition of each slot of a hash table, or -1.
    """

    slots: Integers
    hashes: Array
    owners: Integers
    starts: NDArray[Any]


@compiled
def number_of(
    graphs: Graphs,
    graph: int,
    partition: Integers,
    work: Integers,
    table: Table,
    used: int,
    shift: int,
) -> int:
    """Return the number of a partition in the table, or ``used`` after it was added.

    The hash, shifted right, proposes; partitions are compared in full.
    """
    value = hashed(graphs, graph, partition) >> shift
    mask = len(table.slots) - 1
    slot = _mix(value) & mask
    while table.slots[slot] >= 0:
        i = table.slots[slot]
        if table.hashes[i] == value and agree(
            graphs, table.owners[i], table.starts[i], graph, partition, work
        ):
            return int(i)
        slot = (slot + 1) & mask
    table.slots[slot] = used
    table.hashes[used], table.owners[used] = value, graph
    for v in range(graphs.n):
        table.starts[used, v] = partition[START, v]
    return used


@compiled
def rehash(table: Table, used: int) -> None:
    """Fill the slots."""
    mask = len(table.slots) - 1
    for i in range(used):
        slot = _mix(table.hashes[i]) & mask
        while table.slots[slot] >= 0:
            slot = (slot + 1) & mask
        table.slots[slot] = i


@compiled
def choices(partition: Integers, vertices: int, every: bool) -> tuple[int, int]:
    """Return where the vertices to mark next start in the order, and their number.

    They are the largest class, the first of these, or all; none if no two vertices are alike.
    """
    size = partition[SIZE]
    out, most, s = 0, 1, 0
    while s < vertices:
        if size[s] > most:
            out, most = s, size[s]
        s += size[s]
    if most == 1:
        return 0, 0
    return (0, vertices) if every else (out, most)


@compiled
def branch(
    graphs: Graphs,
    graph: int,
    partition: Integers,
    vertices: int,
    every: bool,
    work: Integers,
    table: Table,
    used: int,
    shift: int,
    children: Array,
) -> tuple[int, int, int, int]:
    """Mark each of the vertices to mark next, and write codes of what this makes.

    A code says which partition it is, and what color the vertex had.

    Returns:
        How many partitions the table has, the numbers of refinements done and of another depth, and
        a graph that turned out to be isomorphic to this one, or -1.
    """
    s, _ = choices(partition, vertices, every)
    child = np.empty_like(partition)
    wider = 0
    for i in range(len(children)):
        child[:] = partition
        v = partition[ORDER, s + i]
        classes = single_out(graphs, graph, v, child, work)
        number = number_of(graphs, graph, child, work, table, used, shift)
        used = max(used, number + 1)
        children[i] = number * graphs.n + partition[START, v]
        if classes == graphs.n and table.owners[number] != graph:
            return used, i + 1, wider, table.owners[number]
        wider += choices(child, vertices, every)[1]
    return used, len(children), wider, -1
