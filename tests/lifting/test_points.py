"""Complexes of points against gudhi and all subsets, on both ways to find near pairs."""

import sys
from itertools import combinations
from types import SimpleNamespace

import gudhi
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mpsn import SimplicialComplex, alpha_complex, rips_complex
from mpsn._rows.memory import Budget
from mpsn.errors import ComplexError, GraphError, LeftOut, MissingPackageError, TooLargeError
from mpsn.lifting import _near, cech_complex, witness_complex

CPU = torch.device("cpu")


def cloud(n, d, seed=0, dtype=torch.float64):
    return torch.rand(n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def values(K, first=1):
    """Return the filtration values of all simplices from a dimension on."""
    return {
        tuple(row): value
        for k in range(first, K.dim + 1)
        for row, value in zip(K.simplices(k).tolist(), K.x[k][:, 0].tolist(), strict=True)
    }


def of_tree(tree, first=1):
    return {tuple(s): f for s, f in tree.get_simplices() if len(s) > first}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "d", "radius"), [(60, 1, 0.1), (80, 2, 0.3), (60, 3, 0.4)])
def test_rips_as_gudhi_finds_it(n, d, radius, dtype):
    points = cloud(n, d, dtype=dtype)
    K = rips_complex(points, radius, 3)
    tree = gudhi.RipsComplex(points=points.double().numpy(), max_edge_length=radius)
    expected, found = of_tree(tree.create_simplex_tree(max_dimension=3)), values(K)
    assert found.keys() == expected.keys()
    assert K.x[1].dtype == dtype
    assert torch.equal(K.x[0], points)
    tolerance = 1e-6 if dtype == torch.float32 else 1e-15
    assert all(abs(found[s] - expected[s]) <= tolerance for s in expected)
    assert SimplicialComplex(n, [K.faces(k) for k in range(1, K.dim + 1)]) == K.bare()


grids = st.lists(st.tuples(*[st.integers(0, 5)] * 2), max_size=14)  # with ties and duplicates


@settings(max_examples=150)
@given(grids, st.sampled_from([0, 1, 2**0.5, 2, 5]), st.integers(1, 40))
def test_pairs_within_a_radius_in_trees_and_grids(rows, radius, room):
    points = torch.tensor(rows, dtype=torch.float64).reshape(-1, 2)
    budget = Budget(1 << 30, CPU, [len(rows)])
    expected = {
        pair
        for pair in combinations(range(len(rows)), 2)
        if sum((a - b) ** 2 for a, b in zip(*(rows[i] for i in pair), strict=True)) ** 0.5 <= radius
    }
    found = _near.within(points, radius, budget)
    budget.room = lambda _: room
    cells = _near.by_grid(points, radius, budget)
    for pairs in (found, cells):
        assert sorted(tuple(sorted(pair)) for pair in pairs.tolist()) == sorted(expected)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_grids_find_the_pairs_of_trees(d):
    points = cloud(300, d, d) * torch.logspace(0, 2, d, dtype=torch.float64)
    for radius in (0.01, 0.4, 200.0):
        budget = Budget(None, CPU, [300])
        tree, grid = (
            torch.unique(find(points, radius, budget).sort(1).values, dim=0)
            for find in (_near.within, _near.by_grid)
        )
        assert torch.equal(tree, grid)


@settings(max_examples=100)
@given(grids.filter(bool), st.integers(1, 5))
def test_nearest_neighbors(rows, k):
    points = torch.tensor(rows, dtype=torch.float64)
    pairs = _near.nearest(points, k, Budget(None, CPU, [len(rows)]))
    distance = torch.cdist(points, points)
    for i in range(len(rows)):
        near = pairs[pairs[:, 0] == i, 1]
        assert len(near) == len(near.unique()) == min(k, len(rows) - 1)
        others = torch.cat([distance[i, :i], distance[i, i + 1 :]])
        assert i not in near.tolist()
        assert torch.allclose(distance[i, near].sort().values, others.sort().values[:k])


def test_radius_and_nearest_neighbors_together():
    points = cloud(50, 2)
    both, near, within = (
        {tuple(row) for row in rips_complex(points, r, 1, k=k).simplices(1).tolist()}
        for r, k in ((0.15, 3), (None, 3), (0.15, None))
    )
    assert both == near & within
    assert len(near) > len(both) > 0


def test_rips_of_data_keeps_x_and_y():
    data = Data(pos=cloud(5, 2), x=torch.arange(5), y=torch.tensor([3]))
    K = rips_complex(data, 9.0)
    assert K.counts == (5, 10, 10)
    assert K.x[0][:, 2].tolist() == [0, 1, 2, 3, 4]
    assert K.y.tolist() == [3]


def test_few_points():
    assert rips_complex(torch.zeros(0, 2), 1).counts == ()
    assert rips_complex(torch.zeros(1, 2), k=3).counts == (1,)
    assert rips_complex(torch.zeros(3, 2), 0).counts == (3, 3, 1)  # at the same place


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (torch.zeros(3), {"radius": 1}, r"points of shape \(n, d\)"),
        (torch.tensor([[0.0], [torch.nan]]), {"radius": 1}, "finite"),
        (torch.zeros(3, 2), {}, "radius or a number k"),
        (torch.zeros(3, 2), {"radius": -1}, "finite radius >= 0"),
        (torch.zeros(3, 2), {"k": 0}, "k as an integer >= 1"),
        (Data(x=torch.zeros(3, 2)), {"radius": 1}, "set data.pos"),
    ],
)
def test_refused(points, options, message):
    with pytest.raises((ComplexError, GraphError), match=message):
        rips_complex(points, **options)


