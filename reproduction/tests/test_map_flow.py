"""A network that knows where a flow starts and ends, and sees no orientations."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn import SimplicialComplex
from mpsn.errors import ComplexError, LayerError
from mpsn.testing import assert_orientation_invariant
from mpsn_reproduction.papers.ocean import MapFlowNet, laplacian_coordinates

KARATE = mpsn.clique_complex(nx.karate_club_graph(), max_dim=2)


def on_map(K, number=3):
    generator = torch.Generator().manual_seed(0)
    return K.replace(x=[torch.randn(K.num_nodes, number, generator=generator, dtype=torch.float64)])


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_orientation_invariant(dims):
    torch.manual_seed(0)
    net = MapFlowNet(coordinates=3, dims=dims, hidden=8)
    small = SimplicialComplex.from_simplices([[0, 1, 2], [1, 2, 3], [3, 4]], 6)
    assert_orientation_invariant(net, [on_map(small), on_map(KARATE)])


def test_a_flow_and_its_reverse_differ_at_their_ends_only():
    torch.manual_seed(0)
    K, h = on_map(KARATE), torch.randn(78, 4, 1, dtype=torch.float64)
    at_ends = MapFlowNet(coordinates=3, hidden=8).double()
    on_edges = MapFlowNet(coordinates=3, hidden=8, dims=(1, 2)).double()
    assert not torch.allclose(at_ends(K, h), at_ends(K, -h))
    assert torch.equal(on_edges(K, h), on_edges(K, -h))


def test_sums_by_hand():
    """The path 0 -> 1 -> 2 around one triangle, and on to 3."""
    K = SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]])
    K = K.replace(x=[torch.tensor([[1.0], [10.0], [100.0], [1000.0]])])
    h = torch.tensor([1.0, 0.0, 1.0, 1.0])[:, None]  # on edges 01, 02, 12, 23
    net = MapFlowNet(coordinates=1, dims=(0, 1, 2))
    sums = torch.cat(list(net._sums(K, h, K.x[0])))
    assert sums[:, 0].tolist() == [1.0, 1000.0, 5.5 + 55 + 550, 2 * 37.0]


def test_a_batch_is_a_loop_and_a_union():
    torch.manual_seed(0)
    net = MapFlowNet(coordinates=3, dims=(0, 1, 2), hidden=8).double()
    K, h = on_map(KARATE), torch.randn(78, 5, 1, dtype=torch.float64)
    out = net(K, h)
    torch.testing.assert_close(out, torch.cat([net(K, h[:, i]) for i in range(5)]))
    union = mpsn.collate([K] * 5)
    torch.testing.assert_close(out, net(union, h.transpose(0, 1).reshape(-1, 1)))
    assert net(K, h[:, :0]).shape == (0, 2)


def test_bad_settings_and_maps():
    with pytest.raises(LayerError, match="Expected dims among 0, 1 and 2, got \\(3,\\)"):
        MapFlowNet(dims=(3,))
    net = MapFlowNet(coordinates=2)
    with pytest.raises(LayerError, match=r"K.x\[0\], of shape \(34, 2\), got None"):
        net(KARATE, torch.zeros(78, 1))
    with pytest.raises(LayerError, match=r"of shape \(34, 2\), got \(34, 3\)"):
        net(on_map(KARATE), torch.zeros(78, 1))


def test_laplacian_coordinates_are_waves():
    p = laplacian_coordinates(KARATE, 4)
    L = KARATE.hodge_laplacian(0, dtype=torch.float64).to_dense()
    torch.testing.assert_close(p.T @ p / 34, torch.eye(4, dtype=torch.float64))
    values = torch.linalg.eigvalsh(L)[1:5]
    torch.testing.assert_close(L @ p, p * values)
    assert (p.gather(0, p.abs().argmax(0, keepdim=True)) > 0).all()


def test_coordinates_of_a_path_run_along_it():
    p = laplacian_coordinates(SimplicialComplex.from_graph(nx.path_graph(9)), 1)[:, 0]
    assert (p.diff() > 0).all() or (p.diff() < 0).all()


@pytest.mark.parametrize(
    ("K", "number"), [(KARATE, 0), (KARATE, 34), (mpsn.collate([KARATE, KARATE]), 2)]
)
def test_no_coordinates(K, number):
    with pytest.raises(ComplexError, match="Expected a connected complex of more than"):
        laplacian_coordinates(K, number)
