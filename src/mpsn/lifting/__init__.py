"""Lift graphs, points, meshes, relations and images to complexes; features of vertices to cells."""

from mpsn.lifting._lift import LIFTS, AnyLift, Lift, options_of
from mpsn.lifting.alpha import alpha_complex, cech_complex, witness_complex
from mpsn.lifting.clique import clique_complex, clique_complexes
from mpsn.lifting.cube import cube_complex, cube_complexes
from mpsn.lifting.cubical import cubical_complex
from mpsn.lifting.directed import directed_flag_complex
from mpsn.lifting.encodings import (
    Encoding,
    degrees,
    encode_cells,
    heat_kernel,
    hodge_eigenvectors,
    return_probabilities,
)
from mpsn.lifting.features import lift_features
from mpsn.lifting.graphs import (
    independence_complex,
    nearest_neighbor_complex,
    neighborhood_complex,
    path_complex,
)
from mpsn.lifting.mesh import mesh_complex
from mpsn.lifting.motif import motif_complex
from mpsn.lifting.relations import dowker_complex, from_groups, hypergraph_complex
from mpsn.lifting.ring import ring_complex, ring_complexes
from mpsn.lifting.rips import rips_complex

__all__ = [
    "LIFTS",
    "AnyLift",
    "Encoding",
    "Lift",
    "alpha_complex",
    "cech_complex",
    "clique_complex",
    "clique_complexes",
    "cube_complex",
    "cube_complexes",
    "cubical_complex",
    "degrees",
    "directed_flag_complex",
    "dowker_complex",
    "encode_cells",
    "from_groups",
    "heat_kernel",
    "hodge_eigenvectors",
    "hypergraph_complex",
    "independence_complex",
    "lift_features",
    "mesh_complex",
    "motif_complex",
    "nearest_neighbor_complex",
    "neighborhood_complex",
    "options_of",
    "path_complex",
    "return_probabilities",
    "ring_complex",
    "ring_complexes",
    "rips_complex",
    "witness_complex",
]
