"""Lifts as values: by name, with their options."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from mpsn.complexes import Complex, ComplexDataset
from mpsn.errors import GraphError, did_you_mean
from mpsn.lifting.alpha import alpha_complex, cech_complex, witness_complex
from mpsn.lifting.clique import clique_complex, clique_complexes
from mpsn.lifting.cube import cube_complex, cube_complexes
from mpsn.lifting.cubical import cubical_complex
from mpsn.lifting.directed import directed_flag_complex
from mpsn.lifting.graphs import (
    independence_complex,
    nearest_neighbor_complex,
    neighborhood_complex,
    path_complex,
)
from mpsn.lifting.mesh import mesh_complex
from mpsn.lifting.motif import motif_complex
from mpsn.lifting.relations import dowker_complex, hypergraph_complex
from mpsn.lifting.ring import ring_complex, ring_complexes
from mpsn.lifting.rips import rips_complex


class Road(NamedTuple):
    """A way to a complex; the arguments of its function, but for ``fixed`` ones, are its options.

    ``many`` lifts a list of graphs in one call. The cost is in words.
    """

    data: Literal["graph", "points", "mesh", "relation", "image"]
    lift: Callable[..., Complex]
    cost: str
    many: Callable[..., ComplexDataset[Any]] | None = None
    fixed: Mapping[str, Any] = {}

    def options(self) -> dict[str, inspect.Parameter]:
        """Return the options by name."""
        _, *options = inspect.signature(self.lift).parameters.values()
        return {option.name: option for option in options if option.name not in self.fixed}


# n vertices or points, m edges, degree d, arboricity a, dimension k of the result
LIFTS = {
    "cliques": Road("graph", clique_complex, "a^(k-1) m", clique_complexes),
    "rings": Road(
        "graph", ring_complex, "n d^(max_ring/2) and more", ring_complexes, {"max_dim": 2}
    ),
    "cliques+rings": Road(
        "graph",
        partial(ring_complex, max_dim=None),
        "both",
        partial(ring_complexes, max_dim=None),
    ),
    "cubes": Road("graph", cube_complex, "m d^k", cube_complexes),
    "neighborhoods": Road("graph", neighborhood_complex, "n d^(k+1)"),
    "independence": Road("graph", independence_complex, "n^(k+1)"),
    "paths": Road("graph", path_complex, "n d^length"),
    "motifs": Road("graph", motif_complex, "n d^(vertices of a pattern - 1)"),
    "nearest": Road("graph", nearest_neighbor_complex, "n log n, then as cliques"),
    "directed": Road("graph", directed_flag_complex, "a^(k-1) m, up to (k+1)! of a clique"),
    "rips": Road("points", rips_complex, "n log n, then as cliques"),
    "alpha": Road("points", alpha_complex, "n log n in the plane, n^2 in space"),
    "cech": Road("points", cech_complex, "as alpha"),
    "witness": Road("points", witness_complex, "n times the landmarks near a point"),
    "mesh": Road("mesh", mesh_complex, "m"),
    "hypergraph": Road("relation", hypergraph_complex, "size^(k+1) of each hyperedge"),
    "dowker": Road("relation", dowker_complex, "size^(k+1) of each column"),
    "cubical": Road("image", cubical_complex, "2^k entries"),
}


@dataclass(frozen=True, init=False, repr=False)
class Lift:
    """A lift of graphs, points, ... to complexes, with its options: an immutable value.

    Called with one graph, it returns a complex; :meth:`many` lifts a list. It is a transform of
    PyG, to compose with others, and the ``lift`` of an estimator.

    Args:
        how: The lift: cliques, rings, cliques+rings, cubes, neighborhoods, independence, paths,
            motifs, nearest or directed, of a graph; rips, alpha, cech or witness, of points; mesh;
            hypergraph or dowker, of a relation; cubical, of an image. Or a function from a graph,
            ..., to a complex.
        options: Arguments of that function, by name.

    Example:
        >>> lift = mpsn.Lift("rips", radius=1.5)
        >>> lift([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
        SimplicialComplex(dim=2, counts=(4, 3, 1), features=(2, 1, 1))
        >>> mpsn.Lift("rings", max_ring=5).many([nx.cycle_graph(5), nx.cycle_graph(6)])[0]
        CellComplex(dim=2, counts=(5, 5, 1))
    """

    how: str | Callable[..., Complex]
    options: tuple[tuple[str, Any], ...]

    def __init__(self, how: str | Callable[..., Complex], **options: Any) -> None:
        if not callable(how):
            _check_options(how, options)
        object.__setattr__(self, "how", how)
        object.__setattr__(self, "options", tuple(sorted(options.items())))

    @classmethod
    def of(cls, lift: "AnyLift", **settings: Any) -> "Lift":
        """Return a lift, which may be given by name, with those of the settings that it has.

        Example:
            >>> mpsn.Lift.of("rings", max_dim=2, max_ring=8)
            Lift('rings', max_ring=8)
        """
        if isinstance(lift, Lift) or callable(lift):
            return lift if isinstance(lift, Lift) else cls(lift)
        options = options_of(lift)
        return cls(lift, **{name: value for name, value in settings.items() if name in options})

    @property
    def takes_edges(self) -> bool:
        """Whether it needs no more of a graph than ``(edge_index, num_nodes)``."""
        if callable(self.how):
            return not self.options
        sizes = all(name in ("max_dim", "max_ring") for name, _ in self.options)
        return LIFTS[self.how].many is not None and sizes

    def __call__(self, data: Any) -> Complex:
        """Return the complex of a graph, of points, ...; data are not changed."""
        if not callable(self.how):
            road = LIFTS[self.how]
            return road.lift(data, **road.fixed, **dict(self.options))
        K = self.how(data, **dict(self.options))
        if not isinstance(K, Complex):
            raise GraphError(f"Expected a lift that returns a complex, got {K!r:.60}.")
        return K

    def many(self, items: Sequence[Any]) -> ComplexDataset[Any]:
        """Return the complexes of many graphs, in one call where the lift allows it."""
        road = None if callable(self.how) else LIFTS[self.how]
        if road is None or road.many is None:
            return ComplexDataset([self(item) for item in items])
        return road.many(items, **road.fixed, **dict(self.options))

    def __repr__(self) -> str:
        """Return a call that makes the same lift."""
        how = getattr(self.how, "__qualname__", repr(self.how))
        options = "".join(f", {name}={value!r}" for name, value in self.options)
        return f"{type(self).__name__}({how}{options})"


AnyLift = Lift | str | Callable[[Any], Complex]


def options_of(how: str) -> dict[str, inspect.Parameter]:
    """Return the options of a lift by name."""
    if not isinstance(how, str) or how not in LIFTS:
        raise GraphError(
            f"Expected a lift among {', '.join(LIFTS)}, got {how!r:.60}."
            f"{did_you_mean(str(how), LIFTS)}"
        )
    return LIFTS[how].options()


def _check_options(how: str, options: Mapping[str, Any]) -> None:
    """Raise unless these are options of a lift, and none that it needs is missing."""
    own = options_of(how)
    for name in options:
        if name not in own:
            raise GraphError(
                f"Expected options of {how!r} among {', '.join(own)}, got {name!r:.60}."
                f"{did_you_mean(name, own)}"
            )
    for name, option in own.items():
        if option.default is option.empty and name not in options:
            raise GraphError(
                f"Expected the option {name!r} of {how!r}, got none; use Lift({how!r}, {name}=...)."
            )
    max_dim = options.get("max_dim")
    if how == "cliques+rings" and isinstance(max_dim, int) and max_dim < 3:
        raise GraphError(
            f"Expected max_dim >= 3 for the lift 'cliques+rings', got {max_dim}: rings are the "
            f"2-cells, and cliques of four vertices come above them; raise max_dim, or use 'rings'."
        )
