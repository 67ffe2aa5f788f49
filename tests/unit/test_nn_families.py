"""Layers of the field's families, beside their definitions written with dense matrices."""

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.special import jacobi

import mpsn
from mpsn import nn
from mpsn.nn.functional import laplacian, laplacian_powers
from mpsn.nn.models import ConvNet
from mpsn.nn.models.convnet import ALL_DIMS, ONE_DIM
from mpsn.testing import assert_orientation_equivariant, assert_permutation_equivariant

K = mpsn.clique_complex(nx.karate_club_graph(), 3).flip({1: torch.arange(78) % 3 == 0})
LAYERS = {
    "CANConv": lambda: nn.CANConv(4, 6, heads=2),
    "SANConv": lambda: nn.SANConv(4, 6),
    "GSANConv": lambda: nn.GSANConv(4, 6, 2, degree=2),
    "HMCConv": lambda: nn.HMCConv(4, 6, heads=2),
    "SCNConv": lambda: nn.SCNConv(4, 6, 2),
    "SCNNConv": lambda: nn.SCNNConv(4, 6, basis="chebyshev", scale=0.1),
    "SCCNNConv": lambda: nn.SCCNNConv(4, 6, 2, basis="jacobi", normalized=True),
    "CellTransformerConv": lambda: nn.CellTransformerConv(4, 2),
    "CellTransformerConv, pairwise": lambda: nn.CellTransformerConv(4, 2, mode="pairwise"),
    **{
        f"SheafConv, {maps}, {k}": lambda maps=maps, k=k: nn.SheafConv(4, dim=k, maps=maps)
        for maps in ("diagonal", "orthogonal", "general")
        for k in (0, 1)
    },
}
SIGNED = [name for name in LAYERS if name.startswith(("SCN", "SCC", "Sheaf"))]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_permutation_equivariant(name, kind):
    assert_permutation_equivariant(LAYERS[name](), kind=kind)


@pytest.mark.parametrize("kind", ["simplicial", "cell", "cubical"])
@pytest.mark.parametrize("name", SIGNED)
def test_signed_layers_are_orientation_equivariant(name, kind):
    assert_orientation_equivariant(LAYERS[name](), kind=kind)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("k", range(4))
def test_products_with_laplacians(k, normalized):
    h = torch.randn(K.count(k), 2, 3, dtype=torch.float64)
    for part in ("full", "down", "up"):
        dense = K.hodge_laplacian(k, part, normalized, torch.float64).to_dense()
        right = torch.einsum("ij,jbf->ibf", dense, h)
        torch.testing.assert_close(laplacian(K, k, h, part, normalized=normalized), right)


@pytest.mark.parametrize("basis", ["monomial", "chebyshev", "jacobi"])
@pytest.mark.parametrize("k", range(3))
def test_polynomials_of_laplacians(k, basis):
    """Eigenvalues are from 0 to 1, as the docstring says; coefficients are numpy's and scipy's."""
    h = torch.randn(K.count(k), 3, dtype=torch.float64)
    for part in ("full", "down", "up"):
        L = K.hodge_laplacian(k, part, True, torch.float64).to_dense() / (2 if k == 0 else 1)
        values = torch.linalg.eigvals(L).real
        assert -1e-6 < values.min() <= values.max() < 1 + 1e-6
        x = L if basis == "monomial" else 2 * L - torch.eye(len(L), dtype=L.dtype)
        powers = laplacian_powers(K, k, h, part, 4, basis=basis, normalized=True)
        for r, power in enumerate(powers, 1):
            coefficients = {
                "monomial": [0] * r + [1],
                "chebyshev": np.polynomial.chebyshev.cheb2poly([0] * r + [1]),
                "jacobi": jacobi(r, 1, 1).coef[::-1],
            }[basis]
            terms = [c * torch.linalg.matrix_power(x, i) for i, c in enumerate(coefficients)]
            torch.testing.assert_close(power, sum(terms) @ h, rtol=1e-9, atol=1e-9)


