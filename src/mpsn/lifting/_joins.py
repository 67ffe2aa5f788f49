"""Grow lists of vertices by joins with the edges of a graph, in plain torch, for any device."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import torch
from torch import Tensor

from mpsn._rows.memory import Budget
from mpsn._rows.rows import Rows
from mpsn.complexes import Incidence
from mpsn.lifting._shared import cut, track

EDGE_BYTES = 96  # of an edge among the neighbors of its ends, and in what finds it
CANDIDATE_BYTES = 32  # peak memory of a join, per vertex of a candidate


class Neighbors:
    """The neighbors of each vertex, ascending, and the edges to them.

    Args:
        edges: Clean edges, (E, 2).
        n: Number of vertices.
        budget: The memory that they may take.
    """

    def __init__(self, edges: Tensor, n: int, budget: Budget) -> None:
        budget.reserve(EDGE_BYTES * len(edges), f"{len(edges):,} edges")
        ends = Rows(edges.reshape(-1), n, 2)
        position = ends.positions.item  # in this order neighbors ascend, for edges do
        self.vertex = Rows(ends.item[position ^ 1], n, ptr=ends.positions.ptr)
        self.edge = position >> 1

    @cached_property
    def keys(self) -> Tensor:
        """Pairs of a vertex and a neighbor, as numbers that ascend."""
        return self.vertex.row * self.vertex.count + self.vertex.item

    def find(self, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return whether u and v are adjacent, and the edge between them where they are."""
        key = u * self.vertex.count + v
        place = torch.searchsorted(self.keys, key).clamp_(max=len(self.keys) - 1)
        return self.keys[place] == key, self.edge[place]

    def extend(self, tails: Tensor) -> tuple[Tensor, Tensor]:
        """Return the neighbors of a list of vertices, and to which of these they belong."""
        owner, place, _ = self.vertex.positions_of(tails)
        return owner, self.vertex.item[place]

    def polygons(self, walks: Rows) -> Incidence:
        """Return the 2-cells that closed walks bound, with sign +1 where a walk ascends."""
        after = torch.arange(1, len(walks.item) + 1, device=walks.item.device)
        after[walks.offsets[1:] - 1] = walks.offsets[:-1]
        v, w = walks.item, walks.item[after]
        sign = torch.where(v < w, 1, -1).to(torch.int8)
        return Incidence.unchecked(
            self.find(v, w)[1], len(self.edge) // 2, None, walks.offsets, sign
        )


def grow(
    rows: Tensor,
    around: Neighbors,
    judge: Callable[[Tensor], tuple[Tensor, Tensor]],
    budget: Budget,
    column: Callable[[int], int] = lambda width: width - 1,
) -> Iterator[Tensor]:
    """Append vertices to rows until they are complete; complete rows of one width stay in order.

    Rows are processed in chunks, depth first, so that memory stays bounded.

    Args:
        rows: The rows to begin with, (m, c), in lexicographic order.
        around: The graph.
        judge: Given extended rows, which of them (mask) grow on, and which are complete.
        budget: The memory to work in.
        column: Given a width, which column's neighbors to append. Defaults to the last column.
    """
    stack, ptr = [rows], around.vertex.offsets
    while stack:
        rows = stack.pop()
        width = rows.shape[1]
        tails = rows[:, column(width)]
        totals = (ptr[tails + 1] - ptr[tails]).cumsum(0)
        most = budget.room(CANDIDATE_BYTES * (width + 1))
        if len(rows) > 1 and int(totals[-1]) > most:
            stack += [rows[start:stop] for start, stop, _ in cut(totals, most)][::-1]
            continue
        owner, w = around.extend(tails)
        rows = torch.cat([rows[owner], w[:, None]], dim=1)  # (candidates, c + 1)
        more, done = judge(rows)
        complete, rows = rows[done], rows[more]
        if len(complete):
            yield complete
        if len(rows):
            stack.append(rows)


def listed(
    chunks: Callable[[], Iterable[Tensor]],
    budget: Budget,
    cost: Callable[[int], int],
    remedy: str = "",
) -> dict[int, Tensor]:
    """Return all cells by their width; refuse them as soon as they would not fit.

    Many are found twice: they are counted, and only when all of them fit they are kept.

    Args:
        chunks: Finds the vertices of cells, (m, width) each.
        budget: The memory that they may take.
        cost: Given a width, the bytes of a cell in the result, and of what is needed meanwhile.
        remedy: What makes the result smaller, beside a lower dimension.
    """
    parts: dict[int, list[Tensor]] = {}
    counts: Counter[int] = Counter()
    need, small = 0, True
    for rows in track(chunks(), len(budget.counts)):
        width = rows.shape[1]
        counts[width] += len(rows)
        need += cost(width) * len(rows)
        budget.check(counts.total(), need, remedy)
        if small := small and budget.is_small(need):
            parts.setdefault(width, []).append(rows)
        else:
            parts.clear()
    if small:
        return {width: torch.cat(same) for width, same in parts.items()}
    device = rows.device
    out = {w: torch.empty((m, w), dtype=torch.int64, device=device) for w, m in counts.items()}
    row = Counter[int]()
    for rows in track(chunks(), len(budget.counts)):
        m, width = rows.shape
        out[width][row[width] : row[width] + m] = rows
        row[width] += m
    return out
