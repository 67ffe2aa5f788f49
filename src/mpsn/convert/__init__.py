"""Conversion from and to other libraries and formats: graphs, complexes and hypergraphs.

Most are methods too: :meth:`mpsn.SimplicialComplex.from_gudhi`, ``K.to_xgi()``, ...
"""

from mpsn.convert._bridges import (
    from_gudhi,
    from_toponetx,
    from_xgi,
    to_gudhi,
    to_hasse,
    to_networkx,
    to_pyg,
    to_scipy,
    to_toponetx,
    to_xgi,
)
from mpsn.convert._cleaning import CleanGraphs, clean_graphs, complex_of, from_graph
from mpsn.convert._hif import from_hif, to_hif
from mpsn.convert._reading import Graph, as_graph, find_ends

__all__ = [
    "CleanGraphs",
    "Graph",
    "as_graph",
    "clean_graphs",
    "complex_of",
    "find_ends",
    "from_graph",
    "from_gudhi",
    "from_hif",
    "from_toponetx",
    "from_xgi",
    "to_gudhi",
    "to_hasse",
    "to_hif",
    "to_networkx",
    "to_pyg",
    "to_scipy",
    "to_toponetx",
    "to_xgi",
]