def test_a_filter_has_all_its_weights():
    layer = nn.SCNNConv(2, 3, 2, 1, act="id").double()
    h = torch.randn(K.count(1), 2, dtype=torch.float64)
    down, up = (
        K.hodge_laplacian(1, part, dtype=torch.float64).to_dense() for part in ("down", "up")
    )
    w0, d1, d2, u1 = layer.weight.weight.split(2, dim=1)
    right = h @ w0.T + down @ h @ d1.T + down @ down @ h @ d2.T + up @ h @ u1.T
    torch.testing.assert_close(layer(K, h), right)


@pytest.mark.parametrize("maps", ["diagonal", "orthogonal", "general"])
@pytest.mark.parametrize("k", [0, 1])
def test_sheaf_diffusion_is_its_definition(k, maps):
    K = mpsn.clique_complex(nx.wheel_graph(6), 2).flip({1: torch.arange(10) % 2 == 0})
    layer = nn.SheafConv(6, stalk=2, dim=k, maps=maps, act="id").double()
    n, m, d = K.count(k), K.count(k + 1), 2
    h = torch.randn(n, 6, dtype=torch.float64)
    B = K.boundary_matrix(k + 1).to_dense().double()
    F = layer.restriction_maps(K.incidence(k + 1), h)
    coboundary = torch.zeros(m * d, n * d, dtype=torch.float64)
    for cell, face, one in zip(K.incidence(k + 1).cell, K.incidence(k + 1).face, F, strict=True):
        coboundary[cell * d : cell * d + d, face * d : face * d + d] = B[face, cell] * one
        if maps == "orthogonal":
            torch.testing.assert_close(one @ one.T, torch.eye(d, dtype=one.dtype))
    square = coboundary.T @ coboundary
    root = torch.block_diag(
        *(
            torch.linalg.cholesky(
                torch.eye(d) + square[i * d : i * d + d, i * d : i * d + d]
            ).inverse()
            for i in range(n)
        )
    )
    x = (h.view(n, d, 3).mT @ layer.left.weight.T).mT @ layer.right.weight.T
    diffused = root @ square @ root.T @ x.reshape(n * d, 3)
    torch.testing.assert_close(layer(K, h), h - diffused.reshape(n, 6))
    if k == 0:  # constant on stalks that agree: the kernel of δ does not change
        values = torch.linalg.eigvalsh(root @ square @ root.T)
        assert values.min() > -1e-9
        assert values.max() < 2


@pytest.mark.parametrize("mode", ["general", "pairwise"])
def test_cells_attend_within_their_complex(mode):
    """A union gives what its parts give alone, also where a part lacks a dimension."""
    graphs = [nx.complete_graph(4), nx.path_graph(3), nx.empty_graph(1), nx.cycle_graph(5)]
    parts = [mpsn.clique_complex(graph, 2) for graph in graphs]
    layer = nn.CellTransformerConv(8, 2, mode=mode).double()
    xs = [[torch.randn(K.count(k), 8, dtype=torch.float64) for k in range(3)] for K in parts]
    whole = layer(mpsn.collate(parts), [torch.cat(x) for x in zip(*xs, strict=True)])
    alone = [layer(K, x) for K, x in zip(parts, xs, strict=True)]
    for k, right in enumerate(zip(*alone, strict=True)):
        torch.testing.assert_close(whole[k], torch.cat(right))


