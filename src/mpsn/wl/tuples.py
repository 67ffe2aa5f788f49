"""The higher Weisfeiler-Lehman tests on k-tuples: oblivious (k-WL) and folklore (k-FWL).

The two are one step apart: (k+1)-WL tells apart exactly what k-FWL does, so 3-WL = 2-FWL, and
2-WL is no stronger than WL on vertices.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes._graphs import CleanGraphs
from mpsn.complexes._memory import available_memory
from mpsn.errors import ColoringError, TooLargeError
from mpsn.wl.graphs import read
from mpsn.wl.grouping import Multisets
from mpsn.wl.initial import Initial
from mpsn.wl.palette import Palette
from mpsn.wl.refinement import Colors, Painter, Refinement, Signatures, refine
from mpsn.wl.relations import narrow


class Tuples(NamedTuple):
    """All k-tuples of the vertices of each graph, in lexicographic order, graph by graph.

    ``ptr``: where the tuples of each graph start. Of each tuple: ``owner``, its graph; ``size``,
    the number of vertices of that graph; ``local``, its position among the tuples of that graph;
    ``digits``, its vertices.
    """

    ptr: Tensor
    owner: Tensor
    size: Tensor
    local: Tensor
    digits: list[Tensor]


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
    The multiset of a neighborhood is made once for the n tuples that share it, so a round takes
    k·n^k steps.

    Args:
        graphs: One graph, or a list of graphs to refine together, of any kind that
            :func:`mpsn.clique_complex` takes.
        k: 2 or 3.
        rounds: How many rounds to run; until stable unless said.
        palette: Palette to take colors from and add them to, to refine one after another.
        max_bytes: Largest size of the tables; three quarters of the free memory unless said.

    Example:
        >>> r = mpsn.wl.kwl([nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)], k=3)
        >>> r.classes().unique().tolist()
        [0, 1]
    """
    clean, k = _read(graphs, k)
    _check_size(clean, f"{k}-WL", k, k, 32 * k + 160, max_bytes)
    tuples = _tuples(clean, k)
    lines = [_lines(tuples, k, j) for j in range(k)]
    singly = torch.arange(len(tuples.local) + 1, device=tuples.ptr.device)

    def signatures(_: int, now: Colors, painter: Painter) -> tuple[Tensor, list[Multisets]]:
        heard = []
        for j, (ptr, members, line) in enumerate(lines):
            nothing = torch.zeros(len(ptr) - 1, dtype=torch.int64, device=ptr.device)
            around = Multisets(ptr, now[0].index_select(0, members))
            named, _ = painter.paint(1 + j, nothing, [around])
            heard.append(Multisets(singly, named.index_select(0, line)))
        return now[0], heard

    return _refine(f"{k}-wl", clean, tuples, k, signatures, rounds, palette)


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
    clean, k = _read(graphs, k)
    _check_size(clean, f"{k}-FWL", k, k + 1, 20 * k + 20, max_bytes)
    tuples = _tuples(clean, k)
    ptr = torch.nn.functional.pad(tuples.size.cumsum(0), (1, 0))
    owner = torch.repeat_interleave(tuples.size)  # (entries,): the tuple that hears
    vertex = torch.arange(len(owner), device=ptr.device) - ptr[owner]
    swapped = []
    for j, digit in enumerate(tuples.digits):
        stride = tuples.size ** (k - 1 - j)
        base = torch.arange(len(stride), device=ptr.device) - digit * stride
        swapped.append(narrow(base[owner] + vertex * stride[owner]))

    def signatures(_: int, now: Colors, painter: Painter) -> tuple[Tensor, list[Multisets]]:
        heard = painter.pack([now[0].index_select(0, index) for index in swapped])
        return now[0], [Multisets(ptr, heard)]

    return _refine(f"{k}-fwl", clean, tuples, k, signatures, rounds, palette)


