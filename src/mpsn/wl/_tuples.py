"""The higher Weisfeiler-Lehman tests on k-tuples: oblivious (k-WL) and folklore (k-FWL).

The two are one step apart: (k+1)-WL is as powerful as k-FWL, so 3-WL = 2-FWL, and 2-WL is no more
powerful than WL on vertices.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from mpsn._rows.memory import available_memory
from mpsn.complexes._graphs import CleanGraphs
from mpsn.errors import ColoringError, TooLargeError
from mpsn.wl._grouping import Multisets, distinct
from mpsn.wl._inputs import Initial, read
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Colors, Painter, Refinement, Signatures, refine
from mpsn.wl.relations import Relation, narrow


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
        max_bytes: Largest size of the tables. Defaults to three quarters of the free memory.

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

    ``ptr``: where the tuples of each graph start. Of each tuple: ``owner``, its graph; ``size``,
    the number of vertices of that graph; ``local``, its position among the tuples of that graph;
    ``digits``, its vertices.
    """

    ptr: Tensor
    owner: Tensor
    size: Tensor
    local: Tensor
    digits: list[Tensor]


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
    if need > limit:
        raise TooLargeError(
            f"Expected tables of at most {limit / 2**30:.3g} GiB, got {test.upper()} on graphs "
            f"of up to {max(n)} vertices: {sum(m**k for m in n)} tuples, which need "
            f"{need / 2**30:.3g} GiB; use fewer or smaller graphs, a smaller k, or raise max_bytes."
        )
    if palette is not None:
        palette.adopt(test, {})
    ptr = pad((sizes**k).cumsum(0), (1, 0))
    owner = torch.repeat_interleave(sizes**k)
    local, size = torch.arange(len(owner), device=ptr.device) - ptr[owner], sizes[owner]
    digits = [local // size ** (k - 1 - j) % size for j in range(k)]
    tuples = _Tuples(ptr, owner, size, local, digits)
    initial = _isomorphism_types(clean, tuples)
    signatures = (_folklore if folklore else _oblivious)(tuples)
    return refine(test, [initial], [signatures], [ptr], rounds, palette)


def _isomorphism_types(clean: CleanGraphs, tuples: _Tuples) -> Initial:
    """Color tuples by which of their vertices are equal, and which adjacent."""
    sizes = clean.ptr.diff()
    starts = pad((sizes**2).cumsum(0), (1, 0))
    pairs = torch.zeros(int(starts[-1]), dtype=torch.int64, device=starts.device)
    graph = torch.repeat_interleave(sizes)[clean.edges[:, 0]]  # (edges,)
    u, v = (clean.edges - clean.ptr[graph, None]).unbind(1)
    pairs[starts[graph] + u * sizes[graph] + v] = 1
    pairs[starts[graph] + v * sizes[graph] + u] = 1
    code = torch.zeros_like(tuples.owner)
    for a, b in combinations(tuples.digits, 2):
        adjacent = pairs[starts[tuples.owner] + a * tuples.size + b]
        code = code * 3 + torch.where(a == b, 2, adjacent)
    values, ids = torch.unique(code, return_inverse=True)
    return Initial(ids, values.tolist())


def _oblivious(tuples: _Tuples) -> Signatures:
    lines = [_lines(tuples, j) for j in range(len(tuples.digits))]
    singly = torch.arange(len(tuples.owner) + 1, device=tuples.ptr.device)

    def signatures(now: Colors, painter: Painter) -> list[tuple[Tensor, list[Multisets]]]:
        heard = []
        for j, (ptr, members, line) in enumerate(lines):
            nothing = torch.zeros(len(ptr) - 1, dtype=torch.int64, device=ptr.device)
            around = Multisets(ptr, now[0].index_select(0, members))
            named, _ = painter.paint(1 + j, [distinct(nothing, [around])])
            heard.append(Multisets(singly, named.index_select(0, line)))
        return [(now[0], heard)]

    return signatures


def _lines(tuples: _Tuples, j: int) -> tuple[Tensor, Tensor, Tensor]:
    """Group the tuples that differ only in the j-th vertex.

    Returns where each such line starts, the tuples on the lines one line after another, and the
    line of each tuple.
    """
    size, local = tuples.size, tuples.local
    stride = size ** (len(tuples.digits) - 1 - j)
    nth, vertex = local // size, local % size  # read positions as (line, vertex on it)
    members = (
        tuples.ptr[tuples.owner] + nth // stride * stride * size + nth % stride + vertex * stride
    )
    ptr = pad((vertex == 0).nonzero().squeeze(1), (0, 1), value=len(local))
    line = torch.empty_like(local)
    line[members] = torch.repeat_interleave(ptr.diff(), output_size=len(local))
    return ptr, narrow(members), narrow(line)


def _folklore(tuples: _Tuples) -> Signatures:
    size = tuples.size
    ptr = pad(size.cumsum(0), (1, 0))
    receiver = torch.repeat_interleave(size)  # (entries,)
    vertex = torch.arange(len(receiver), device=ptr.device) - ptr[receiver]
    swapped = []
    for j, digit in enumerate(tuples.digits):
        stride = size ** (len(tuples.digits) - 1 - j)
        base = torch.arange(len(size), device=ptr.device) - digit * stride
        swapped.append((0, narrow(base[receiver] + vertex * stride[receiver])))
    neighbors = Relation(ptr, tuple(swapped))
    return lambda now, painter: [(now[0], [neighbors.gather(0, now, painter)])]
