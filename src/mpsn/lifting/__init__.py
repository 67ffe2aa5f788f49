"""Lift graphs to complexes, and vertex features to simplices."""

from mpsn.lifting._coordinates import laplacian_coordinates
from mpsn.lifting.clique import clique_complex, clique_complexes
from mpsn.lifting.features import lift_features

__all__ = ["clique_complex", "clique_complexes", "laplacian_coordinates", "lift_features"]
