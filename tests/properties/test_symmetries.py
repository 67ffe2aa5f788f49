"""Other orientations and other orders of the same complex."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn import SimplicialComplex, collate
from mpsn.errors import ComplexError
from mpsn.testing import complexes

seeds = st.integers(0, 1000)


def random_flips(K, seed):
    g = torch.Generator().manual_seed(seed)
    return {k: torch.rand(K.count(k), generator=g) < 0.5 for k in range(1, K.dim + 1)}


def random_orders(K, seed):
    g = torch.Generator().manual_seed(seed)
    return {k: torch.randperm(K.count(k), generator=g) for k in range(K.dim + 1)}


@given(complexes(features=2, oriented=True), seeds)
def test_flips_are_T_B_T_and_T_H(K, seed):
    flips = random_flips(K, seed)
    flipped = K.flip(flips)
    signs = [1 - 2 * flips.get(k, torch.zeros(K.count(k))).double() for k in range(K.dim + 1)]
    for k in range(K.dim + 1):
        assert torch.equal(flipped.x[k], signs[k][:, None] * K.x[k])
    for k in range(1, K.dim + 1):
        B = K.boundary_matrix(k, dtype=torch.float64).to_dense()
        expected = signs[k - 1][:, None] * B * signs[k]
        assert torch.equal(flipped.boundary_matrix(k, dtype=torch.float64).to_dense(), expected)
    assert flipped.flip(flips) == K
    assert flipped.betti_numbers() == K.betti_numbers()


@given(complexes(features=2, oriented=True), seeds)
def test_permutations_are_P_B_P_and_P_H(K, seed):
    K = K.replace(vertex_labels=[f"v{i}" for i in range(K.num_nodes)])
    order = random_orders(K, seed)
    moved = K.permute(order)
    for k in range(K.dim + 1):
        assert torch.equal(moved.x[k], K.x[k][order[k]])
        if k:
            B = K.boundary_matrix(k).to_dense()[order[k - 1]][:, order[k]]
            assert torch.equal(moved.boundary_matrix(k).to_dense(), B)
            names = [[moved.vertex_labels[v] for v in row] for row in moved.simplices(k).tolist()]
            before = [[f"v{v}" for v in row] for row in K.simplices(k)[order[k]].tolist()]
            assert [set(row) for row in names] == [set(row) for row in before]
    # The tables are still in the documented layout: the checking constructor takes them.
    faces = [moved.faces(k) for k in range(1, K.dim + 1)]
    assert SimplicialComplex(K.num_nodes, faces).counts == K.counts
    assert moved.permute({k: row.argsort() for k, row in order.items()}) == K


def test_permuting_simplices_alone_needs_no_signs():
    K = SimplicialComplex.from_simplices([[0, 1, 2], [1, 2, 3]])
    moved = K.permute({1: torch.tensor([4, 3, 2, 1, 0])})
    assert moved.orientation(1).tolist() == [1] * 5


def test_bad_flips_and_orders():
    K = SimplicialComplex.from_simplices([[0, 1], [1, 2]])
    with pytest.raises(ComplexError, match="vertices have no orientation"):
        K.flip({0: torch.ones(3, dtype=torch.bool)})
    with pytest.raises(ComplexError, match=r"boolean mask of shape \(2,\)"):
        K.flip({1: torch.ones(3, dtype=torch.bool)})
    with pytest.raises(ComplexError, match="boolean mask"):
        K.flip({1: torch.tensor([1, -1])})
    with pytest.raises(ComplexError, match=r"permutation of 0..1 in dimension 1, got \[0, 0\]"):
        K.permute({1: torch.tensor([0, 0])})
    with pytest.raises(ComplexError, match="single complex"):
        collate([K, K]).permute({})
