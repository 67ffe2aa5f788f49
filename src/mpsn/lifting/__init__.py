"""From graphs to complexes."""

from mpsn.lifting.clique import clique_complex, clique_complexes
from mpsn.lifting.coordinates import laplacian_coordinates
from mpsn.lifting.features import lift_features

__all__ = ["clique_complex", "clique_complexes", "laplacian_coordinates", "lift_features"]
