"""Lifts by name, for functions that lift graphs on the way to something else."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, cast, get_args

from mpsn.complexes import ComplexDataset
from mpsn.complexes.complex import Complex
from mpsn.errors import GraphError
from mpsn.lifting.clique import clique_complexes
from mpsn.lifting.cube import cube_complexes
from mpsn.lifting.ring import ring_complexes
from mpsn.lifting.transforms import ToComplex, options_of

Name = Literal["cliques", "rings", "cliques+rings", "cubes"]
Lift = Name | str | Callable[[Any], Complex]


def as_lift(
    lift: Lift, max_dim: int | None = 2, max_ring: int = 6
) -> Callable[..., ComplexDataset[Any]]:
    """Return the lift of a list of graphs, given by name or as a function of one graph.

    Args:
        lift: "cliques"; "rings", with chordless cycles as 2-cells; "cliques+rings", with cliques of
            four and more vertices on top; "cubes"; another name of
            :class:`mpsn.lifting.ToComplex`; or a function from one of the graphs to a complex.
        max_dim: Largest dimension of cliques and cubes; None for all.
        max_ring: Largest number of vertices of a ring.

    Example:
        >>> from mpsn.lifting._named import as_lift
        >>> as_lift("rings")([nx.cycle_graph(5)])[0]
        CellComplex(dim=2, counts=(5, 5, 1))
        >>> as_lift(mpsn.clique_complex)([nx.cycle_graph(3)])[0]
        SimplicialComplex(dim=2, counts=(3, 3, 1))
    """
    if (one := as_transform(lift, max_dim, max_ring)) is not None or callable(lift):
        return lambda graphs: _each(one or cast("Any", lift), graphs)
    if lift == "cliques+rings" and max_dim is not None and max_dim < 3:
        raise GraphError(
            f"Expected max_dim >= 3 for the lift 'cliques+rings', got {max_dim}: rings are the "
            f"2-cells, and cliques of four vertices come above them; raise max_dim, or use 'rings'."
        )
    return {
        "cliques": partial(clique_complexes, max_dim=max_dim),
        "rings": partial(ring_complexes, max_ring=max_ring),
        "cliques+rings": partial(ring_complexes, max_ring=max_ring, max_dim=max_dim),
        "cubes": partial(cube_complexes, max_dim=max_dim),
    }[lift]


def as_transform(lift: Lift, max_dim: int | None = 2, max_ring: int = 6) -> ToComplex | None:
    """Return a lift as a transform of single items; None if it lifts many graphs at once.

    Such a lift takes whatever the user gave. Arguments as for :func:`as_lift`.
    """
    if isinstance(lift, ToComplex) or callable(lift) or lift in get_args(Name):
        return lift if isinstance(lift, ToComplex) else None
    settings, known = {"max_dim": max_dim, "max_ring": max_ring}, options_of(lift)
    return ToComplex(lift, **{k: v for k, v in settings.items() if k in known})


def _each(lift: Callable[[Any], Complex], graphs: Sequence[object]) -> ComplexDataset[Any]:
    found = [lift(graph) for graph in graphs]
    for K in found:
        if not isinstance(K, Complex):
            raise GraphError(f"Expected a lift that returns a complex, got {K!r:.60}.")
    return ComplexDataset(found)
