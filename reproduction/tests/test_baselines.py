"""The networks of the paper's table beside SIN and GIN, against their equations."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.nn.models import GIN
from mpsn_reproduction.baselines import BASELINES, make_baseline
from mpsn_reproduction.baselines.dgcnn import KEPT
from mpsn_reproduction.settings import Network

GRAPHS = [nx.gnp_random_graph(n, 0.3, seed=n) for n in (1, 6, 9, KEPT + 10)]
SIZES = {"in_channels": 3, "hidden": 4, "out_channels": 2, "layers": 2}
SMALL = Network(GIN, **SIZES, act="tanh", dropout=0.5)


@pytest.fixture
def batch():
    torch.manual_seed(0)
    K = mpsn.clique_complexes(GRAPHS, max_dim=2).union
    return K.replace(x=[torch.randn(K.num_nodes, 3)])


def each(K):
    """Return the adjacency matrix and the features of each graph."""
    ptr = K.ptr(0).tolist()
    for i, graph in enumerate(GRAPHS):
        yield torch.from_numpy(nx.to_numpy_array(graph)).float(), K.x[0][ptr[i] : ptr[i + 1]]


def test_dcnn_by_its_equation(batch):
    model = make_baseline("dcnn", SMALL).eval()
    for row, (A, x) in zip(model(batch), each(batch), strict=True):
        P = A / A.sum(1, keepdim=True).clamp(min=1)
        means = [(torch.linalg.matrix_power(P, j) @ x).mean(0) for j in range(3)]
        expected = model.last(torch.tanh(model.weight * torch.cat(means)))
        torch.testing.assert_close(row, expected)


def test_dgcnn_by_its_equation(batch):
    model = make_baseline("dgcnn", SMALL).eval()
    for row, (A, x) in zip(model(batch), each(batch), strict=True):
        A = A + torch.eye(len(A))
        every = []
        for layer in model.layers:
            x = torch.tanh(A @ x @ layer.weight.T / A.sum(1, keepdim=True))
            every.append(x)
        z = torch.cat(every, dim=1)  # (n, 4 + 4 + 1)
        assert z.shape[1] == 9
        z = z[z[:, -1].argsort(descending=True)][:KEPT]
        z = torch.cat([z, z.new_zeros(KEPT - len(z), 9)])
        expected = model.last(model.dense(model.convs(z.view(1, 1, -1))))
        torch.testing.assert_close(row, expected[0])


@pytest.mark.parametrize("name", BASELINES)
def test_networks_are_trainable(name, batch):
    torch.manual_seed(1)
    model = make_baseline(name, SMALL.replace(dropout=0.0)).eval()
    out = model(batch)
    out.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert out.std(0).min() > 1e-4
