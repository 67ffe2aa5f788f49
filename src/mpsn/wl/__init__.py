"""Weisfeiler-Lehman tests: exact color refinement, and comparing graphs with it.

:func:`wl` colors vertices, :func:`swl` simplices, :func:`kwl` and :func:`kfwl` tuples of vertices.
Beware of two conventions for the last two: the folklore test on k-tuples is as powerful as the
oblivious one on (k+1)-tuples, so 3-WL = 2-FWL.
"""

from typing import TYPE_CHECKING, Any

from mpsn.wl._isomorphism import isomorphic
from mpsn.wl._ladder import Comparison, compare, equivalence_classes
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Refinement
from mpsn.wl._tuples import kfwl, kwl
from mpsn.wl._vertices import wl
from mpsn.wl.simplices import swl

if TYPE_CHECKING:
    from mpsn.wl._kernels import SWLKernel, WLKernel

__all__ = [
    "Comparison",
    "Palette",
    "Refinement",
    "SWLKernel",
    "WLKernel",
    "compare",
    "equivalence_classes",
    "isomorphic",
    "kfwl",
    "kwl",
    "swl",
    "wl",
]


def __getattr__(name: str) -> Any:
    if name not in ("SWLKernel", "WLKernel"):  # only these take the time to load scikit-learn
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mpsn.wl import _kernels

    return getattr(_kernels, name)