def test_a_transformer_is_softmax_over_all_cells():
    K = mpsn.clique_complex(nx.complete_graph(3), 2)
    layer = nn.CellTransformerConv(4, 2, heads=1).double()
    xs = [torch.randn(n, 4, dtype=torch.float64) for n in K.counts]
    h = torch.cat([norm(x) for norm, x in zip(layer.norms, xs, strict=True)])
    q, key, v = (part["all"](h) for part in (layer.query, layer.key, layer.value))
    z = torch.cat(xs) + layer.out["all"]((q @ key.T / 2).softmax(1) @ v)
    right = [x + mlp(x) for x, mlp in zip(z.split([3, 3, 1]), layer.mlps, strict=True)]
    for ours, theirs in zip(layer(K, xs), right, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_graph_layers_run_along_neighborhoods():
    from torch_geometric.nn import GCNConv, SAGEConv

    gcn, sage = GCNConv(4, 6), SAGEConv((4, 4), 6)
    layer = nn.NeighborhoodConv({(1, "lower"): gcn, (1, "boundary"): sage}, act="tanh")
    xs = [torch.randn(K.count(k), 4) for k in range(2)]
    lower = K.adjacency(1, "lower")
    faces = K.adjacency(1, "boundary")
    right = torch.tanh(
        gcn(xs[1], torch.stack([lower.sender, lower.receiver]))
        + sage((xs[0], xs[1]), torch.stack([faces.sender, faces.receiver]))
    )
    out = layer(K, xs)
    torch.testing.assert_close(out[1], right)
    assert out[0] is xs[0]
    with pytest.raises(mpsn.MPSNError, match="features of dimensions 1 and 2"):
        nn.NeighborhoodConv({(1, "upper"): gcn, (1, "coboundary"): sage})(K, xs)


def test_the_hasse_graph():
    """Its edges of a type are an incidence, with signs; features are those of all cells."""
    K = mpsn.clique_complex(nx.complete_graph(4), 2).flip({1: torch.arange(6) < 2})
    K = K.replace(x=[torch.randn(n, 3) for n in K.counts], y=torch.tensor([1]))
    data = K.hasse_graph()
    start = [0, 4, 10]
    for k in (1, 2):
        B = K.boundary_matrix(k).to_dense()
        for kind, turn in ((2 * k - 2, False), (2 * k - 1, True)):
            chosen = data.edge_type == kind
            source, target = data.edge_index[:, chosen]
            face, cell = (target, source) if turn else (source, target)
            dense = torch.zeros_like(B)
            dense[face - start[k - 1], cell - start[k]] = data.sign[chosen].to(B.dtype)
            assert torch.equal(dense, B)
    assert data.dim.tolist() == [0] * 4 + [1] * 6 + [2] * 4
    assert torch.equal(data.x, torch.cat(K.x))
    assert data.y.tolist() == [1]
    lonely = mpsn.SimplicialComplex(3).hasse_graph()
    assert (lonely.num_nodes, lonely.edge_index.shape, "x" in lonely) == (3, (2, 0), False)


@pytest.mark.parametrize("conv", [*ALL_DIMS, *ONE_DIM])
def test_a_network_of_any_family(conv):
    """One row per complex, the same alone and in a union; trained, it fits what it saw."""
    graphs = [nx.complete_graph(4), nx.path_graph(4), nx.empty_graph(1), nx.cycle_graph(5)]
    data = mpsn.clique_complexes(graphs, max_dim=2)
    net = ConvNet(conv, in_channels=(2, 0, 0), hidden=8, layers=2).eval()
    x = torch.randn(data.union.num_nodes, 2)
    parts = torch.split(x, [4, 4, 1, 5])
    alone = torch.cat([net(data[i], [part]) for i, part in enumerate(parts)])
    torch.testing.assert_close(net(data.union, [x]), alone, rtol=1e-4, atol=1e-5)
    assert type(net)(**net.settings).settings == net.settings


def test_wrong_settings_of_families():
    for wrong, match in (
        (lambda: nn.CANConv(3, 5, heads=2), "multiple of heads=2"),
        (lambda: nn.SheafConv(5, stalk=2), "multiple of stalk=2"),
        (lambda: nn.SheafConv(4, maps="free"), "'diagonal', 'orthogonal' or 'general'"),
        (lambda: nn.CellTransformerConv(6, 2), "multiple of heads=4"),
        (lambda: nn.CellTransformerConv(8, 2, mode="all"), "'general' or 'pairwise'"),
        (lambda: nn.NeighborhoodConv({}), "at least one neighborhood"),
        (lambda: ConvNet("hmc", (1, 1), max_dim=1), "max_dim=2"),
        (lambda: ConvNet("can", (0, 1, 1)), "at least 1"),
        (lambda: laplacian(K, 1, torch.ones(78, 1), "all"), "'full', 'down' or 'up'"),
        (lambda: laplacian_powers(K, 1, torch.ones(78, 1), "up", 2, basis="x"), "'monomial'"),
    ):
        with pytest.raises(mpsn.MPSNError, match=match):
            wrong()
