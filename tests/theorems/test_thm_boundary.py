"""Section 2 and Lemma 33 (appendix C): the algebra of boundary matrices."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from mpsn.testing import complexes


@given(complexes(max_dim=4, oriented=True))
def test_the_boundary_of_a_boundary_is_zero(K):
    """B_k B_{k+1} = 0."""
    for k in range(1, K.dim + 1):
        product = K.boundary_matrix(k).to_dense() @ K.boundary_matrix(k + 1).to_dense()
        assert not product.any()


@given(complexes(oriented=True), st.integers(1, 4))
def test_powers_of_the_hodge_laplacian_split(K, r):
    """L^r = (L↓)^r + (L↑)^r (Lemma 33)."""
    for k in range(K.dim + 1):
        full, down, up = (
            K.hodge_laplacian(k, part, dtype=torch.float64).to_dense()
            for part in ("full", "down", "up")
        )
        power = torch.linalg.matrix_power
        assert torch.equal(power(full, r), power(down, r) + power(up, r))


@given(complexes())
def test_a_complex_is_closed_under_faces(K):
    """Definition 1: every face of a simplex is in the complex, and the table finds it."""
    for k in range(1, K.dim + 1):
        vertices, table, below = K.simplices(k), K.faces(k), K.simplices(k - 1)
        for i in range(k + 1):
            kept = [j for j in range(k + 1) if j != i]
            assert torch.equal(below[table[:, i]], vertices[:, kept])
