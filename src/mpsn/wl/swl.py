"""The simplicial Weisfeiler-Lehman test."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor

from mpsn.complexes import ComplexDataset, SimplicialComplex, collate
from mpsn.complexes.operators import Kind
from mpsn.errors import ColoringError
from mpsn.wl import initial as start
from mpsn.wl.grouping import Multisets
from mpsn.wl.palette import Palette
from mpsn.wl.refinement import Colors, Initial, Painter, Refinement, refine

ADJACENCIES: tuple[Kind, ...] = ("boundary", "coboundary", "lower", "upper")


class Relation(NamedTuple):
    """Whom each receiver hears: entries ``ptr[i]:ptr[i + 1]``, each one or two simplices.

    ``columns`` holds (step, index) pairs: simplices ``index`` of the receiver's dimension + step.
    """

    ptr: Tensor
    columns: tuple[tuple[int, Tensor], ...]

    def gather(self, k: int, colors: Colors, painter: Painter) -> Multisets:
        """Collect the colors heard by k-simplices."""
        heard = [colors[k + step].index_select(0, index) for step, index in self.columns]
        return Multisets(self.ptr, painter.pack(heard))


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

    with the multisets of the adjacencies asked for: colors of faces, of co-faces, pairs
    :math:`(c_\tau, c_{\sigma\cap\tau})` over lower and :math:`(c_\tau, c_{\sigma\cup\tau})` over
    upper adjacent simplices (Definition 6). HASH is perfect: colors are keyed by whole signatures.
    Boundary and upper adjacencies are as powerful as all four (Theorem 7).

    Args:
        complexes: The complexes to refine together: one, a union, a list or a dataset.
        adjacencies: Any of "boundary", "coboundary", "lower", "upper".
        initial: "dimension" for one color per dimension; "features" to tell simplices apart by
            their rows of ``x`` where there are any; or one tensor per dimension, (n_k,) or
            (n_k, F), or None.
        rounds: How many rounds to run at most; until stable unless said.
        palette: Palette to take colors from and add them to, to refine one after another.

    Example:
        >>> hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
        >>> r = mpsn.wl.swl(mpsn.clique_complexes([hexagon, triangles]))
        >>> r
        Refinement(swl, complexes=2, rounds=2, colors=(2, 2, 1))
        >>> r.histograms[0] == r.histograms[1]
        False
    """
    union = _union(complexes)
    unknown = [name for name in adjacencies if name not in ADJACENCIES]
    if unknown or isinstance(adjacencies, str):
        raise ColoringError(
            f"Expected adjacencies among {', '.join(ADJACENCIES)}, got {adjacencies!r:.60}; "
            f"name them in a tuple."
        )
    chosen = [name for name in ADJACENCIES if name in adjacencies]
    colors, kinds = _initial(union, initial)
    if palette is not None:
        palette.adopt(("swl", *chosen), kinds)
    relations = [
        [relation for name in chosen if (relation := _RELATIONS[name](union, k))]
        for k in range(len(colors))
    ]

    def signatures(k: int, now: Colors, painter: Painter) -> tuple[Tensor, list[Multisets]]:
        return now[k], [relation.gather(k, now, painter) for relation in relations[k]]

    return refine("swl", colors, signatures, union._ptr, rounds, palette)


def _union(complexes: object) -> SimplicialComplex:
    if isinstance(complexes, ComplexDataset):
        complexes = complexes.union
    elif isinstance(complexes, Sequence) and all(
        isinstance(K, SimplicialComplex) for K in complexes
    ):
        complexes = collate(complexes)
    if not isinstance(complexes, SimplicialComplex):
        raise ColoringError(
            f"Expected complexes, got {complexes!r:.60}; lift graphs with mpsn.clique_complexes."
        )
    check_vertices(complexes.ptr(0).diff(), "complex")
    return complexes


def check_vertices(sizes: Tensor, what: str) -> None:
    """Refuse complexes or graphs without vertices: there is nothing to color."""
    if bool((sizes == 0).any()):
        number = int((sizes == 0).nonzero()[0])
        raise ColoringError(
            f"Expected at least one vertex, got none in {what} {number}; leave it out."
        )


def _initial(K: SimplicialComplex, how: object) -> tuple[list[Initial], dict[int, str]]:
    levels = range(len(K._ptr))
    if how == "dimension":
        return [start.uniform(K.count(k), K.device) for k in levels], dict.fromkeys(levels, how)
    if isinstance(how, str) and how != "features":
        raise ColoringError(f"Expected initial 'dimension', 'features' or tensors, got {how!r}.")
    given = list(K.x if how == "features" else cast("Sequence[Tensor | None]", how))
    rows = given + [None] * (len(levels) - len(given))
    for k in levels:
        row = rows[k]
        if row is not None and (not isinstance(row, Tensor) or len(row) != K.count(k)):
            raise ColoringError(
                f"Expected initial colors of dimension {k} as a tensor of {K.count(k)} rows, one "
                f"per simplex, got {row!r:.60}."
            )
    colors = [
        start.uniform(K.count(k), K.device) if rows[k] is None else start.from_rows(rows[k])
        for k in levels
    ]
    return colors, {k: start.kind_of(rows[k]) for k in levels if K.count(k)}


# Relations --------------------------------------------------------------------------------


def _boundary(K: SimplicialComplex, k: int) -> Relation | None:
    if k == 0:
        return None
    table = K.faces(k)
    ptr = torch.arange(0, table.numel() + 1, k + 1, device=K.device)
    return Relation(ptr, ((-1, _small(table.reshape(-1))),))


def _coboundary(K: SimplicialComplex, k: int) -> Relation | None:
    if k >= K.dim:
        return None
    ptr, at = _by_face(K.faces(k + 1), K.count(k))
    return Relation(ptr, ((1, _small(at // (k + 2))),))


def _upper(K: SimplicialComplex, k: int) -> Relation | None:
    if k >= K.dim:
        return None
    table, width = K.faces(k + 1), k + 2
    ptr, at = _by_face(table, K.count(k))
    row, column = at // width, at % width
    others = (column[:, None] + torch.arange(1, width, device=K.device)) % width
    others += (row * width)[:, None]  # (incidences, k + 1): positions of the other faces
    sender = _small(table.reshape(-1)).index_select(0, others.reshape(-1))
    shared = _small(row).repeat_interleave(width - 1)
    return Relation(ptr * (width - 1), ((0, sender), (1, shared)))


def _lower(K: SimplicialComplex, k: int) -> Relation | None:
    if k == 0:
        return None
    pairs = K.adjacency(k, "lower")
    order = pairs.receiver.sort(stable=True).indices
    ptr = _offsets(pairs.receiver, K.count(k))
    shared = cast("Tensor", pairs.shared)
    return Relation(ptr, ((0, _small(pairs.sender[order])), (-1, _small(shared[order]))))


def _by_face(table: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Sort the entries of a face table by the face they name: offsets and positions."""
    faces = _small(table.reshape(-1))
    return _offsets(faces, n), faces.sort(stable=True).indices


def _offsets(receivers: Tensor, n: int) -> Tensor:
    return torch.nn.functional.pad(torch.bincount(receivers, minlength=n).cumsum(0), (1, 0))


def _small(index: Tensor) -> Tensor:
    """Narrow an index: half the memory, and gathers are faster."""
    return index if index.numel() >= 1 << 31 else index.to(torch.int32)


_RELATIONS: dict[Kind, Callable[[SimplicialComplex, int], Relation | None]] = {
    "boundary": _boundary,
    "coboundary": _coboundary,
    "lower": _lower,
    "upper": _upper,
}
