"""Grow lists of vertices by joins with the edges of a graph, in plain torch, for any device."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from mpsn._rows.rows import grouped, ranges
from mpsn.lifting._shared import cut


class Neighbors(NamedTuple):
    """The neighbors of each vertex, ascending, and the edges to them; ``keys`` are the pairs."""

    ptr: Tensor
    vertex: Tensor
    edge: Tensor
    keys: Tensor
    num_nodes: int

    @classmethod
    def of(cls, edges: Tensor, n: int) -> "Neighbors":
        """Read clean edges (E, 2) of a graph of n vertices."""
        high_first = torch.cat([edges[:, 1], edges[:, 0]])  # smaller neighbors first
        order, ptr = grouped(high_first, n)
        vertex = torch.cat([edges[:, 0], edges[:, 1]])[order]
        return cls(ptr, vertex, order % max(len(edges), 1), high_first[order] * n + vertex, n)

    def find(self, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return whether u and v are adjacent, and the edge between them where they are."""
        key = u * self.num_nodes + v
        at = torch.searchsorted(self.keys, key).clamp_(max=len(self.keys) - 1)
        return self.keys[at] == key, self.edge[at]

    def extend(self, ends: Tensor) -> tuple[Tensor, Tensor]:
        """Return the neighbors of the given vertices, and to which of these they belong."""
        start = self.ptr[ends]
        owner, at = ranges(start, self.ptr[ends + 1] - start)
        return owner, self.vertex[at]


def grow(
    rows: Tensor,
    around: Neighbors,
    column: Callable[[int], int],
    judge: Callable[[Tensor], tuple[Tensor, Tensor]],
    room: Callable[[int], int],
) -> Iterator[Tensor]:
    """Append vertices to rows until they are complete; complete rows of one width stay in order.

    Rows are processed in chunks, depth first, so that memory stays bounded.

    Args:
        rows: The rows to begin with, (m, c), in lexicographic order.
        around: The graph.
        column: Given a width, which column's neighbors to append.
        judge: Given extended rows, which of them (mask) grow on, and which are complete.
        room: Given a width, the number of extended rows to hold at once.
    """
    stack = [rows]
    while stack:
        rows = stack.pop()
        ends = rows[:, column(rows.shape[1])]
        totals = (around.ptr[ends + 1] - around.ptr[ends]).cumsum(0)
        most = room(rows.shape[1] + 1)
        if len(rows) > 1 and int(totals[-1]) > most:
            stack += [rows[start:stop] for start, stop, _ in cut(totals, most)][::-1]
            continue
        owner, w = around.extend(ends)
        rows = torch.cat([rows[owner], w[:, None]], dim=1)  # (candidates, c + 1)
        more, done = judge(rows)
        yield rows[done]
        rows = rows[more]
        if len(rows):
            stack.append(rows)
