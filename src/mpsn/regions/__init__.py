"""Linear regions: closed-form bounds, exact counts, and pictures of hyperplane arrangements."""

from mpsn.regions import bounds
from mpsn.regions.arrangement import CloseCallWarning, characteristic_polynomial, count
from mpsn.regions.layer import layer_matrix
from mpsn.regions.slices import Slice, slice2d

__all__ = [
    "CloseCallWarning",
    "Slice",
    "bounds",
    "characteristic_polynomial",
    "count",
    "layer_matrix",
    "slice2d",
]
