"""Linear regions of layers: closed-form bounds, exact counts, and two-dimensional slices."""

from mpsn.regions import bounds
from mpsn.regions._arrangement import CloseCallWarning, characteristic_polynomial, count
from mpsn.regions._layer import layer_matrix
from mpsn.regions._slices import Slice, slice2d

__all__ = [
    "CloseCallWarning",
    "Slice",
    "bounds",
    "characteristic_polynomial",
    "count",
    "layer_matrix",
    "slice2d",
]
