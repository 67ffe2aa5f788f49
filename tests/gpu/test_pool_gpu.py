"""Pooling on a GPU: the same complexes and numbers as on the CPU."""

import copy

import networkx as nx
import pytest
import torch

import mpsn
from mpsn import nn

pytestmark = pytest.mark.gpu


KINDS = {
    "cliques": lambda i: mpsn.clique_complex(nx.gnp_random_graph(40, 0.3, seed=i), max_dim=3),
    "rings": lambda i: mpsn.ring_complex(nx.gnp_random_graph(30, 0.2, seed=i), 6, max_dim=3),
    "cubes": lambda i: mpsn.cubical_complex(torch.zeros(3, 4, 4 + i)),
}


def union(kind):
    K = mpsn.collate([KINDS[kind](i) for i in range(4)])
    torch.manual_seed(0)
    return K, [torch.randn(n, 4, dtype=torch.float64) for n in K.counts]


def same(pooled, other):
    assert pooled.K.to("cpu") == other.K
    for mine, theirs in zip(pooled.maps, other.maps, strict=True):
        assert mine.apply(lambda t: t.cpu()) == theirs
    for mine, theirs in zip(pooled.xs, other.xs, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_topk(kind, dim):
    K, xs = union(kind)
    pool = nn.TopKPool(4, dim=dim).double()
    cuda = copy.deepcopy(pool).cuda()
    there = [x.cuda().requires_grad_() for x in xs]
    here = [x.clone().requires_grad_() for x in xs]
    got, want = cuda(K.to("cuda"), there), pool(K, here)
    same(got, want)
    for a, b in zip(nn.unpool(got.maps, got.xs), nn.unpool(want.maps, want.xs), strict=True):
        torch.testing.assert_close(a.cpu(), b)
    for pooled in (got, want):
        sum(x.square().sum() for x in pooled.xs).backward()
    for a, b in zip(there, here, strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad)
    torch.testing.assert_close(cuda.score.weight.grad.cpu(), pool.score.weight.grad)


@pytest.mark.parametrize("signed", [False, True])
def test_coarsening(signed):
    K, xs = union("cliques")
    cluster = torch.arange(K.num_nodes) % 9
    there = nn.coarsen(K.to("cuda"), [x.cuda() for x in xs], cluster.cuda(), signed=signed)
    same(there, nn.coarsen(K, xs, cluster, signed=signed))


def test_hierarchical():
    K, xs = union("cliques")
    model = nn.models.Hierarchical(in_channels=4, max_dim=2, layers=3, norm=True, jump=True)
    model = model.double().eval()
    K, xs = K.skeleton(2), xs[:3]
    there = copy.deepcopy(model).cuda()(K.to("cuda"), [x.cuda() for x in xs])
    torch.testing.assert_close(there.cpu(), model(K, xs))
