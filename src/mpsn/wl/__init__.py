"""Weisfeiler-Lehman tests: exact color refinement, and comparing graphs with it.

:func:`wl` colors vertices, :func:`swl` simplices, :func:`kwl` and :func:`kfwl` tuples of vertices.
Beware of two conventions for the last two: the folklore test on k-tuples is as powerful as the
oblivious one on (k+1)-tuples, so 3-WL = 2-FWL.
"""

from mpsn.wl._colorings import equivalent, refines
from mpsn.wl._individualized import individualized
from mpsn.wl._isomorphism import isomorphic
from mpsn.wl._ladder import (
    TESTS,
    Classes,
    Comparison,
    Verdict,
    check_tests,
    compare,
    equivalence_classes,
)
from mpsn.wl._palette import Palette
from mpsn.wl._refinement import Refinement
from mpsn.wl._tuples import kfwl, kwl
from mpsn.wl._vertices import wl
from mpsn.wl.simplices import swl

__all__ = [
    "TESTS",
    "Classes",
    "Comparison",
    "Palette",
    "Refinement",
    "Verdict",
    "check_tests",
    "compare",
    "equivalence_classes",
    "equivalent",
    "individualized",
    "isomorphic",
    "kfwl",
    "kwl",
    "refines",
    "swl",
    "wl",
]
