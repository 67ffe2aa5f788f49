"""Lifts of points and graphs give the same simplices on CPU and GPU."""

import networkx as nx
import pytest
import torch

from mpsn import rips_complex
from mpsn.lifting import (
    directed_flag_complex,
    independence_complex,
    motif_complex,
    nearest_neighbor_complex,
    neighborhood_complex,
    path_complex,
)

pytestmark = pytest.mark.gpu


def cloud(n, d, dtype=torch.float64):
    return torch.rand(n, d, generator=torch.Generator().manual_seed(n + d), dtype=dtype)


def assert_close(K, L):
    """The same simplices; roots of the same squares may differ in the last bit."""
    assert K.bare() == L.bare()
    torch.testing.assert_close(
        K.x, L.x, rtol=1e-15 if K.x[0].dtype == torch.float64 else 2e-7, atol=0
    )


def test_ties_are_the_same():
    points = torch.cartesian_prod(*[torch.arange(12.0, dtype=torch.float64) / 7] * 2)
    for radius in ((2**0.5) / 7, 5 / 7, 1 / 7, 0.3):
        assert (
            rips_complex(points.cuda(), radius).cpu().bare() == rips_complex(points, radius).bare()
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "d", "radius"), [(3000, 2, 0.03), (2000, 3, 0.1), (300, 6, 0.5)])
def test_rips(n, d, radius, dtype):
    points = cloud(n, d, dtype)
    on_gpu = rips_complex(points.cuda(), radius)
    assert on_gpu.device.type == "cuda"
    assert_close(on_gpu.cpu(), rips_complex(points, radius))
    assert rips_complex(points, radius, device="cuda") == on_gpu


@pytest.mark.parametrize("radius", [None, 0.1])
def test_nearest_neighbors(radius):
    points = cloud(800, 3)
    on_cpu = rips_complex(points, radius, k=5)
    assert_close(rips_complex(points.cuda(), radius, k=5).cpu(), on_cpu)


@pytest.mark.parametrize(
    "lift",
    [
        directed_flag_complex,
        independence_complex,
        neighborhood_complex,
        path_complex,
        lambda graph: motif_complex(graph, [nx.cycle_graph(4), nx.house_graph()]),
    ],
)
def test_lifts_of_graphs(lift):
    graph = nx.gnp_random_graph(40, 0.2, seed=1, directed=True)
    edges = torch.tensor(list(graph.edges)).T
    assert lift((edges.cuda(), 40)).cpu() == lift((edges, 40))


def test_nearest_features():
    from torch_geometric.data import Data

    edges = torch.tensor(list(nx.cycle_graph(50).edges)).T
    data = Data(x=cloud(50, 4), edge_index=edges, y=torch.tensor([1]))
    on_gpu = nearest_neighbor_complex(data.clone().cuda())
    assert on_gpu.cpu() == nearest_neighbor_complex(data)
