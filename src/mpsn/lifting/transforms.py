"""All lifts by name, and a transform of PyG that runs one."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from torch_geometric.transforms import BaseTransform

from mpsn.complexes import Complex
from mpsn.errors import GraphError, did_you_mean
from mpsn.lifting.alpha import alpha_complex, cech_complex, witness_complex
from mpsn.lifting.clique import clique_complex
from mpsn.lifting.cube import cube_complex
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
from mpsn.lifting.ring import ring_complex
from mpsn.lifting.rips import rips_complex


class Road(NamedTuple):
    """A way to a complex: from which data, by which function, and its cost in words."""

    data: Literal["graph", "points", "mesh", "relation", "image"]
    lift: Callable[..., Complex]
    cost: str


# n vertices or points, m edges, degree d, arboricity a, dimension k of the result
LIFTS = {
    "cliques": Road("graph", clique_complex, "a^(k-1) m"),
    "rings": Road("graph", partial(ring_complex, max_ring=6), "n d^(max_ring/2) and more"),
    "cliques+rings": Road("graph", partial(ring_complex, max_ring=6, max_dim=None), "both"),
    "cubes": Road("graph", cube_complex, "m d^k"),
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


class ToComplex(BaseTransform):
    """Lift data to a complex: a transform of PyG, to compose with others.

    Complexes load through PyG's ``DataLoader``; estimators take the transform as ``lift``, and
    apply it to whatever they are given.

    Args:
        how: The lift: cliques, rings, cliques+rings, cubes, neighborhoods, independence, paths,
            motifs, nearest or directed, of a graph; rips, alpha, cech or witness, of points; mesh;
            hypergraph or dowker, of a relation; cubical, of an image.
        options: Arguments of that lift, by name.

    Example:
        >>> from torch_geometric.data import Data
        >>> from torch_geometric.transforms import Compose, NormalizeScale
        >>> lift = Compose([NormalizeScale(), mpsn.lifting.ToComplex("rips", radius=1.5)])
        >>> lift(Data(pos=torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [9.0, 9.0]])))
        SimplicialComplex(dim=2, counts=(4, 3, 1), features=(2, 1, 1))
    """

    def __init__(self, how: str, **options: Any) -> None:
        known = options_of(how)
        for name in options:
            if name not in known:
                raise GraphError(
                    f"Expected options of {how!r} among {', '.join(known)}, got {name!r:.60}."
                    f"{did_you_mean(name, known)}"
                )
        for name, option in known.items():
            if option.default is option.empty and name not in options:
                raise GraphError(
                    f"Expected the option {name!r} of {how!r}, got none; pass a transform "
                    f"ToComplex({how!r}, {name}=...)."
                )
        self.how, self.options = how, options

    def forward(self, data: Any) -> Complex:
        """Return the complex of a graph, of points, ..."""
        return LIFTS[self.how].lift(data, **self.options)

    def __call__(self, data: Any) -> Complex:
        """Return the complex of a graph, of points, ...; data are not changed."""
        return self.forward(data)

    def __repr__(self) -> str:
        """Return a call that makes the same transform."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({self.how!r}{options})"


def options_of(how: str) -> dict[str, inspect.Parameter]:
    """Return the arguments of a lift by name, without the data."""
    if how not in LIFTS:
        raise GraphError(
            f"Expected a lift among {', '.join(LIFTS)}, got {how!r:.60}."
            f"{did_you_mean(str(how), LIFTS)}"
        )
    _, *options = inspect.signature(LIFTS[how].lift).parameters.values()
    return {option.name: option for option in options}
