"""Pooling keeps boundaries: what is left is a complex, and the maps onto it are chain maps."""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mpsn
from mpsn import nn
from mpsn.testing import (
    assert_orientation_equivariant,
    assert_permutation_equivariant,
    complexes,
)

KINDS = ("simplicial", "cell", "cubical")


def there_and_back(pool):
    """Pool and unpool, a layer on the same complex."""

    def layer(K, xs):
        _, small, maps = pool(K, xs)
        return nn.unpool(maps, small)

    return layer


@st.composite
def scored(draw, kind="simplicial", oriented=True):
    """Draw a union of complexes with features, a dimension, and different scores."""
    parts = [draw(complexes(7, features=2, oriented=oriented, kind=kind)) for _ in range(2)]
    K = mpsn.collate(parts)
    dim = draw(st.integers(0, max(K.dim, 0)))
    seed = draw(st.integers(0, 1000))
    n = K.count(dim)
    score = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).double() + 1
    return K, dim, score


def sets(K):
    """Return the cells of a complex as sets of vertices, by dimension."""
    out = []
    for k in range(K.dim + 1):
        vertex, ptr = K.cells(k)
        out.append([frozenset(part.tolist()) for part in vertex.tensor_split(ptr[1:-1])])
    return out


def boundary(K, k):
    return K.boundary_matrix(k, dtype=torch.float64).to_dense()


def matrix(B):
    """Return a map as a dense matrix (new cells, old cells)."""
    return B.matrix(dtype=torch.float64).to_dense()


def chain_map(K, L, maps):
    for k in range(1, K.dim + 1):
        B = boundary(L, k) if k <= L.dim else torch.zeros(maps[k - 1].count, 0).double()
        torch.testing.assert_close(B @ matrix(maps[k]), matrix(maps[k - 1]) @ boundary(K, k))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(data=st.data(), ratio=st.floats(0.05, 1))
