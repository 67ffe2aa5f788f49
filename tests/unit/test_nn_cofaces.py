"""Face tables read the other way round, and the sums that go by them (single precision, CPU)."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.errors import LayerError
from mpsn.nn import functional as fn
from mpsn.nn.functional import cofaces as module
from mpsn.nn.functional.cofaces import cofaces


@pytest.fixture
def K():
    return mpsn.clique_complex(nx.karate_club_graph(), max_dim=3)


def test_every_simplex_finds_its_cofaces(K):
    for k in range(1, K.dim + 1):
        table, count = K.faces(k), K.count(k - 1)
        above = cofaces(table, count)
        ends = [*above.offsets[1:].tolist(), table.numel()]
        for face, (start, end) in enumerate(zip(above.offsets.tolist(), ends, strict=True)):
            expected = (table == face).any(1).nonzero().flatten()
            assert torch.equal(above.simplices[start:end], expected)
            assert (table.flatten()[above.places[start:end]] == face).all()


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_sums_and_gradients_agree_with_double_precision(K, signed, batch):
    """In double precision nothing is listed: rows are added one by one."""
    g = torch.Generator().manual_seed(0)
    for kind, s in (("boundary", 1), ("coboundary", 3), ("lower", 2), ("upper", 2)):
        h = torch.randn(K.count(s), *batch, 5, generator=g)
        found = []
        for x in (h.clone(), h.double()):
            y = fn.aggregate(K, 2, kind, x.requires_grad_(), signed=signed)
            (grad,) = torch.autograd.grad(y.square().sum(), x)
            found.append((y.double(), grad.double()))
        torch.testing.assert_close(*found, rtol=1e-5, atol=1e-4)


def test_tables_are_read_once_while_they_live(K, monkeypatch):
    read = []
    transpose = module._transpose
    monkeypatch.setattr(module, "_transpose", lambda *args: read.append(1) or transpose(*args))
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
