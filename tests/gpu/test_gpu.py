"""CPU and GPU give the same, bit for bit."""

import networkx as nx
import pytest
import torch

from mpsn import (
    ComplexDataset,
    clique_complex,
    clique_complexes,
    collate,
    cube_complexes,
    cubical_complex,
    lift_features,
    ring_complexes,
)

pytestmark = pytest.mark.gpu


def random_graph(seed, n=60, p=0.4):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    edges = torch.tensor(list(graph.edges)).T.reshape(2, -1)
    return torch.cat([edges, edges.flip(0)], dim=1), n


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_dim", [0, 1, 2, None])
def test_lifting(seed, max_dim):
    edges, n = random_graph(seed)
    on_cpu = clique_complex((edges, n), max_dim)
    on_gpu = clique_complex((edges.cuda(), n), max_dim)
    assert on_gpu.device.type == "cuda"
    assert on_gpu.cpu() == on_cpu
    assert clique_complex((edges, n), max_dim, device="cuda").cpu() == on_cpu


def test_lifting_in_small_chunks(monkeypatch):
    from mpsn._rows.memory import Budget

    edges, n = random_graph(9)
    whole = clique_complex((edges.cuda(), n), None)
    monkeypatch.setattr(Budget, "room", lambda *_: 1000)
    assert clique_complex((edges.cuda(), n), None) == whole


@pytest.mark.parametrize("max_dim", [2, None])
def test_rings_and_cubes(max_dim):
    graphs = [random_graph(i, n=4 + i, p=0.35) for i in range(14)]
    for lift in (
        lambda d: ring_complexes(graphs, 8, max_dim, device=d),
        lambda d: cube_complexes(graphs, max_dim or 3, device=d),
    ):
        assert lift("cuda").to("cpu") == lift("cpu")


@pytest.mark.parametrize("pixels", ["cells", "vertices"])
def test_images(pixels):
    image = torch.rand(5, 4, 6)
    K = cubical_complex(image, pixels=pixels, mask=image > 0.3)
    assert cubical_complex(image.cuda(), pixels=pixels, mask=image.cuda() > 0.3).cpu() == K


def test_packed_collection():
    graphs = [random_graph(i, n=5 + i, p=0.5) for i in range(20)]
    on_cpu, on_gpu = (clique_complexes(graphs, 3, device=d) for d in ("cpu", "cuda"))
    assert on_gpu.to("cpu") == on_cpu
    index = [7, 7, 0, 19]
    assert on_gpu.batch(index).cpu() == on_cpu.batch(index)
    assert collate(on_gpu.batch(index).to_list()).cpu() == on_cpu.batch(index)


def test_operators():
    K = clique_complex(random_graph(1, 30), 3)
    K = lift_features(K.replace(x=[torch.randn(30, 4)]), "mean")
    flips = {k: torch.rand(K.count(k)) < 0.5 for k in (1, 2, 3)}
    K = K.flip(flips)
    G = K.to("cuda")
    for k in range(4):
        for part in ("full", "up", "down"):
            for normalized in (False, True):
                ours = G.hodge_laplacian(k, part, normalized, torch.float64).cpu().to_dense()
                theirs = K.hodge_laplacian(k, part, normalized, torch.float64).to_dense()
                torch.testing.assert_close(ours, theirs)
        for kind in ("boundary", "coboundary", "lower", "upper"):
            for a, b in zip(G.adjacency(k, kind), K.adjacency(k, kind), strict=True):
                assert (a is b is None) or torch.equal(a.cpu(), b)
    order = {k: torch.randperm(K.count(k)) for k in range(4)}
    moved = G.permute({k: row.cuda() for k, row in order.items()})
    assert moved.cpu() == K.permute(order)


def test_homology():
    K = clique_complex(nx.grid_2d_graph(6, 6))
    G = K.to("cuda")
    assert G.betti_numbers() == K.betti_numbers() == (1, 25)
    basis = G.harmonic_basis(1)
    assert basis.device.type == "cuda"
    assert (G.hodge_laplacian(1, dtype=torch.float64) @ basis).abs().max() < 1e-9
    x = torch.randn(K.count(1), dtype=torch.float64)
    for ours, theirs in zip(
        G.hodge_decomposition(1, x.cuda()), K.hodge_decomposition(1, x), strict=True
    ):
        torch.testing.assert_close(ours.cpu(), theirs, atol=1e-9, rtol=0)


def test_save_and_load(tmp_path):
    data = clique_complexes([random_graph(i, 10) for i in range(3)], device="cuda")
    data.save(tmp_path / "data.npz")
    assert ComplexDataset.load(tmp_path / "data.npz") == data.to("cpu")
