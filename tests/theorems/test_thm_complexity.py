"""Section 4: what message passing and listing cliques cost, counted in pairs and in steps."""

from math import comb

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.spatial import Delaunay

import mpsn
from mpsn.lifting import _cliques_cpu as cliques_cpu
from mpsn.testing import complexes


@given(complexes(max_dim=4))
def test_a_simplex_has_d_plus_1_faces_and_d_plus_1_choose_2_pairs_of_them(K):
    """So boundary and upper messages number Σ (d + 1) S_d and Σ C(d + 1, 2) S_d pairs."""
    for d in range(1, K.dim + 1):
        faces, pairs = K.adjacency(d, "boundary"), K.adjacency(d - 1, "upper")
        each = torch.ones(K.count(d), dtype=torch.int64)
        assert torch.equal(torch.bincount(faces.receiver, minlength=len(each)), (d + 1) * each)
        both_ways = torch.bincount(pairs.shared, minlength=len(each))
        assert torch.equal(both_ways, 2 * comb(d + 1, 2) * each)


def test_lower_neighbors_can_be_quadratically_many():
    for n in (10, 20, 40):
        star = mpsn.clique_complex(nx.star_graph(n))
        assert len(star.adjacency(1, "lower").receiver) == n * (n - 1)
        assert len(star.adjacency(0, "upper").receiver) == 2 * n


class Counted:
    """An array that counts how often it is read."""

    def __init__(self, array):
        self.array, self.reads = array, 0

    def __getitem__(self, index):
        self.reads += 1
        return self.array[index]


def steps(graph, dim, monkeypatch):
    """Return how many vertices are read to list all cliques up to a dimension, and the edges."""
    reads = []

    def counted(function):
        def call(faces, last, *arguments):
            last = Counted(last)
            out = function(faces, last, *arguments)
            reads.append(last.reads)
            return out

        return call

    with monkeypatch.context() as patch:
        for name in ("count", "fill"):
            patch.setattr(cliques_cpu, name, counted(getattr(cliques_cpu, name).py_func))
        patch.setattr(cliques_cpu, "_seek", cliques_cpu._seek.py_func)
        edges = mpsn.clique_complex(graph, dim).count(1)
    return sum(reads), edges


def shuffled(edges, n):
    """Return a graph with random names: the order of the vertices is of no help."""
    names = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return names[torch.as_tensor(edges)].T, n


def test_cliques_of_planar_graphs_take_linear_time(monkeypatch):
    """Triangulations of random points, whose arboricity is at most 3; a million steps are few."""
    for n in (250, 1000, 4000):
        triangles = Delaunay(np.random.default_rng(n).random((n, 2))).simplices
        edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
        read, m = steps(shuffled(edges, n), None, monkeypatch)
        assert read <= 30 * m


def test_a_hub_costs_a_logarithm(monkeypatch):
    """A wheel: the list of the hub's neighbors is searched for each edge, not read through."""
    for n in (250, 1000, 4000):
        wheel = shuffled(list(nx.wheel_graph(n).edges), n)
        read, m = steps(wheel, None, monkeypatch)
        assert read <= 4 * np.log2(n) * m


@pytest.mark.parametrize("dim", [2, 3])
def test_cliques_grow_with_the_arboricity(dim, monkeypatch):
    """All cliques of k = dim + 1 vertices in O(a^(k-2) m): complete graphs have arboricity n/2."""
    for n in (4, 8, 16, 32):
        graph = nx.disjoint_union_all([nx.complete_graph(n)] * max(1, 1000 // n**2))
        read, m = steps(graph, dim, monkeypatch)
        assert read <= 8 * (n / 2) ** (dim - 1) * m
