"""The simplicial Weisfeiler-Lehman test, on any complex."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Literal, cast

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset
from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import Kind
from mpsn.errors import ColoringError
from mpsn.wl import _inputs as start
from mpsn.wl._inputs import Initial, union_of
from mpsn.wl._marks import dimensions, refine_marked
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Refinement, refine, step_by_relations
from mpsn.wl._relations import ADJACENCIES, joint_relations, relations_of


def swl(
    complexes: Complex | ComplexDataset | Sequence[Complex],
    adjacencies: Sequence[Kind] = ("boundary", "upper"),
    *,
    initial: Literal["dimension", "uniform", "features"] | Sequence[Tensor | None] = "dimension",
    rounds: int | None = None,
    marks: int | Mapping[int, int] = 0,
    palette: Palette | None = None,
) -> Refinement:
    r"""Run the simplicial Weisfeiler-Lehman test (section 3 of the paper) to a stable coloring.

    .. math:: c_\sigma^{t+1} = \mathrm{HASH}\{c_\sigma^t, c_\mathcal{B}^t(\sigma),
        c_\mathcal{C}^t(\sigma), c_\downarrow^t(\sigma), c_\uparrow^t(\sigma)\}

    with the multisets of the chosen adjacencies: colors of faces, of co-faces, pairs
    :math:`(c_\tau, c_{\sigma\cap\tau})` over lower and :math:`(c_\tau, c_{\sigma\cup\tau})` over
    upper adjacent simplices (Definition 5). HASH is perfect: colors are keyed by whole signatures.
    Boundary and upper adjacencies are as powerful as all four (Theorem 6). On cell complexes this
    is the cellular test, CWL; two cells that share several faces or co-faces count once for each.

    Marked refinement (``marks=1``) is stronger: each vertex in turn gets a mark, the complex is
    refined with it, and the result is the multiset of the outcomes. It takes as many times as long
    as a complex has vertices. With ``marks=2``, each ordered pair of vertices gets two different
    marks, also each vertex both; with ``{0: 1, 2: 1}`` each pair of a vertex and a 2-cell. A mark
    of a dimension in which a complex has no cells is left out.

    Args:
        complexes: The complexes to refine together: one, a union, a list or a dataset.
        adjacencies: Any of "boundary", "coboundary", "lower", "upper".
        initial: "dimension" for one color per dimension; "uniform" for one color in all, so that
            colors are comparable between dimensions, which the test then finds by itself;
            "features" to color cells by their rows of ``x`` where there are any; or one tensor per
            dimension, (n_k,) or (n_k, F), or None. Defaults to "dimension".
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        marks: Number of vertices to mark at a time, or the number of cells by dimension. With
            marks, the result has a color for each way to mark cells, in lexicographic order: that
            of the complex with these cells marked. Defaults to 0.
        palette: Palette to share colors with earlier refinements; it is extended in place.

    Example:
        >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
        >>> r = mpsn.wl.swl(mpsn.clique_complexes([hexagon, triangles]))
        >>> r
        Refinement(swl, complexes=2, rounds=3, colors=(2, 2, 1))
        >>> r.histograms[0] == r.histograms[1]
        False

        Marking distinguishes them as graphs, too:

        >>> graphs = mpsn.clique_complexes([hexagon, triangles], max_dim=1)
        >>> [len(mpsn.wl.swl(graphs, marks=m).classes().unique()) for m in (0, 1)]
        [1, 2]
    """
    if not isinstance(initial, Sequence) or (
        isinstance(initial, str) and initial not in ("dimension", "uniform", "features")
    ):
        raise ColoringError(
            f"Expected initial 'dimension', 'uniform', 'features' or tensors, got {initial!r:.60}; "
            f"put tensors into a list, one per dimension."
        )
    marked = dimensions(marks)
    if marked and initial == "uniform":
        raise ColoringError("Expected initial 'dimension' with marks, got 'uniform'.")
    union = union_of(complexes, with_features=initial == "features")
    if (
        not isinstance(adjacencies, Collection)
        or isinstance(adjacencies, str)
        or any(name not in ADJACENCIES for name in adjacencies)
    ):
        raise ColoringError(
            f"Expected adjacencies among {', '.join(ADJACENCIES)}, got {adjacencies!r:.60}; "
            f"name them in a tuple."
        )
    chosen = [name for name in ADJACENCIES if name in adjacencies]
    colors, kinds = _initial(union, initial)
    if palette is not None:
        palette.adopt(("swl", *chosen, *(f"mark {k}" for k in marked)), kinds)
    if marked:
        return refine_marked(union, chosen, colors, marked, rounds, palette)
    offsets = [union.ptr(k) for k in range(len(colors))]
    if initial == "uniform":
        sizes = [len(level.ids) for level in colors]
        together = [start.uniform(sum(sizes), union.device)]
        step = partial(step_by_relations, [joint_relations(union, chosen)])
        return refine(
            "swl", together, step, offsets, rounds, palette, lambda c, _: torch.split(c[0], sizes)
        )
    step = partial(step_by_relations, relations_of(union, chosen, union.dim))
    return refine("swl", colors, step, offsets, rounds, palette)


def _initial(K: Complex, how: object) -> tuple[list[Initial], dict[int, str]]:
    levels = range(max(K.dim, 0) + 1)
    if how in ("dimension", "uniform"):
        return [start.uniform(K.count(k), K.device) for k in levels], dict.fromkeys(levels, how)
    rows = list(K.x if how == "features" else cast("Sequence[Tensor | None]", how))
    rows += [None] * (len(levels) - len(rows))
    for k in levels:
        row = rows[k]
        if row is not None and (
            not isinstance(row, Tensor) or row.dim() == 0 or len(row) != K.count(k)
        ):
            raise ColoringError(
                f"Expected initial colors of dimension {k} as a tensor of {K.count(k)} rows, one "
                f"per cell, got {row!r:.60}."
            )
    colors = [
        start.uniform(K.count(k), K.device) if row is None else start.from_rows(row)
        for k, row in enumerate(rows[: len(levels)])
    ]
    return colors, {k: start.kind_of(rows[k]) for k in levels if K.count(k)}
