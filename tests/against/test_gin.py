"""On vertices alone, SIN is GIN: PyG's GINConv with the same weights is the oracle."""

import networkx as nx
import pytest
import torch
from torch_geometric.nn import GINConv

from mpsn import SimplicialComplex, nn


def both_ways(K):
    ends = K.faces(1).T
    return torch.cat([ends, ends.flip(0)], dim=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("eps", [0.0, 0.25])
def test_sin_on_a_graph_restricted_to_vertices_is_gin(eps, dtype):
    torch.manual_seed(0)
    K = SimplicialComplex.from_graph(nx.karate_club_graph())
    xs = [torch.randn(n, 3, dtype=dtype) for n in K.counts]
    sin = nn.SINConv(3, 4, max_dim=1, coface_message=False, eps=eps).to(dtype)
    gin = GINConv(sin.mlp_upper[0], eps=eps)
    # The update reads [boundary || upper]; vertices have no boundary, so keep the upper half.
    with torch.no_grad():
        dense = sin.mlp_update[0][0]
        dense.weight.copy_(torch.eye(4, 8).roll(4, dims=1))
        dense.bias.zero_()
    expected = torch.nn.functional.elu(gin(xs[0], both_ways(K)))
    torch.testing.assert_close(sin(K, xs)[0], expected)


def test_the_general_layer_on_vertices_is_gin():
    torch.manual_seed(0)
    K = SimplicialComplex.from_graph(nx.karate_club_graph())
    xs = [torch.randn(n, 3, dtype=torch.float64) for n in K.counts]
    mlp = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    gin = GINConv(mlp.double(), eps=0.5)  # draws new weights
    layer = nn.MPSNConv(
        lambda receiver, upper: mlp(1.5 * receiver + upper), upper=lambda sender: sender
    )
    torch.testing.assert_close(layer(K, xs)[0], gin(xs[0], both_ways(K)))


def test_gin_model_is_a_stack_of_pyg_layers():
    torch.manual_seed(0)
    K = SimplicialComplex.from_graph(nx.karate_club_graph()).replace(x=[torch.randn(34, 3)])
    model = nn.models.GIN(in_channels=3, layers=2, jump=True)
    first = model.convs[0](K.x[0], both_ways(K))
    second = model.convs[1](first, both_ways(K))
    pooled = torch.cat([first, second], dim=1).sum(0, keepdim=True)
    readout = model.readout
    expected = readout.last(torch.nn.functional.elu(readout.dense[0](pooled)))
    torch.testing.assert_close(model(K), expected)
