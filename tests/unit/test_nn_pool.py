"""Pooling: gradients, batches, ways back, and what is refused."""

import copy

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn import aggr
from torch_geometric.nn.resolver import aggregation_resolver

import mpsn
from mpsn import nn
from mpsn.errors import ComplexError, LayerError
from mpsn.testing import complexes

KINDS = ("simplicial", "cell", "cubical")


def karate(max_dim=2):
    K = mpsn.clique_complex(nx.karate_club_graph(), max_dim)
    torch.manual_seed(0)
    return K, [torch.randn(n, 3, dtype=torch.float64) for n in K.counts]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [0, 1, 2])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_union_is_pooled_as_its_complexes(kind, dim, data):
    parts = [data.draw(complexes(7, features=2, kind=kind)) for _ in range(3)]
    K = mpsn.collate(parts)
    torch.manual_seed(0)
    scores = [torch.randn(part.count(dim)).double() for part in parts]
    L, xs, maps = nn.topk_pool(K, K.x, torch.cat(scores), dim=dim)
    singles = [
        nn.topk_pool(part, part.x, score, dim=dim)
        for part, score in zip(parts, scores, strict=True)
    ]
    assert mpsn.collate([single.K for single in singles]) == L
    for k, x in enumerate(xs):
        torch.testing.assert_close(
            x, torch.cat([s.xs[k] for s in singles if k < len(s.xs)]) if len(x) else x
        )
    back = nn.unpool(maps, xs)
    alone = [nn.unpool(s.maps, s.xs) for s in singles]
    for k, x in enumerate(back):
        torch.testing.assert_close(x, torch.cat([b[k] for b in alone if k < len(b)]))


def test_how_many_are_kept():
    K = mpsn.collate([mpsn.clique_complex(nx.empty_graph(n)) for n in (0, 1, 5, 30)])
    score = torch.arange(36.0)
    for ratio, kept in ((0.1, [0, 1, 1, 3]), (0.5, [0, 1, 3, 15]), (1.0, [0, 1, 5, 30])):
        assert nn.topk_pool(K, [], score, ratio=ratio).K.ptr(0).diff().tolist() == kept
    L, _, maps = nn.topk_pool(K, [], score, count=2)
    assert L.ptr(0).diff().tolist() == [0, 1, 2, 2]
    assert maps[0].cell.tolist() == [0, 4, 5, 34, 35]
    tied = nn.topk_pool(K, [], torch.zeros(36), count=2)
    assert tied.maps[0].cell.tolist() == [0, 1, 2, 6, 7]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gates_are_means_over_faces_or_kept_cofaces(dim):
    K, xs = karate(3)
    score = torch.rand(K.count(dim), dtype=torch.float64)
    L, out, maps = nn.topk_pool(K, xs, score, dim=dim)
    gate = {dim: dict(zip(maps[dim].cell.tolist(), score[maps[dim].cell].tolist(), strict=True))}
    faces = {k: K.faces(k).tolist() for k in range(1, 4)}
    old = [B.cell.tolist() for B in maps]
    for k in range(dim + 1, 4):
        gate[k] = {c: sum(gate[k - 1][f] for f in faces[k][c]) / (k + 1) for c in old[k]}
    for k in range(dim - 1, -1, -1):
        heard = {c: [gate[k + 1][t] for t in old[k + 1] if c in faces[k + 1][t]] for c in old[k]}
        gate[k] = {c: sum(some) / len(some) for c, some in heard.items()}
    assert L.dim >= 2
    for k, x in enumerate(out):
        want = xs[k][old[k]] * torch.tensor([gate[k][c] for c in old[k]])[:, None]
        torch.testing.assert_close(x, want)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gradients_reach_scores_and_features(dim):
    K, xs = karate()
    pool = nn.TopKPool(3, dim=dim).double()

    def run(weight, *xs):
        score = torch.tanh(xs[dim] @ weight)
        _, small, maps = nn.topk_pool(K, xs, score, dim=dim)
        return (*small, *nn.unpool(maps, small))

    torch.manual_seed(0)
    weight = torch.randn(3, 1, dtype=torch.float64, requires_grad=True)
    K = K.subcomplex({0: torch.arange(8)}, full=True)  # smaller, to be fast
    xs = [torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in K.counts]
    assert torch.autograd.gradcheck(run, (weight, *xs))
    sum(x.sum() for x in pool(K, xs).xs).backward()
    assert pool.score.weight.grad.abs().sum() > 0


