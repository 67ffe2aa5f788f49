"""The classical Weisfeiler-Lehman test: color refinement on vertices."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mpsn._rows.rows import Rows
from mpsn.wl._inputs import is_one, of_vertices, read, uniform
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Refinement, Relation, refine, step_by_relations
from mpsn.wl._relations import narrow


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
        graphs: One graph, or a list of graphs to refine together, of any type that
            :func:`mpsn.clique_complex` takes.
        colors: Initial vertex colors, for each graph a tensor (n,) or (n, F) or a sequence of n
            numbers or strings; for one graph, that alone. Defaults to one color for all vertices.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to share colors with earlier refinements; it is extended in place.

    Example:
        >>> r = mpsn.wl.wl([nx.path_graph(4), nx.star_graph(3)])
        >>> r.rounds, [len(vertices) for vertices, in r.histograms], r.classes().unique().tolist()
        (3, [2, 2], [0, 1])
    """
    clean = read(graphs)
    sizes, device = clean.ptr.diff().tolist(), clean.edges.device
    if colors is None or not sizes:
        initial, kind = uniform(sum(sizes), device), "none"
    else:
        initial, kind = of_vertices([colors] if is_one(graphs) else colors, sizes)
        initial = initial._replace(ids=initial.ids.to(device))
    if palette is not None:
        palette.adopt("wl", {0: kind})
    receiver, sender = torch.cat([clean.edges, clean.edges.flip(1)]).unbind(1)  # (2E,)
    entries = Rows(receiver, sum(sizes)).positions
    neighbors = Relation(entries.offsets, ((0, narrow(sender[entries.item])),))
    step = partial(step_by_relations, [[neighbors]])
    return refine("wl", [initial], step, [clean.ptr], rounds, palette)
