"""Face tables read the other way round, and the sums that go by them."""

import itertools

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn.functional import cofaces as module
from mpsn.nn.functional.cofaces import cofaces
from mpsn.nn.functional.row_sums import sum_rows


@pytest.fixture
def K():
    return mpsn.clique_complex(nx.karate_club_graph(), max_dim=3)


def test_every_simplex_finds_its_cofaces(K):
    for k in range(1, K.dim + 1):
        table, count = K.faces(k), K.count(k - 1)
        above = cofaces(table, count)
        for face, (start, end) in enumerate(itertools.pairwise(above.ptr.tolist())):
            expected = (table == face).any(1).nonzero().flatten()
            assert torch.equal(above.simplices[start:end], expected)
            assert (table.flatten()[above.places[start:end]] == face).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_sums_and_gradients_are_products_with_boundary_matrices(K, signed, batch, dtype):
    g = torch.Generator().manual_seed(0)
    for k in range(1, K.dim + 1):
        B = K.boundary_matrix(k, signed=signed).to_dense().to(dtype)
        for kind, to, s, matrix in (("boundary", k, k - 1, B.T), ("coboundary", k - 1, k, B)):
            h = torch.randn(K.count(s), *batch, 5, generator=g, dtype=dtype).requires_grad_()
            y = fn.aggregate(K, to, kind, h, signed=signed)
            expected = torch.tensordot(matrix, h, dims=1)
            seen = [torch.autograd.grad(z.square().sum(), h)[0] for z in (y, expected)]
            tolerance = 1e-4 if dtype == torch.float32 else 1e-12
            torch.testing.assert_close(y, expected, rtol=tolerance, atol=tolerance)
            torch.testing.assert_close(*seen, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_listed_rows(dtype, weighted):
    """Against one by one; empty lists at any place."""
    h, at = torch.randn(9, 3, dtype=dtype), torch.tensor([8, 0, 0, 3, 5])
    ptr = torch.tensor([0, 0, 2, 5, 5, 5])
    weights = torch.randn(5) if weighted else None
    each = h[at] if weights is None else h[at] * weights[:, None].to(dtype)
    slow = torch.stack([each[i:j].sum(dim=0) for i, j in itertools.pairwise(ptr.tolist())])
    torch.testing.assert_close(sum_rows(h, at, ptr, weights), slow)
    part = ptr[:3]  # what comes after the last list is in no list
    torch.testing.assert_close(sum_rows(h, at, part, weights), slow[:2])
    assert sum_rows(h, at[:0], ptr[:1]).shape == (0, 3)
    assert sum_rows(h[:0], at[:0], torch.zeros(3, dtype=torch.int64)).tolist() == [[0] * 3] * 2


def test_tables_are_read_once_while_they_live(K, monkeypatch):
    read = []
    group = module.grouped
    monkeypatch.setattr(module, "grouped", lambda *args: read.append(1) or group(*args))
    h = torch.randn(K.count(1), 2, requires_grad=True)
    for _ in range(3):
        fn.aggregate(K, 1, "upper", h).sum().backward()
    assert len(read) == 1
    before = len(module._known)
    del K
    assert len(module._known) == before  # the fixture still holds it
    table = torch.tensor([[1, 0]])
    cofaces(table, 2)
    assert len(module._known) == before + 1
    del table
    assert len(module._known) == before


def test_a_table_that_was_written_to_is_read_again():
    table, h = torch.tensor([[1, 0]]), torch.ones(1, 1)
    assert fn.coboundary(h, table, 3).flatten().tolist() == [1, 1, 0]
    table[0, 0] = 2
    assert fn.coboundary(h, table, 3).flatten().tolist() == [1, 0, 1]
    assert fn.coboundary(h, table, 4).flatten().tolist() == [1, 0, 1, 0]
    with torch.inference_mode():
        assert fn.coboundary(h, table.clone(), 3).flatten().tolist() == [1, 0, 1]


@pytest.mark.parametrize("table", [[[3, 0]], [[-1, 0]]])
def test_entries_out_of_range_are_refused(table):
    with pytest.raises(LayerError, match=r"from 0 to 2, got (0 to 3|-1 to 0)"):
        fn.coboundary(torch.ones(1, 1), torch.tensor(table), 3)
