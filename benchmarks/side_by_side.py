"""What the benchmarks share: a family of graphs, and a fair clock."""

import time

import numpy as np
from torch_geometric.data import Data, InMemoryDataset


def small_world(n, k, p, seed=0):
    """Edges (2, n*k/2) of a ring where each vertex knows k neighbors, a part p of them moved."""
    rng = np.random.default_rng(seed)
    u = np.repeat(np.arange(n), k // 2)
    v = (u + np.tile(np.arange(1, k // 2 + 1), n)) % n
    moved = rng.random(len(u)) < p
    v[moved] = rng.integers(0, n, moved.sum())
    return np.stack([u, v])


def best(function, rounds=3, clock=time.perf_counter):
    """Return the best of some times, in seconds."""
    times = []
    for _ in range(rounds):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


class TableData(Data):
    """The face tables of a complex as PyG data, so that PyG's collate does the same work."""

    def __init__(self, K=None):
        super().__init__()
        if K is not None:
            self.num_nodes, self.num_arcs = K.num_nodes, K.count(1)
            self.edges, self.triangles = K.faces(1), K.faces(2)

    def __inc__(self, key, value, *args, **kwargs):
        return {"edges": self.num_nodes, "triangles": self.num_arcs}.get(key, 0)


class TableCollection(InMemoryDataset):
    """Complexes as PyG keeps a collection in memory."""

    def __init__(self, complexes):
        super().__init__()
        self.data, self.slices = self.collate(complexes)
