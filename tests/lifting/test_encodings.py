"""Encodings of cells, beside dense linear algebra; their invariances."""

import networkx as nx
import pytest
import torch

import mpsn
from mpsn.lifting import (
    degrees,
    encode_cells,
    heat_kernel,
    hodge_eigenvectors,
    return_probabilities,
)

GRAPHS = [nx.karate_club_graph(), nx.complete_graph(5), nx.empty_graph(2), nx.cycle_graph(6)]
K = mpsn.clique_complexes(GRAPHS, max_dim=3).union


@pytest.fixture(autouse=True)
def _doubles():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def matrix(k, kind):
    pairs = K.adjacency(k, kind)
    A = torch.zeros(K.count(k), K.count(k))
    return A.index_put((pairs.receiver, pairs.sender), torch.ones(1), accumulate=True)


@pytest.mark.parametrize("k", range(4))
def test_degrees_are_counts_of_pairs(k):
    kinds = ("boundary", "coboundary", "lower", "upper")
    right = [K.adjacency(k, kind).receiver.bincount(minlength=K.count(k)) for kind in kinds]
    assert torch.equal(degrees(K, k), torch.stack(right, dim=1).double())


@pytest.mark.parametrize("kind", ["lower", "upper"])
@pytest.mark.parametrize("k", range(3))
def test_return_probabilities_are_powers(k, kind):
    A = matrix(k, kind)
    step = A / A.sum(1, keepdim=True).clamp(min=1)
    powers = [torch.linalg.matrix_power(step, r).diagonal() for r in range(1, 6)]
    torch.testing.assert_close(
        return_probabilities(K, k, kind, steps=5), torch.stack(powers, dim=1)
    )


@pytest.mark.parametrize("part", ["full", "down", "up"])
@pytest.mark.parametrize("k", range(3))
def test_heat_is_the_matrix_exponential(k, part):
    L = K.hodge_laplacian(k, part, dtype=torch.float64).to_dense()
    right = torch.stack([torch.matrix_exp(-t * L).diagonal() for t in (0.1, 1.0)], dim=1)
    torch.testing.assert_close(heat_kernel(K, k, (0.1, 1.0), number=100, part=part), right)


def test_eigenvectors_of_every_complex(monkeypatch):
    """Dense and sparse solvers find the same eigenvalues; vectors meet the equation."""
    L = K.hodge_laplacian(1, dtype=torch.float64).to_dense()
    values, vectors = hodge_eigenvectors(K, 1, 4)
    assert values.shape == (4, 4)
    assert values[2].isnan().all()  # no edges
    home = K.batch(1)
    scaled = vectors * values.nan_to_num()[home]
    torch.testing.assert_close(L @ vectors, scaled, rtol=1e-8, atol=1e-8)
    norms = torch.zeros(4, 4).index_add(0, home, vectors.square())
    torch.testing.assert_close(norms, (~values.isnan()).double())
    monkeypatch.setattr("mpsn.lifting.encodings.DENSE", 5)
    torch.testing.assert_close(
        hodge_eigenvectors(K, 1, 2)[0], values[:, :2], rtol=1e-6, atol=1e-6, equal_nan=True
    )


def test_heat_does_not_cut_eigenspaces():
    """The Laplacian of a complete graph has one eigenvalue n - 1 times, which stays out whole."""
    K = mpsn.clique_complex(nx.complete_graph(6), max_dim=1)
    torch.testing.assert_close(heat_kernel(K, 0, [1.0], number=3), torch.full((6, 1), 1 / 6))


def test_encodings_do_not_depend_on_orientation_and_order():
    flips = {k: torch.arange(K.count(k)) % 2 == 0 for k in range(1, 4)}
    for x, right in zip(encode_cells(K.flip(flips)).x, encode_cells(K).x, strict=True):
        torch.testing.assert_close(x, right, rtol=1e-7, atol=1e-7)
    one = mpsn.clique_complex(GRAPHS[0], 3)
    order = {k: torch.randperm(n) for k, n in enumerate(one.counts)}
    permuted, right = encode_cells(one.permute(order)).x, encode_cells(one).x
    for k in range(4):
        torch.testing.assert_close(permuted[k], right[k][order[k]], rtol=1e-7, atol=1e-7)


def test_encodings_come_before_features():
    K = mpsn.clique_complex(nx.path_graph(3)).replace(x=[torch.full((3, 1), 7.0)])
    out = encode_cells(K, ["degrees"], max_dim=1)
    assert out.x[0].tolist() == [[0, 1, 0, 1, 7], [0, 2, 0, 2, 7], [0, 1, 0, 1, 7]]
    assert out.x[1].shape == (2, 4)
    for wrong in (lambda: encode_cells(K, ["x"]), lambda: return_probabilities(K, 0, "boundary")):
        with pytest.raises(mpsn.MPSNError, match="Expected"):
            wrong()