def test_what_topk_keeps_is_a_complex(kind, data, ratio):
    K, dim, score = data.draw(scored(kind))
    L, xs, maps = nn.topk_pool(K, K.x, score, ratio=ratio, dim=dim)
    # The definition, cell by cell.
    kept = {k: set() for k in range(max(K.dim, 0) + 1)}
    for i in range(K.num_complexes):
        mine = (K.batch(dim) == i).nonzero()[:, 0].tolist()
        best = sorted(mine, key=lambda c: -score[c])[: max(1, -int(-len(mine) * ratio // 1))]
        kept[dim] |= set(best)
    faces = [
        [B.face[a:b].tolist() for a, b in zip(B.offsets, B.offsets[1:], strict=False)]
        for B in map(K.incidence, range(max(K.dim, 0) + 1))
    ]
    for k in range(dim, 0, -1):
        kept[k - 1] |= {f for c in kept[k] for f in faces[k][c]}
    for k in range(dim + 1, K.dim + 1):
        kept[k] = {c for c in range(K.count(k)) if set(faces[k][c]) <= kept[k - 1]}
    for k, B in enumerate(maps):
        assert B.cell.tolist() == sorted(kept[k])
        assert L.count(k) == len(kept[k])
        assert L.ptr(k).diff().sum() == L.count(k)
        assert torch.equal(L.batch(k), K.batch(k)[B.cell])
    # It is a complex of the same kind, checked as a user's is, with the boundaries as before.
    again = type(L)(
        L.num_nodes,
        [L.incidence(k) if kind == "cell" else L.faces(k) for k in range(1, L.dim + 1)],
    )
    assert again.counts == L.counts
    for k in range(1, L.dim + 1):
        old = boundary(K, k)[maps[k - 1].cell][:, maps[k].cell]
        assert torch.equal(boundary(L, k), old)
        if k > 1:
            assert not (boundary(L, k - 1) @ boundary(L, k)).any()
    # An inclusion is a chain map, from the subcomplex.
    for k in range(1, L.dim + 1):
        into = matrix(maps[k - 1]).T @ boundary(L, k)
        assert torch.equal(into, boundary(K, k) @ matrix(maps[k]).T)
    assert all(len(x) == L.count(k) for k, x in enumerate(xs))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_pooling_everything_is_the_identity(kind, data):
    K = data.draw(scored(kind))[0]
    L, xs, maps = nn.topk_pool(K, K.x, torch.ones(K.num_nodes).double(), ratio=1.0)
    assert L.replace(x=xs) == K
    assert all(map(torch.equal, nn.unpool(maps, xs), K.x))
    if kind == "simplicial" and K.dim >= 0:
        L, xs, maps = nn.coarsen(K, K.x, torch.arange(K.num_nodes), signed=True)
        small = K.flip({k: K.orientation(k) < 0 for k in range(1, K.dim + 1)})  # canonical
        order = {k: B.face.argsort() for k, B in enumerate(maps)}
        assert L.counts == K.counts
        for k, x in enumerate(xs):
            torch.testing.assert_close(x, small.x[k][order[k]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_topk_is_equivariant(kind, dim):
    torch.manual_seed(0)
    even = nn.Even(
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    )
    pool = nn.TopKPool(3, 0.6, dim=dim, score=even).double()
    kit = {"in_channels": 3, "kind": kind}
    assert_permutation_equivariant(there_and_back(pool), **kit)
    assert_orientation_equivariant(there_and_back(pool), **kit)
    odd = nn.TopKPool(3, 0.6, dim=dim).double()
    assert_permutation_equivariant(there_and_back(odd), **kit)
    if dim == 0:  # vertices have no orientation
        assert_orientation_equivariant(there_and_back(odd), **kit)
    elif kind == "simplicial":
        with pytest.raises(AssertionError):
            assert_orientation_equivariant(there_and_back(odd), **kit)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_simplicial_map_is_a_chain_map(data):
    K = mpsn.collate([data.draw(complexes(8, oriented=True)) for _ in range(2)])
    some = st.integers(-3, 3)
    cluster = torch.tensor(
        data.draw(st.lists(some, min_size=K.num_nodes, max_size=K.num_nodes)), dtype=torch.int64
    )
    L, _, maps = nn.coarsen(K, [], cluster)
    chain_map(K, L, maps)
    # The image by its definition, complex by complex.
    for i, part in enumerate(L.to_list()):
        names = sorted({(i, c) for c in cluster[K.batch(0) == i].tolist()})
        every = {
            frozenset((i, int(cluster[v])) for v in s)
            for cells in sets(K)
            for s in cells
            if K.batch(0)[min(s)] == i
        }
        new = [frozenset(names[v] for v in s) for cells in sets(part) for s in cells]
        assert len(new) == len(set(new))
        assert set(new) == every
        assert part.counts == tuple(
            n for k in range(K.dim + 1) if (n := sum(len(s) == k + 1 for s in every))
        )
    # Rows are sorted, as those of every builder.
    for k in range(1, L.dim + 1):
        rows = L.simplices(k).tolist()
        assert rows == sorted(rows)
        assert all(row == sorted(set(row)) for row in rows)


def test_the_map_on_homology():
    """Halving a hexagon keeps its hole; merging opposite vertices winds around twice."""
    K = mpsn.clique_complex(nx.cycle_graph(6))
    cycle = K.harmonic_basis(1)
    for cluster, betti, factor in (
        ([0, 0, 1, 1, 2, 2], (1, 1), 1),
        ([0, 1, 2, 0, 1, 2], (1, 1), 2),
        ([0, 0, 0, 0, 0, 0], (1,), 0),
    ):
        L, _, maps = nn.coarsen(K, [], torch.tensor(cluster))
        assert L.betti_numbers() == betti
        if factor:
            z = maps[1].from_cofaces(cycle / cycle.abs().max(), signed=True)
            torch.testing.assert_close(z.abs(), torch.full((3, 1), factor, dtype=torch.float64))
            assert (boundary(L, 1) @ z).abs().max() < 1e-6
