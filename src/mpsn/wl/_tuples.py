"""The higher Weisfeiler-Lehman tests on k-tuples: oblivious (k-WL) and folklore (k-FWL).

The two are one step apart: (k+1)-WL is as powerful as k-FWL, so 3-WL = 2-FWL, and 2-WL is no more
powerful than WL on vertices.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.memory import available_memory, check_room
from mpsn._rows.rows import Rows, ends, ranges
from mpsn.convert import CleanGraphs
from mpsn.errors import ColoringError
from mpsn.wl._grouping import distinct, multisets_of
from mpsn.wl._inputs import Initial, read
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import (
    Coloring,
    Colors,
    Painter,
    Refinement,
    Relation,
    Step,
    refine,
    step_by_relations,
)
from mpsn.wl._relations import narrow


def kwl(
    graphs: object,
    k: int = 2,
    *,
    rounds: int | None = None,
    palette: Palette | None = None,
    max_bytes: int | None = None,
) -> Refinement:
    r"""Run the (oblivious) k-WL test, k = 2 or 3 (appendix "Higher-Order WL" of the paper).

    .. math:: c_\mathbf{v}^{t+1} = \mathrm{HASH}\big(c_\mathbf{v}^t, \big(
        \{\!\{c_\mathbf{u}^t \mid \mathbf{u} \in \mathcal{N}_j(\mathbf{v})\}\!\}
        \mid j = 1, \ldots, k\big)\big)

    where :math:`\mathcal{N}_j(\mathbf{v})` replaces the j-th vertex by every vertex in turn.
    Tuples start with their isomorphism type. This is *not* the folklore test: 3-WL = 2-FWL.
    Tuples that share a neighborhood share its multiset, so a round takes k·n^k steps.

    Args:
        graphs: One graph, or a list of graphs to refine together, of any type that
            :func:`mpsn.clique_complex` takes.
        k: 2 or 3.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to share colors with earlier refinements; it is extended in place.
        max_bytes: Largest size of the tables. Defaults to half of the free memory.

    Example:
        >>> r = mpsn.wl.kwl([nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)], k=3)
        >>> r.classes().unique().tolist()
        [0, 1]
    """
    return _run(False, graphs, k, rounds, palette, max_bytes)


def kfwl(
    graphs: object,
    k: int = 2,
    *,
    rounds: int | None = None,
    palette: Palette | None = None,
    max_bytes: int | None = None,
) -> Refinement:
    r"""Run the folklore k-WL test (k-FWL), k = 2 or 3 (appendix "Higher-Order WL" of the paper).

    .. math:: c_\mathbf{v}^{t+1} = \mathrm{HASH}\big(c_\mathbf{v}^t, \{\!\{
        \big(c_\mathbf{u}^t \mid \mathbf{u} \in \mathcal{N}^F_j(\mathbf{v})\big)
        \mid j \in V\}\!\}\big)

    where :math:`\mathcal{N}^F_j(\mathbf{v})` lists the k tuples that have vertex j in place of the
    first, the second, ... vertex. As powerful as (k+1)-WL: 2-FWL = 3-WL. A round takes k·n^(k+1)
    steps. Arguments as for :func:`kwl`.

    Example:
        >>> r = mpsn.wl.kfwl([nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)], k=2)
        >>> r.classes().unique().tolist()
        [0, 1]
    """
    return _run(True, graphs, k, rounds, palette, max_bytes)


class _Tuples(NamedTuple):
    """All k-tuples of vertices of each graph, in lexicographic order, graph by graph.

    Of each tuple: ``graph``, the ``size`` of that graph, and ``vertices``, a tensor for each place.
    """

    graph: Tensor
    size: Tensor
    vertices: list[Tensor]

    def stride(self, place: int) -> Tensor:
        """Return how far apart tuples are whose vertices at a place are consecutive."""
        return self.size ** (len(self.vertices) - 1 - place)

    def with_zero(self, place: int) -> Tensor:
        """Return the position of each tuple with vertex 0 at a place."""
        position = torch.arange(len(self.graph), device=self.graph.device)
        return position - self.vertices[place] * self.stride(place)


def _run(
    folklore: bool,
    graphs: object,
    k: int,
    rounds: int | None,
    palette: Palette | None,
    max_bytes: int | None,
) -> Refinement:
    if not isinstance(k, (int, np.integer)) or k not in (2, 3):
        raise ColoringError(
            f"Expected k = 2 or 3, got {k!r}; for k = 1 use mpsn.wl.wl, larger k are not feasible."
        )
    k, test, clean = int(k), f"{k}-fwl" if folklore else f"{k}-wl", read(graphs)
    sizes = clean.ptr.diff()
    n = sizes.tolist()
    limit = available_memory(sizes.device) if max_bytes is None else max_bytes
    # Bytes per entry that a round holds at its peak, as measured.
    each, power = (20 * k + 20, k + 1) if folklore else (32 * k + 160, k)
    need = each * sum(m**power for m in n)
    most = max(n, default=0)
    got = f"{test.upper()} on graphs of up to {most} vertices: {sum(m**k for m in n)} tuples"
    remedy = "use fewer or smaller graphs, a smaller k, or raise max_bytes"
    check_room(need, limit, "tables", got, remedy)
    if palette is not None:
        palette.adopt(test, {})
    graph, position = ranges(torch.zeros_like(sizes), sizes**k)  # of each tuple, in its graph
    size = sizes[graph]
    vertices = [position // size ** (k - 1 - place) % size for place in range(k)]
    tuples = _Tuples(graph, size, vertices)
    initial = _isomorphism_types(clean, tuples)
    step = (_folklore if folklore else _oblivious)(tuples)
    ptr = ends(sizes**k)
    return refine(test, [initial], step, [ptr], rounds, palette)


def _isomorphism_types(clean: CleanGraphs, tuples: _Tuples) -> Initial:
    """Color tuples by which of their vertices are equal, and which adjacent."""
    sizes = clean.ptr.diff()
    first = ends(sizes**2)  # position of the first pair of each graph
    adjacent = torch.zeros(int(first[-1]), dtype=torch.int64, device=first.device)
    graph = torch.repeat_interleave(sizes)[clean.edges[:, 0]]  # (edges,)
    u, v = (clean.edges - clean.ptr[graph, None]).unbind(1)
    adjacent[first[graph] + u * sizes[graph] + v] = 1
    adjacent[first[graph] + v * sizes[graph] + u] = 1
    code = torch.zeros_like(tuples.graph)
    for a, b in combinations(tuples.vertices, 2):
        pair = first[tuples.graph] + a * tuples.size + b
        code = code * 3 + torch.where(a == b, 2, adjacent[pair])
    values, ids = torch.unique(code, return_inverse=True)
    return Initial(ids, values.tolist())


def _oblivious(tuples: _Tuples) -> Step:
    lines = []
    for place, vertex in enumerate(tuples.vertices):
        line = ((vertex == 0).cumsum(0) - 1)[tuples.with_zero(place)]
        on_line = Rows(line, int((vertex == 0).sum())).positions
        lines.append((on_line.offsets, narrow(on_line.item), narrow(line)))
    return partial(_oblivious_step, lines)


def _oblivious_step(
    lines: Sequence[tuple[Tensor, Tensor, Tensor]], colors: Colors, painter: Painter
) -> list[Coloring]:
    """Color the lines by the tuples on them, then the tuples by the lines through them.

    A line holds the tuples that differ only at one place: ``on_line[ptr[i]:ptr[i + 1]]`` are those
    on line i, and ``line`` is the line of each tuple.
    """
    received = []
    for place, (ptr, on_line, line) in enumerate(lines):
        uniform = torch.zeros(len(ptr) - 1, dtype=torch.int64, device=ptr.device)
        of_tuples = multisets_of(colors[0].index_select(0, on_line), ptr)
        of_lines = painter.paint(1 + place, distinct(uniform, [of_tuples])).colors
        received.append(of_lines.index_select(0, line))
    each = torch.arange(len(colors[0]) + 1, device=colors[0].device)
    return [painter.paint(0, distinct(colors[0], [multisets_of(painter.pack(received), each)]))]


def _folklore(tuples: _Tuples) -> Step:
    size = tuples.size
    receiver, vertex = ranges(torch.zeros_like(size), size)  # (entries,)
    columns = []
    for place in range(len(tuples.vertices)):
        sender = tuples.with_zero(place)[receiver] + vertex * tuples.stride(place)[receiver]
        columns.append((0, narrow(sender)))
    relation = Relation(ends(size), tuple(columns))
    return partial(step_by_relations, [[relation]])
