"""Complexes with labels on their cells, for tests of models of cells."""

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

import mpsn

KINDS = {
    "simplicial": mpsn.clique_complex(nx.random_geometric_graph(20, 0.4, seed=0), max_dim=2),
    "rings": mpsn.ring_complex(nx.hexagonal_lattice_graph(3, 3), max_ring=6),
    "cubical": mpsn.cubical_complex(torch.rand(4, 5)),
    "networkx": nx.karate_club_graph(),
    "PyG": Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), x=torch.rand(3, 2)),
}


def torus(side=12, seed=0):
    """Return a triangulated torus, whose graph is vertex-transitive, with some triangles filled.

    Each edge belongs to two triangles of the torus; its label is how many of them are filled.
    """
    rng = np.random.default_rng(seed)
    edges, triangles = set(), []
    for i in range(side):
        for j in range(side):
            a, b = i * side + j, (i + 1) % side * side + j
            c = (i + 1) % side * side + (j + 1) % side
            d = i * side + (j + 1) % side
            triangles += [sorted((a, b, c)), sorted((a, d, c))]
    for t in triangles:
        edges |= {(t[0], t[1]), (t[0], t[2]), (t[1], t[2])}
    filled = [t for t in triangles if rng.random() < 0.5]
    K = mpsn.SimplicialComplex.from_simplices([*edges, *filled])
    many = torch.bincount(K.faces(2).reshape(-1), minlength=K.count(1))
    return K, many.numpy()


def half(y, unknown):
    return np.where(np.arange(len(y)) % 2, y, unknown)
