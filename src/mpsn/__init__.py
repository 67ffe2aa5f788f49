"""Message passing simplicial networks.

Graphs only know pairs. Simplicial complexes also know triangles, tetrahedra and so on, and a
network that passes messages between simplices sees what ordinary graph networks cannot.

    >>> K = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)
    >>> K, K.betti_numbers()
    (SimplicialComplex(dim=2, counts=(34, 78, 45)), (1, 9, 9))
"""

from mpsn import nn, wl
from mpsn.complexes import ComplexDataset, SimplicialComplex, collate
from mpsn.datasets import read_graphs
from mpsn.errors import MPSNError
from mpsn.lifting import clique_complex, clique_complexes, lift_features

__version__ = "0.1.0"

__all__ = [
    "ComplexDataset",
    "MPSNError",
    "SimplicialComplex",
    "clique_complex",
    "clique_complexes",
    "collate",
    "lift_features",
    "nn",
    "read_graphs",
    "wl",
]
