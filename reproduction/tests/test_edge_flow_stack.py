"""Networks side by side: the same as each of them alone, in every orientation, and in training."""

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mpsn
from mpsn import SimplicialComplex
from mpsn._rows.sums import Matrix
from mpsn.errors import LayerError
from mpsn.nn.models import EdgeFlowNet
from mpsn_reproduction.engines.flow_stack import EdgeFlowStack

CONFIGS = {
    "GNN L0-inv": {"act": "relu", "l0_inv": True, "upper": False},
    "MPSN L0-inv": {"act": "relu", "l0_inv": True},
    "MPSN ReLU": {"act": "relu"},
    "MPSN Id": {"act": "id"},
    "MPSN Tanh": {"act": "tanh"},
    "wide input": {"act": "tanh", "in_channels": 5},
}
COMPLEXES = {
    "karate": mpsn.clique_complex(nx.karate_club_graph(), max_dim=2),
    "no triangles": mpsn.clique_complex(nx.cycle_graph(5), max_dim=2),
    "an edge apart": SimplicialComplex.from_simplices([[0, 1, 2], [1, 2, 3], [4, 5]], 7),
}


def nets_of(config, number=3):
    torch.manual_seed(0)
    return [EdgeFlowNet(hidden=8, layers=3, **config).double() for _ in range(number)]


def flows_of(K, nets, number):
    shape = (len(nets), K.count(1), number, nets[0].in_channels)
    return torch.randn(shape, dtype=torch.float64)


def turned(K):
    return K.flip({k: torch.rand(K.count(k)) < 0.5 for k in range(1, K.dim + 1)})


@pytest.mark.parametrize("complex_", COMPLEXES)
@pytest.mark.parametrize("config", CONFIGS)
def test_a_stack_is_each_network_alone(config, complex_):
    nets = nets_of(CONFIGS[config])
    K = turned(COMPLEXES[complex_])
    x = flows_of(K, nets, 4)
    stack = EdgeFlowStack(nets, K)
    assert sum(p.numel() for p in stack.parameters()) == 3 * sum(
        p.numel() for p in nets[0].parameters()
    )
    out = stack(x)
    weights = torch.randn_like(out)
    (out * weights).sum().backward()
    for s, net in enumerate(nets):
        alone = net(K, x[s])
        torch.testing.assert_close(out[s], alone, rtol=1e-10, atol=1e-10)
        (alone * weights[s]).sum().backward()
        for name, stacked in zip(stack.names, stack.stacked, strict=True):
            grad = net.get_parameter(name).grad
            torch.testing.assert_close(stacked.grad[s], grad, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("config", CONFIGS)
def test_orientations_are_signs_on_rows(config):
    """Against a complex that is turned round for every flow; it matters for ReLU."""
    nets = nets_of(CONFIGS[config], 2)
    K = COMPLEXES["karate"]
    x = flows_of(K, nets, 3)
    signs = 1 - 2 * torch.randint(0, 2, (K.count(1), 3), dtype=torch.int8)
    out = EdgeFlowStack(nets, K)(x, signs)
    plain = EdgeFlowStack(nets, K)(x)
    assert torch.allclose(out, plain) == nets[0].l0_inv
    for i in range(3):
        K_i = K.flip({1: signs[:, i] < 0})
        for s, net in enumerate(nets):
            torch.testing.assert_close(out[s, i], net(K_i, x[s, :, i])[0], rtol=1e-10, atol=1e-10)


def test_training_a_stack_trains_each_network():
    nets, twins = nets_of(CONFIGS["MPSN Tanh"]), nets_of(CONFIGS["MPSN Tanh"])
    K = COMPLEXES["karate"]
    x, y = flows_of(K, nets, 6), torch.randint(0, 2, (3, 6))
    stack = EdgeFlowStack(nets, K)
    adam = torch.optim.Adam(stack.parameters(), lr=0.01, fused=True)
    for _ in range(5):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(stack(x).mT, y, reduction="none").mean(1).sum().backward()
        adam.step()
    stack.write_back()
    for s, (net, twin) in enumerate(zip(nets, twins, strict=True)):
        adam = torch.optim.Adam(twin.parameters(), lr=0.01)
        for _ in range(5):
            adam.zero_grad()
            torch.nn.functional.cross_entropy(twin(K, x[s]), y[s]).backward()
            adam.step()
        for name, parameter in twin.named_parameters():
            torch.testing.assert_close(net.get_parameter(name), parameter, rtol=1e-10, atol=1e-10)


def test_gradients_reach_the_flows():
    nets = nets_of(CONFIGS["MPSN Tanh"], 1)
    K = COMPLEXES["karate"]
    x = flows_of(K, nets, 2).requires_grad_()
    (grad,) = torch.autograd.grad(EdgeFlowStack(nets, K)(x).sum(), x)
    (alone,) = torch.autograd.grad(nets[0](K, x[0]).sum(), x)
    torch.testing.assert_close(grad, alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("K", [SimplicialComplex(0), SimplicialComplex(3)])
def test_no_edges_and_no_flows(K):
    nets = nets_of(CONFIGS["MPSN Tanh"], 2)
    stack = EdgeFlowStack(nets, K)
    out = stack(flows_of(K, nets, 2))
    torch.testing.assert_close(out[1], nets[1](K, torch.zeros(0, 2, 1, dtype=torch.float64)))
    out.sum().backward()
    assert stack(flows_of(K, nets, 0)).shape == (2, 0, 2)


@given(st.data())
def test_sparse_rows_are_a_matrix(data):
    n, m, d = (data.draw(st.integers(0, 5)) for _ in range(3))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 999)))
    A = torch.randn(n, m, generator=generator) * (torch.rand(n, m, generator=generator) < 0.5)
    rows, columns = A.nonzero(as_tuple=True)
    order = torch.randperm(len(rows), generator=generator)
    rows, columns = rows[order], columns[order]
    sparse = Matrix.of(rows, columns, A[rows, columns].double(), (n, m))
    h = torch.randn(m, d, 2, generator=generator)
    torch.testing.assert_close(sparse @ h, torch.einsum("nm,mdk->ndk", A, h))


def test_bad_stacks():
    K = COMPLEXES["karate"]
    nets = nets_of(CONFIGS["MPSN Tanh"], 2)
    with pytest.raises(LayerError, match="networks with the same keywords, got \\[\\]"):
        EdgeFlowStack([], K)
    with pytest.raises(LayerError, match="make a stack for each kind"):
        EdgeFlowStack([nets[0], nets_of(CONFIGS["MPSN Id"], 1)[0]], K)
    with pytest.raises(LayerError, match="Expected one complex, got a union of 2"):
        EdgeFlowStack(nets, mpsn.collate([K, K]))
    with pytest.raises(LayerError, match=r"flows of shape \(2, 78, N, 1\), got \(2, 77, 3, 1\)"):
        EdgeFlowStack(nets, K)(torch.zeros(2, 77, 3, 1))
