"""The ladder of Weisfeiler-Lehman tests: exact color refinement, and graphs compared by it.

:func:`wl` colors vertices, :func:`swl` simplices, :func:`kwl` and :func:`kfwl` tuples of vertices.
Beware of two conventions for the last two: the folklore test on k-tuples is as powerful as the
oblivious one on (k+1)-tuples, so 3-WL = 2-FWL.
"""

from typing import Any

from mpsn.wl.isomorphism import isomorphic, isomorphism_classes
from mpsn.wl.ladder import LADDER, TESTS, Classes, Comparison, Verdict, compare, equivalence_classes
from mpsn.wl.palette import Palette
from mpsn.wl.refinement import Refinement
from mpsn.wl.simplices import swl
from mpsn.wl.tuples import kfwl, kwl
from mpsn.wl.vertices import wl

__all__ = [
    "LADDER",
    "TESTS",
    "Classes",
    "Comparison",
    "Palette",
    "Refinement",
    "SWLKernel",
    "Verdict",
    "WLKernel",
    "compare",
    "equivalence_classes",
    "isomorphic",
    "isomorphism_classes",
    "kfwl",
    "kwl",
    "swl",
    "wl",
]


def __getattr__(name: str) -> Any:
    if name in ("SWLKernel", "WLKernel"):  # only these need scikit-learn
        try:
            from mpsn.wl import kernels
        except ImportError as error:
            raise ImportError(
                f"Expected scikit-learn for mpsn.wl.{name}; run pip install 'mpsn[sklearn]'."
            ) from error
        return getattr(kernels, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