@pytest.mark.parametrize("options", [{"radius": 5.0}, {"k": 1999}])
def test_too_many_pairs_are_refused_before_they_are_listed(options):
    with pytest.raises(TooLargeError, match="raise max_bytes"):
        rips_complex(cloud(2000, 2), **options, max_bytes=1 << 20)
    with pytest.raises(TooLargeError, match="raise max_bytes"):
        _near.by_grid(cloud(2000, 2), 5.0, Budget(1 << 20, CPU, [2000]))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_alpha_and_cech_as_gudhi_find_them(d):
    points = cloud(40, d)
    for ours, theirs in (
        (alpha_complex, gudhi.AlphaComplex),
        (cech_complex, gudhi.DelaunayCechComplex),
    ):
        tree = theirs(points=points.numpy()).create_simplex_tree()
        expected, K = of_tree(tree), ours(points)
        assert values(K) == pytest.approx({s: f**0.5 for s, f in expected.items()}, abs=1e-12)
        part = ours(points, radius=0.2, max_dim=1)
        assert values(part).keys() == {s for s, f in expected.items() if len(s) < 3 and f <= 0.04}
        assert torch.equal(K.x[0], points)


def test_points_at_one_place_count_once():
    points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    with pytest.warns(LeftOut, match=r"Points \(1\)"):
        K = alpha_complex(points)
    assert K.counts == (3, 3, 1)
    assert torch.equal(K.x[0], points[list(K.vertex_labels)])


def test_witnesses():
    points = cloud(300, 2)
    K = witness_complex(points, points[:12], radius=0.1)
    tree = gudhi.EuclideanWitnessComplex(
        landmarks=points[:12].tolist(), witnesses=points.tolist()
    ).create_simplex_tree(0.01, 2)
    expected = {s: max(f, 0) ** 0.5 for s, f in of_tree(tree).items()}
    assert values(K) == pytest.approx(expected, abs=1e-12)
    assert torch.equal(K.x[0], points[:12])
    assert witness_complex(points, 12).x[0][0].tolist() == points[0].tolist()


def test_persistence_by_gudhi_and_back():
    circle = torch.linspace(0, 6.2, 40)
    K = rips_complex(torch.stack([circle.cos(), circle.sin()], dim=1).double(), 2.0)
    tree = K.to_gudhi([None, *K.x[1:]])
    assert max(b - a for _, (a, b) in tree.persistence() if _ == 1 and b < 9) > 1
    back = SimplicialComplex.from_gudhi(tree)
    assert back.bare() == K.bare()
    assert all(torch.equal(a, b) for a, b in zip(back.x[1:], K.x[1:], strict=True))
    assert back.to_gudhi(back.x) == tree
    with pytest.raises(ComplexError, match="those of all faces"):
        K.to_gudhi([torch.ones(40, 1), None])
    with pytest.raises(ComplexError, match="each of the 40 simplices of dimension 0"):
        K.to_gudhi([torch.ones(3, 1)])


def test_trees_with_any_vertices_whose_simplices_come_in_any_order():
    simplices = [([9, 5], 2.0), ([5], 0.5), ([7], 0.0), ([9], 1.0), ([7, 5], 3.0)]
    tree = SimpleNamespace(
        dimension=lambda: 1,
        num_simplices=lambda: len(simplices),
        get_simplices=lambda: iter(simplices),
    )
    real = gudhi.SimplexTree()
    for simplex, value in simplices:
        real.insert(simplex, value)
    for K in map(SimplicialComplex.from_gudhi, (tree, real)):
        assert K.vertex_labels == (5, 7, 9)
        assert K.simplices(1).tolist() == [[0, 1], [0, 2]]
        assert [x.T.tolist() for x in K.x] == [[[0.5, 0.0, 1.0]], [[3.0, 2.0]]]
    assert SimplicialComplex.from_gudhi(gudhi.SimplexTree()).counts == ()


def test_without_gudhi(monkeypatch):
    monkeypatch.setitem(sys.modules, "gudhi", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'mpsn\[tda\]'"):
        alpha_complex(cloud(4, 2))


@pytest.mark.parametrize("build", [alpha_complex, cech_complex])
def test_labels_and_features_follow_the_points_that_are_kept(build):
    place = torch.tensor([[0.0, 0.0], [0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    with pytest.warns(LeftOut, match=r"\(2\) at the same places"):
        K = build(Data(pos=place, y=torch.tensor([7, 7, 8, 9, 9])))
    assert K.x[0].tolist() == [[0, 0], [4, 0], [0, 3]]
    assert K.y.tolist() == [7, 8, 9]
    with pytest.warns(LeftOut):  # the last point is the one left out
        assert build(torch.tensor([[0.0], [2.0], [2.0]])).x[0].tolist() == [[0], [2]]


def test_witnesses_are_no_vertices():
    cloud = Data(pos=torch.rand(9, 2), y=torch.arange(9))
    with pytest.warns(LeftOut, match="Labels y"):
        assert witness_complex(cloud, 3).y is None
    with pytest.raises(ComplexError, match="landmarks in the 2 dimensions of the points, got 3"):
        witness_complex(cloud.pos, torch.rand(3, 3))


def test_a_radius_is_a_number():
    for build in (rips_complex, alpha_complex, cech_complex):
        with pytest.raises(ComplexError, match="finite radius >= 0, got 'wide'"):
            build(torch.rand(3, 2), "wide")
