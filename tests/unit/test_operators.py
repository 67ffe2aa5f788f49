"""Matrices and adjacencies against their definitions, written out."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn import SimplicialComplex
from mpsn.complexes import orientation
from mpsn.errors import ComplexError
from mpsn.testing import complexes


def defined_boundary(K, k):
    """B_k by Definition 3: the sign of the permutation that brings a face to the front."""
    rows = [tuple(s) for s in K.simplices(k - 1).tolist()]
    B = np.zeros((K.count(k - 1), K.count(k)))
    for j, simplex in enumerate(K.simplices(k).tolist()):
        for i, left_out in enumerate(simplex):
            face = tuple(v for v in simplex if v != left_out)
            # (face, v) is an even or odd permutation of the simplex; edges end at +1.
            moves = len(simplex) - 1 - i
            sign = (-1) ** moves * (-1) ** (len(simplex) - 1)
            B[rows.index(face), j] = sign
    T = [K.orientation(d).numpy() for d in (k - 1, k)]
    return T[0][:, None] * B * T[1]


@given(complexes(oriented=True))
def test_boundary_matrices_are_as_defined(K):
    for k in range(1, K.dim + 2):
        B = K.boundary_matrix(k, dtype=torch.float64)
        assert B.is_coalesced()
        np.testing.assert_array_equal(B.to_dense().numpy(), defined_boundary(K, k))
        unsigned = K.boundary_matrix(k, signed=False).to_dense()
        assert torch.equal(unsigned, B.to_dense().abs().float())


@settings(max_examples=30)
@given(st.integers(1, 5), st.randoms())
def test_boundaries_of_oriented_tuples_are_as_in_definition_3(top, random):
    """A face has the sign of the permutation (left out, *face) of its simplex; edges end at +1."""
    K = SimplicialComplex.from_simplices([range(top + 1)])
    tuples = [[random.sample(s, k + 1) for s in K.simplices(k).tolist()] for k in range(top + 1)]
    K = K.flip({k: orientation(torch.tensor(tuples[k])) < 0 for k in range(1, top + 1)})
    for k in range(1, top + 1):
        B = K.boundary_matrix(k).to_dense()
        for (i, face), (j, simplex) in product(enumerate(tuples[k - 1]), enumerate(tuples[k])):
            left = [v for v in simplex if v not in face]
            sign = 0
            if len(left) == 1:
                sign = np.linalg.det(np.eye(k + 1)[[simplex.index(v) for v in left + face]])
            assert B[i, j] == round(sign)


@given(complexes(oriented=True))
def test_laplacians_are_products_of_boundary_matrices(K):
    for k in range(K.dim + 1):
        n = K.count(k)
        down = defined_boundary(K, k).T @ defined_boundary(K, k) if k else np.zeros((n, n))
        B = defined_boundary(K, k + 1)
        for part, expected in (("down", down), ("up", B @ B.T), ("full", down + B @ B.T)):
            L = K.hodge_laplacian(k, part, dtype=torch.float64)
            np.testing.assert_array_equal(L.to_dense().numpy(), expected)
            assert bool((L.coalesce().values() != 0).all())


@given(complexes(oriented=True))
def test_normalized_laplacians_are_as_in_schaub_et_al(K):
    for k in range(K.dim + 1):
        above = np.abs(defined_boundary(K, k + 1))
        D = np.diag(np.maximum(above.sum(1), 1))
        B = defined_boundary(K, k + 1)
        up = (1 if k == 0 else 1 / (k + 2)) * B @ B.T @ np.linalg.inv(D)
        down = np.zeros_like(up)
        if k:
            B = defined_boundary(K, k)
            around = (k + 1) * np.abs(B) @ D @ np.ones(K.count(k))
            down = D @ B.T @ np.diag(np.divide(1, around, where=around > 0, out=around * 0)) @ B
        for part, expected in (("up", up), ("down", down), ("full", up + down)):
            L = K.hodge_laplacian(k, part, normalized=True, dtype=torch.float64).to_dense().numpy()
            np.testing.assert_allclose(L, expected, atol=1e-14)
        eigenvalues = np.linalg.eigvals(up + down)
        assert np.all(np.abs(eigenvalues.imag) < 1e-7)
        assert np.all(eigenvalues.real > -1e-9)


def test_normalized_graph_laplacian_is_the_random_walk_one():
    K = SimplicialComplex.from_simplices([[0, 1], [1, 2], [1, 3]])
    L = K.hodge_laplacian(0, normalized=True).to_dense()
    assert torch.allclose(L.sum(0), torch.zeros(4), atol=1e-6)
    assert torch.equal(L.diagonal(), torch.ones(4))


def test_missing_parts_are_zero_matrices_of_the_right_shape():
    K = SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]])
    for L in (K.hodge_laplacian(2, "up"), K.hodge_laplacian(0, "down").coalesce()):
        assert L._nnz() == 0
    assert K.hodge_laplacian(2, "up").shape == (1, 1)
    assert K.hodge_laplacian(0, "down").shape == (4, 4)
    assert K.hodge_laplacian(5).shape == (0, 0)
    assert K.boundary_matrix(3).shape == (1, 0)
    assert SimplicialComplex().hodge_laplacian(0).shape == (0, 0)


def test_types_of_matrices():
    K = SimplicialComplex.from_simplices([[0, 1, 2]])
    assert K.boundary_matrix(1).dtype == torch.float32
    assert K.hodge_laplacian(1, dtype=torch.float64).dtype == torch.float64


def defined_adjacency(K, k, kind):
    """Definition 4 by sets: the pairs, with the simplex between them."""
    sets = {d: [frozenset(s) for s in K.simplices(d).tolist()] for d in range(k + 3)}
    sets[k - 1] = sets.get(k - 1) or [frozenset(s) for s in K.simplices(max(k - 1, 0)).tolist()]
    pairs = set()
    for i, s in enumerate(sets[k]):
        if kind == "boundary" and k:
            pairs |= {(i, j, None) for j, t in enumerate(sets[k - 1]) if t < s}
        elif kind == "coboundary":
            pairs |= {(i, j, None) for j, t in enumerate(sets[k + 1]) if s < t}
        elif kind == "lower" and k:
            pairs |= {
                (i, j, sets[k - 1].index(s & t))
                for j, t in enumerate(sets[k])
                if i != j and len(s & t) == k
            }
        elif kind == "upper":
            pairs |= {
                (i, j, sets[k + 1].index(s | t))
                for j, t in enumerate(sets[k])
                if i != j and (s | t) in sets[k + 1]
            }
    return pairs


@given(complexes(oriented=True, max_vertices=7))
def test_adjacencies_are_as_defined(K):
    for k in range(K.dim + 1):
        matrices = {
            "boundary": defined_boundary(K, k).T if k else None,
            "coboundary": defined_boundary(K, k + 1),
            "lower": defined_boundary(K, k).T @ defined_boundary(K, k) if k else None,
            "upper": defined_boundary(K, k + 1) @ defined_boundary(K, k + 1).T,
        }
        for kind, matrix in matrices.items():
            found = K.adjacency(k, kind)
            shared = [None] * len(found.sign) if found.shared is None else found.shared.tolist()
            pairs = list(zip(found.receiver.tolist(), found.sender.tolist(), shared, strict=True))
            assert len(pairs) == len(set(pairs))
            assert set(pairs) == defined_adjacency(K, k, kind)
            signs = [matrix[r, s] for r, s, _ in pairs]
            assert found.sign.tolist() == signs


def test_messages_of_figure_1():
    """Of vertex v2 and edge (v5, v7), written out; the figure's complex is not in the text."""
    simplices = [[1, 2], [2, 3], [1, 3], [2, 4], [3, 4, 5], [5, 6, 7]]
    K = SimplicialComplex.from_simplices([[v - 1 for v in s] for s in simplices])

    def senders(cell, kind):
        k = len(cell) - 1
        cells = [[tuple((s + 1).tolist()) for s in K.simplices(d)] for d in range(K.dim + 1)]
        pairs = K.adjacency(k, kind)
        of = pairs.receiver == cells[k].index(cell)
        dim = k - 1 if kind == "boundary" else k
        names = sorted(cells[dim][s] for s in pairs.sender[of].tolist())
        by = [] if kind == "boundary" else [cells[k + 1][s] for s in pairs.shared[of].tolist()]
        return names, sorted(by)

    assert senders((2,), "boundary") == ([], [])
    assert senders((2,), "upper") == ([(1,), (3,), (4,)], [(1, 2), (2, 3), (2, 4)])
    assert senders((5, 7), "boundary") == ([(5,), (7,)], [])
    assert senders((5, 7), "upper") == ([(5, 6), (6, 7)], [(5, 6, 7), (5, 6, 7)])


@given(complexes())
def test_pairs_come_in_the_documented_order(K):
    for k in range(K.dim + 1):
        for kind in ("lower", "upper"):
            pairs = K.adjacency(k, kind)
            keys = list(zip(pairs.shared.tolist(), pairs.receiver.tolist(), strict=True))
            assert keys == sorted(keys)


def test_bad_names_and_dimensions():
    K = SimplicialComplex.from_simplices([[0, 1]])
    with pytest.raises(ComplexError, match="'lower' or 'upper', got 'up'"):
        K.adjacency(0, "up")
    with pytest.raises(ComplexError, match="'up' or 'down', got 'lower'"):
        K.hodge_laplacian(0, "lower")
    with pytest.raises(ComplexError, match="k >= 1 for a boundary matrix, got 0"):
        K.boundary_matrix(0)
