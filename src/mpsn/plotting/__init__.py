"""Draw complexes and linear regions with matplotlib, or as a page to explore in a browser."""

from mpsn.plotting._draw import draw_complex, draw_regions, draw_stable_colors
from mpsn.plotting._explorer import explorer

__all__ = ["draw_complex", "draw_regions", "draw_stable_colors", "explorer"]
