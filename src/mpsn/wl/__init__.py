"""The ladder of Weisfeiler-Lehman tests."""
from mpsn.wl.palette import Palette
from mpsn.wl.refinement import Refinement
from mpsn.wl.swl import swl
