"""The classical Weisfeiler-Lehman test: color refinement on vertices."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn.complexes._sparse import grouped
from mpsn.wl import initial as start
from mpsn.wl.graphs import is_one, read
from mpsn.wl.grouping import Multisets
from mpsn.wl.initial import Initial
from mpsn.wl.palette import Palette
from mpsn.wl.refinement import Colors, Painter, Refinement, refine
from mpsn.wl.relations import narrow


def wl(
    graphs: object,
    colors: Sequence[Any] | Tensor | None = None,
    *,
    rounds: int | None = None,
    palette: Palette | None = None,
) -> Refinement:
    r"""Run the Weisfeiler-Lehman test, also called 1-WL or color refinement, on vertices.

    .. math:: c_v^{t+1} = \mathrm{HASH}(c_v^t, \{\!\{c_u^t \mid u \sim v\}\!\})

    Args:
        graphs: One graph, or a list of graphs to refine together, of any kind that
            :func:`mpsn.clique_complex` takes.
        colors: Initial colors of vertices, for each graph a tensor (n,) or (n, F) or a sequence of
            n numbers or strings (for one graph, that alone); all vertices alike unless said.
        rounds: How many rounds to run; until stable unless said.
        palette: Palette to take colors from and add them to, to refine one after another.

    Example:
        >>> r = mpsn.wl.wl([nx.path_graph(4), nx.star_graph(3)])
        >>> r.rounds, [len(vertices) for vertices, in r.histograms], r.classes().unique().tolist()
        (3, [2, 2], [0, 1])
    """
    clean = read(graphs)
    sizes, where = clean.ptr.diff().tolist(), clean.edges.device
    if colors is None or not sizes:
        initial, kind = start.uniform(sum(sizes), where), "none"
    else:
        initial, kind = start.of_vertices([colors] if is_one(graphs) else colors, sizes)
    if palette is not None:
        palette.adopt("wl", {0: kind})
    ends = torch.cat([clean.edges, clean.edges.flip(1)])  # (2E, 2): receiver, sender
    order, ptr = grouped(ends[:, 0], sum(sizes))
    senders = narrow(ends[order, 1])

    def signatures(_: int, now: Colors, __: Painter) -> tuple[Tensor, list[Multisets]]:
        return now[0], [Multisets(ptr, now[0].index_select(0, senders))]

    first = Initial(initial.ids.to(where), initial.keys)
    return refine("wl", [first], signatures, [clean.ptr], rounds, palette)
