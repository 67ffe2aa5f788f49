"""The simplicial Weisfeiler-Lehman test."""

from collections.abc import Collection, Sequence
from typing import Literal, cast

from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex, collate
from mpsn.complexes._operators import Kind
from mpsn.errors import ColoringError
from mpsn.wl import _inputs as start
from mpsn.wl._grouping import Multisets
from mpsn.wl._inputs import Initial, check_vertices
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Colors, Painter, Refinement, refine
from mpsn.wl.relations import ADJACENCIES


def swl(
    complexes: SimplicialComplex | ComplexDataset | Sequence[SimplicialComplex],
    adjacencies: Sequence[Kind] = ("boundary", "upper"),
    *,
    initial: Literal["dimension", "features"] | Sequence[Tensor | None] = "dimension",
    rounds: int | None = None,
    palette: Palette | None = None,
) -> Refinement:
    r"""Run the simplicial Weisfeiler-Lehman test (section 3 of the paper) to a stable coloring.

    .. math:: c_\sigma^{t+1} = \mathrm{HASH}\{c_\sigma^t, c_\mathcal{B}^t(\sigma),
        c_\mathcal{C}^t(\sigma), c_\downarrow^t(\sigma), c_\uparrow^t(\sigma)\}

    with the multisets of the chosen adjacencies: colors of faces, of co-faces, pairs
    :math:`(c_\tau, c_{\sigma\cap\tau})` over lower and :math:`(c_\tau, c_{\sigma\cup\tau})` over
    upper adjacent simplices (Definition 5). HASH is perfect: colors are keyed by whole signatures.
    Boundary and upper adjacencies are as powerful as all four (Theorem 6).

    Args:
        complexes: The complexes to refine together: one, a union, a list or a dataset.
        adjacencies: Any of "boundary", "coboundary", "lower", "upper".
        initial: "dimension" for one color per dimension; "features" to color simplices by their
            rows of ``x`` where there are any; or one tensor per dimension, (n_k,) or (n_k, F), or
            None.
        rounds: Number of rounds. Defaults to as many as needed for a stable coloring.
        palette: Palette to share colors with earlier refinements; it is extended in place.

    Example:
        >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
        >>> r = mpsn.wl.swl(mpsn.clique_complexes([hexagon, triangles]))
        >>> r
        Refinement(swl, complexes=2, rounds=3, colors=(2, 2, 1))
        >>> r.histograms[0] == r.histograms[1]
        False
    """
    if not isinstance(initial, Sequence) or (
        isinstance(initial, str) and initial not in ("dimension", "features")
    ):
        raise ColoringError(
            f"Expected initial 'dimension', 'features' or tensors, got {initial!r:.60}; put "
            f"tensors into a list, one per dimension."
        )
    union = _union(complexes, with_features=initial == "features")
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
        palette.adopt(("swl", *chosen), kinds)
    offsets = tuple(union.ptr(k) for k in range(len(colors)))
    relations = [
        [relation for name in chosen if (relation := ADJACENCIES[name](union, k))]
        for k in range(len(colors))
    ]

    def signatures(k: int, now: Colors, painter: Painter) -> tuple[Tensor, list[Multisets]]:
        return now[k], [relation.gather(k, now, painter) for relation in relations[k]]

    return refine("swl", colors, signatures, offsets, rounds, palette)


def _union(complexes: object, with_features: bool) -> SimplicialComplex:
    """Join complexes, without what the test ignores: labels, orientations, features."""
    if isinstance(complexes, ComplexDataset):
        complexes = complexes.union
    elif isinstance(complexes, Sequence) and all(
        isinstance(K, SimplicialComplex) for K in complexes
    ):
        complexes = collate(
            [K.bare().replace(x=K.x) if with_features else K.bare() for K in complexes]
        )
    if not isinstance(complexes, SimplicialComplex):
        raise ColoringError(
            f"Expected complexes, got {complexes!r:.60}; lift graphs with mpsn.clique_complexes."
        )
    check_vertices(complexes.ptr(0).diff(), "complex")
    return complexes


def _initial(K: SimplicialComplex, how: object) -> tuple[list[Initial], dict[int, str]]:
    levels = range(max(K.dim, 0) + 1)
    if how == "dimension":
        return [start.uniform(K.count(k), K.device) for k in levels], dict.fromkeys(levels, how)
    given = list(K.x if how == "features" else cast("Sequence[Tensor | None]", how))
    rows = given + [None] * (len(levels) - len(given))
    for k in levels:
        row = rows[k]
        if row is not None and (
            not isinstance(row, Tensor) or row.dim() == 0 or len(row) != K.count(k)
        ):
            raise ColoringError(
                f"Expected initial colors of dimension {k} as a tensor of {K.count(k)} rows, one "
                f"per simplex, got {row!r:.60}."
            )
    colors = [
        start.uniform(K.count(k), K.device) if row is None else start.from_rows(row)
        for k, row in enumerate(rows[: len(levels)])
    ]
    return colors, {k: start.kind_of(rows[k]) for k in levels if K.count(k)}