def test_coarsening_is_differentiable_and_signed():
    K, _ = karate()
    K = K.flip({1: torch.arange(K.count(1)) % 2 == 0})
    xs = [torch.randn(n, 2, dtype=torch.float64, requires_grad=True) for n in K.counts]
    cluster = torch.arange(34) % 7

    def run(*xs):
        _, small, maps = nn.coarsen(K, xs, cluster, signed=True, reduce="sum")
        return (*small, *nn.unpool(maps, small, signed=True))

    assert torch.autograd.gradcheck(run, tuple(xs), eps=1e-3)  # linear
    _, small, maps = nn.coarsen(K, xs, cluster, signed=True, reduce="sum")
    for k, x in enumerate(small):
        f = maps[k].matrix(dtype=torch.float64).to_dense()
        torch.testing.assert_close(x, f @ xs[k])
        back = nn.unpool(maps, small, signed=True)[k]
        torch.testing.assert_close(back, f.T @ x)


@pytest.mark.parametrize("signed", [False, True])
def test_pooling_undoes_unpooling(signed):
    K, xs = karate()
    for small in (
        nn.topk_pool(K, xs, torch.rand(34).double()),
        nn.coarsen(K, xs, torch.arange(34) % 9, signed=signed),
    ):
        ys = [torch.randn_like(x) for x in small.xs]
        back = nn.unpool(small.maps, ys, signed=signed)
        for k, B in enumerate(small.maps):
            again = B.from_cofaces(back[k], signed=signed, reduce="mean")
            torch.testing.assert_close(again, ys[k])
            assert not back[k][B.offsets.diff() == 0].any()  # what was lost


def test_coarsening_ignores_names_of_clusters():
    K, xs = karate()
    union = mpsn.collate([K, K])
    both = [torch.cat([x, 2 * x]) for x in xs]
    cluster = torch.arange(34) % 5
    one = nn.coarsen(K, xs, cluster)
    for names in (torch.cat([cluster, cluster]), torch.cat([cluster, cluster + 10**15])):
        two = nn.coarsen(union, both, names)
        assert mpsn.collate([one.K, one.K]) == two.K
        for k, x in enumerate(two.xs):
            torch.testing.assert_close(x, torch.cat([one.xs[k], 2 * one.xs[k]]))


def test_edge_cases():
    empty = mpsn.SimplicialComplex()
    for small in (nn.topk_pool(empty, [], torch.zeros(0)), nn.coarsen(empty, [], torch.arange(0))):
        assert empty == small.K
    union = mpsn.collate([empty, mpsn.clique_complex(nx.path_graph(2)), empty])
    assert nn.topk_pool(union, [], torch.zeros(2)).K.ptr(0).tolist() == [0, 0, 1, 1]
    assert nn.coarsen(union, [], torch.zeros(2).long()).K.counts == (1,)
    # No cells to score; features beyond the dimension of the complex, and missing ones.
    xs = [torch.ones(2, 3), None, torch.ones(0, 3)]
    small = nn.TopKPool(3, dim=2)(union, xs)
    assert small.K.counts == ()
    assert [None if x is None else x.shape for x in small.xs] == [(0, 3), None, (0, 3)]
    assert nn.unpool(small.maps, small.xs)[0].tolist() == [[0, 0, 0]] * 2
    assert nn.TopKPool(3)(union, xs).xs[0].shape == (1, 3)
    assert nn.coarsen(union, xs, torch.arange(2)).xs[2].shape == (0, 3)


