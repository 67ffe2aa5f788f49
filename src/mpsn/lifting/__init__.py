"""Lift graphs, images and volumes to complexes, and vertex features to cells."""

from mpsn.lifting._coordinates import laplacian_coordinates
from mpsn.lifting.clique import clique_complex, clique_complexes
from mpsn.lifting.cube import cube_complex, cube_complexes
from mpsn.lifting.cubical import cubical_complex
from mpsn.lifting.features import lift_features
from mpsn.lifting.ring import ring_complex, ring_complexes
from mpsn.lifting.rips import rips_complex

__all__ = [
    "clique_complex",
    "clique_complexes",
    "cube_complex",
    "cube_complexes",
    "cubical_complex",
    "laplacian_coordinates",
    "lift_features",
    "ring_complex",
    "ring_complexes",
    "rips_complex",
]