def _read(graphs: object, k: int) -> tuple[CleanGraphs, int]:
    if not isinstance(k, (int, np.integer)) or k not in (2, 3):
        raise ColoringError(
            f"Expected k = 2 or 3, got {k!r}; for k = 1 use mpsn.wl.wl, larger k are not feasible."
        )
    return read(graphs), int(k)


def _check_size(
    clean: CleanGraphs, test: str, k: int, power: int, each: int, max_bytes: int | None
) -> None:
    """Refuse tables that would not fit, before anything is allocated.

    ``each`` is what a round was seen to hold at its peak, in bytes per entry, of n^power entries.
    """
    sizes = clean.ptr.diff().tolist()
    limit = available_memory(clean.ptr.device) if max_bytes is None else max_bytes
    need = each * sum(n**power for n in sizes)
    if need > limit:
        raise TooLargeError(
            f"Expected tables of at most {limit / 2**30:.3g} GiB, got {test} on graphs "
            f"of up to {max(sizes)} vertices: {sum(n**k for n in sizes)} tuples, which need "
            f"{need / 2**30:.3g} GiB; use fewer or smaller graphs, a smaller k, or raise max_bytes."
        )


def _tuples(clean: CleanGraphs, k: int) -> Tuples:
    sizes = clean.ptr.diff()
    ptr = torch.nn.functional.pad((sizes**k).cumsum(0), (1, 0))
    owner = torch.repeat_interleave(sizes**k)
    local = torch.arange(len(owner), device=ptr.device) - ptr[owner]
    size = sizes[owner]
    digits = [local // size ** (k - 1 - j) % size for j in range(k)]
    return Tuples(ptr, owner, size, local, digits)


def _lines(tuples: Tuples, k: int, j: int) -> tuple[Tensor, Tensor, Tensor]:
    """Group the tuples that differ in the j-th vertex alone.

    Returns where each such line starts, the tuples on the lines one line after another, and the
    line of each tuple.
    """
    size, local = tuples.size, tuples.local
    shift = tuples.ptr[tuples.owner]
    stride = size ** (k - 1 - j)
    nth, vertex = local // size, local % size  # read positions as (line, vertex on it)
    members = shift + nth // stride * stride * size + nth % stride + vertex * stride
    starts = (vertex == 0).nonzero().squeeze(1)
    ptr = torch.nn.functional.pad(starts, (0, 1), value=len(local))
    line = torch.empty_like(local)
    line[members] = torch.repeat_interleave(ptr.diff(), output_size=len(local))
    return ptr, narrow(members), narrow(line)


def _types(clean: CleanGraphs, tuples: Tuples, k: int) -> Initial:
    """Color tuples by isomorphism type: which of their vertices are equal, which adjacent."""
    sizes = clean.ptr.diff()
    starts = torch.nn.functional.pad((sizes**2).cumsum(0), (1, 0))
    pairs = torch.zeros(int(starts[-1]), dtype=torch.int64, device=starts.device)
    graph = torch.repeat_interleave(sizes)  # (vertices,)
    u, v = (clean.edges - clean.ptr[graph[clean.edges]]).unbind(1)
    at = graph[clean.edges[:, 0]]
    pairs[starts[at] + u * sizes[at] + v] = 1
    pairs[starts[at] + v * sizes[at] + u] = 1
    code = torch.zeros_like(tuples.local)
    for i in range(k):
        for j in range(i + 1, k):
            a, b = tuples.digits[i], tuples.digits[j]
            kind = pairs[starts[tuples.owner] + a * tuples.size + b]
            code = code * 3 + torch.where(a == b, 2, kind)
    values, ids = torch.unique(code, return_inverse=True)
    return Initial(ids, values.tolist())


def _refine(
    test: str,
    clean: CleanGraphs,
    tuples: Tuples,
    k: int,
    signatures: Signatures,
    rounds: int | None,
    palette: Palette | None,
) -> Refinement:
    if palette is not None:
        palette.adopt(test, {})
    initial = _types(clean, tuples, k)
    return refine(test, [initial], signatures, [tuples.ptr], rounds, palette)