def test_what_is_refused():
    K, xs = karate()
    square = mpsn.cubical_complex(torch.zeros(2, 2))
    with pytest.raises(
        LayerError, match=r"simplicial complex to coarsen, got CubicalComplex.*TopK"
    ):
        nn.coarsen(square, [], torch.zeros(4).long())
    for wrong in (torch.zeros(33).long(), torch.zeros(34)):
        with pytest.raises(LayerError, match=r"cluster of each vertex as int64 of shape \(34,\)"):
            nn.coarsen(K, xs, wrong)
    with pytest.raises(LayerError, match="score for each of the 34 0-cells, got"):
        nn.topk_pool(K, xs, torch.zeros(33))
    with pytest.raises(ComplexError, match="row for each of the 78 cells"):
        nn.topk_pool(K, [xs[0], xs[0]], torch.zeros(34).double())
    for ratio in (0, 1.5, 3):
        with pytest.raises(LayerError, match="ratio above 0 and at most 1, got"):
            nn.TopKPool(3, ratio)
    with pytest.raises(LayerError, match="count as an integer >= 1"):
        nn.TopKPool(3, count=0)
    with pytest.raises(LayerError, match="features of the 1-cells to score, got none"):
        nn.TopKPool(3, dim=1)(K, [])
    with pytest.raises(LayerError, match="features of the 34 0-cells, got none"):
        nn.TopKPool(3)(K, [None, xs[1]])
    assert repr(nn.TopKPool(3, count=2, dim=1)).startswith("TopKPool(\n  3, count=2, dim=1")


AGGREGATIONS = {
    "max": lambda: "max",
    "softmax": lambda: "softmax",
    "median": lambda: "median",
    "attention": lambda: aggr.AttentionalAggregation(torch.nn.Linear(3, 1)),
    "top-k": lambda: aggr.SortAggregation(k=2),
    "several": lambda: aggr.MultiAggregation(["sum", "max", "std"]),
    "set2set": lambda: aggr.Set2Set(3, 2),
}


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_readouts_take_aggregations_of_pyg(name):
    """Each complex as PyG aggregates it alone; zeros where there are no cells, even in none."""
    torch.manual_seed(0)
    how = AGGREGATIONS[name]()
    graphs = [nx.complete_graph(4), nx.path_graph(3), nx.complete_graph(3), nx.empty_graph(0)]
    K = mpsn.collate([mpsn.clique_complex(graph, 2) for graph in graphs])
    xs = [torch.randn(n, 3) for n in K.counts]
    module = aggregation_resolver(how)
    for k, x in enumerate(xs):
        rows = nn.global_pool(K, k, x, how)
        for i in range(4):
            one = x[K.batch(k) == i]
            want = module(one, torch.zeros(len(one)).long(), dim=0)[0] if len(one) else 0 * rows[i]
            torch.testing.assert_close(rows[i], want)
    path = mpsn.clique_complex(nx.path_graph(3))
    assert not nn.global_pool(path, 2, torch.zeros(0, 3), how).any()
    readout = nn.ComplexReadout(3, 8, 2, dims=(0, 1, 2), reduce=how)
    out = readout(K, xs)
    assert out.shape == (4, 2)
    out.sum().backward()
    learned = [*readout.aggregations.parameters()]
    assert all(p.grad is not None for p in learned)
    assert bool(learned) == (name in ("attention", "set2set"))
    assert torch.equal(copy.deepcopy(readout)(K, xs), out)


def test_readouts_differ_by_dimension():
    K, xs = karate()
    xs = [x.float() for x in xs]
    readout = nn.ComplexReadout(3, 8, 2, dims=(0, 2), reduce=["mean", "max"])
    pooled = readout.pooled(K, [xs[0], xs[2]])
    torch.testing.assert_close(pooled[0], xs[0].mean(0, keepdim=True))
    torch.testing.assert_close(pooled[1], xs[2].amax(0, keepdim=True))
    for wrong in ("attentional", "biggest", None, 3):
        with pytest.raises(LayerError, match=r"reduce 'sum', 'mean', a PyG Aggregation, or"):
            nn.global_pool(K, 0, xs[0], wrong)
    with pytest.raises(LayerError, match="one for each of 2 dims, got 1"):
        nn.ComplexReadout(3, 8, 2, dims=(0, 2), reduce=["mean"])
    with pytest.raises(LayerError, match="is summed or averaged"):
        nn.global_pool(K, 0, xs[0][:, None], "max")
