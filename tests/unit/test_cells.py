"""Cell and cubical complexes: what is checked, and that everything else works on them too."""

import copy
import io
import pickle
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils import _pytree

import mpsn
from mpsn import CellComplex, CubicalComplex, SimplicialComplex, collate
from mpsn.complexes import Incidence
from mpsn.errors import ComplexError, FileError
from mpsn.testing import complexes

KINDS = ("cell", "cubical")
SQUARE = [[0, 1], [1, 2], [2, 3], [3, 0]]
HOUSE = [*SQUARE, [0, 2]]
CUBE_EDGES = [[b, a] for a, b in product(range(8), range(8)) if a < b and (a ^ b) in (1, 2, 4)]
CUBE_SQUARES = [
    [i for i, (b, a) in enumerate(CUBE_EDGES) if not (a ^ v) & bit and not (b ^ v) & bit]
    for bit in (1, 2, 4)
    for v in (0, 7)
]
cells = st.sampled_from(KINDS).flatmap(lambda kind: complexes(features=2, oriented=True, kind=kind))


def dense(K, k):
    """B_k entry by entry."""
    B = K.incidence(k)
    out = torch.zeros(K.count(k - 1), K.count(k), dtype=torch.float64)
    for face, cell, sign in zip(B.face.tolist(), B.cell.tolist(), B.signs.tolist(), strict=True):
        out[face, cell] += sign
    return out


@given(cells)
def test_operators_are_their_definitions(K):
    n = K.counts
    for k in range(1, K.dim + 1):
        assert torch.equal(K.boundary_matrix(k, dtype=torch.float64).to_dense(), dense(K, k))
        if k > 1:
            assert not (dense(K, k - 1) @ dense(K, k)).any()
    zero = torch.zeros((0, n[0] if n else 0), dtype=torch.float64)
    B = [
        zero,
        *(dense(K, k) for k in range(1, K.dim + 1)),
        torch.zeros(n[-1] if n else 0, 0).double(),
    ]
    for k in range(K.dim + 1):
        down, up = B[k].T @ B[k], B[k + 1] @ B[k + 1].T
        assert torch.equal(K.hodge_laplacian(k, dtype=torch.float64).to_dense(), down + up)
        L = K.hodge_laplacian(k, normalized=True, dtype=torch.float64).to_dense()
        assert np.linalg.eigvals(L.numpy()).real.min(initial=0) > -1e-9
    ranks = [0, *(int(torch.linalg.matrix_rank(dense(K, k))) for k in range(1, K.dim + 1)), 0]
    assert K.betti_numbers() == tuple(n[k] - ranks[k] - ranks[k + 1] for k in range(K.dim + 1))
    assert K.euler_number() == sum((-1) ** k * b for k, b in enumerate(K.betti_numbers()))
    for k in range(K.dim + 1):
        basis = K.harmonic_basis(k)
        assert basis.shape[1] == K.betti_numbers()[k]
        parts = K.hodge_decomposition(k, K.x[k])
        assert torch.allclose(sum(parts), K.x[k])


@given(cells)
def test_adjacent_pairs_are_triples_one_per_shared_cell(K):
    for k in range(K.dim + 1):
        for kind, B in (("lower", K.incidence(k)), ("upper", K.incidence(k + 1))):
            entries = list(zip(B.cell.tolist(), B.face.tolist(), B.signs.tolist(), strict=True))
            expected = sorted(
                (c, d, f, s * t) if kind == "lower" else (f, g, c, s * t)
                for (c, f, s), (d, g, t) in product(entries, entries)
                if (f == g and c != d if kind == "lower" else c == d and f != g)
            )
            found = K.adjacency(k, kind)
            rows = zip(*(part.tolist() for part in found), strict=True)
            assert sorted(rows) == expected


@given(cells)
def test_cells_are_the_vertices_in_the_closure(K):
    closure = [{v} for v in range(K.num_nodes)]
    for k in range(K.dim + 1):
        if k:
            B, ptr = K.incidence(k), K.incidence(k).offsets.tolist()
            faces = [B.face[a:b].tolist() for a, b in pairwise(ptr)]
            closure = [set().union(*(closure[f] for f in row)) for row in faces]
        vertex, ptr = K.cells(k)
        rows = [vertex[a:b].tolist() for a, b in pairwise(ptr)]
        assert rows == [sorted(row) for row in closure]


@given(cells, st.integers(0, 99))
def test_permutations_and_flips(K, seed):
    g = torch.Generator().manual_seed(seed)
    order = {k: torch.randperm(n, generator=g) for k, n in enumerate(K.counts)}
    moved = K.permute(order)
    flips = {k: torch.rand(K.count(k), generator=g) < 0.5 for k in range(1, K.dim + 1)}
    flipped = K.flip(flips)
    for k in range(K.dim + 1):
        assert torch.equal(moved.x[k], K.x[k][order[k]])
        if k:
            expected = dense(K, k)[order[k - 1]][:, order[k]]
            assert torch.equal(dense(moved, k), expected)
            turn = [1 - 2 * flips.get(j, torch.zeros(K.count(j))).double() for j in (k - 1, k)]
            assert torch.equal(dense(flipped, k), turn[0][:, None] * dense(K, k) * turn[1])
    assert moved.permute({k: row.argsort() for k, row in order.items()}) == K
    assert flipped.flip(flips) == K


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=40)
def test_unions_datasets_and_files(kind, data, tmp_path_factory):
    items = data.draw(
        st.lists(complexes(features=2, oriented=True, kind=kind), min_size=1, max_size=4)
    )
    union = collate(items)
    assert union.to_list() == items
    index = data.draw(st.lists(st.integers(0, len(items) - 1), max_size=5))
    packed = mpsn.ComplexDataset(items)
    if index:
        assert packed.batch(index).to_list() == [items[i] for i in index]
    assert list(packed[:1]) == items[:1]
    file = tmp_path_factory.mktemp("cells") / "data.npz"
    packed.save(file)
    assert mpsn.ComplexDataset.load(file) == packed
    assert mpsn.load(file) == union


@given(cells)
def test_copies(K):
    assert pickle.loads(pickle.dumps(K)) == K
    assert copy.deepcopy(K) == K
    assert K.to("cpu") == K
    leaves, spec = _pytree.tree_flatten(K)
    assert _pytree.tree_unflatten(leaves, spec) == K
    assert K.skeleton(K.dim if K.dim > 0 else 0) == K
    assert K.subcomplex({max(K.dim, 0): torch.arange(K.count(max(K.dim, 0)))}).dim == K.dim


def test_cells_load_in_batches():
    K = CellComplex.from_boundaries(4, [SQUARE, [[0, 1, 2, 3]]]).replace(y=1.0)
    for batch in mpsn.DataLoader([K, K, K], batch_size=2):
        assert isinstance(batch, CellComplex)
        assert batch.to_list()[0] == K


@given(complexes(features=1, oriented=True))
def test_simplices_are_cells_and_back(K):
    cells = CellComplex.from_complex(K)
    assert cells.counts == K.counts
    assert cells.to_simplicial() == K
    again = CellComplex(K.num_nodes, [K.incidence(k) for k in range(1, K.dim + 1)])
    assert again.to_simplicial().betti_numbers() == K.betti_numbers()
    for k in range(1, K.dim + 1):  # also if the orientation is given by signs alone
        assert torch.equal(dense(again.to_simplicial(), k), dense(K, k))


@given(complexes(kind="cubical"))
def test_cubes_are_cells(K):
    cells = CellComplex.from_complex(K)
    assert cells == CellComplex(K.num_nodes, [K.incidence(k) for k in range(1, K.dim + 1)])
    # Without signs they are found again, up to the orientation of each cell.
    given = [K.incidence(k) for k in range(1, K.dim + 1)]
    bare = [Incidence.unchecked(B.face, B.count, None, B.offsets) for B in given]
    if bare:
        bare[0] = given[0]
    assert CellComplex(K.num_nodes, bare).betti_numbers() == K.betti_numbers()


def test_found_signs_walk_around():
    K = CellComplex.from_boundaries(4, [SQUARE, [[0, 1, 2, 3]]])
    assert K.incidence(1).sign is None
    assert K.incidence(1).table.tolist() == [[1, 0], [2, 1], [3, 2], [3, 0]]
    assert K.incidence(2).signs.tolist() == [1, 1, 1, -1]
    cube = CubicalComplex(8, [CUBE_EDGES, CUBE_SQUARES, [[0, 1, 2, 3, 4, 5]]])
    assert cube.counts == (8, 12, 6, 1)
    assert cube.betti_numbers() == (1, 0, 0, 0)
    assert cube.skeleton(2).betti_numbers() == (1, 0, 1)
    assert (cube.boundary_matrix(2) @ cube.boundary_matrix(3).to_dense()).abs().sum() == 0


def test_given_signs_are_kept():
    signs = [[[1, -1]] * 4, [[-1, -1, -1, 1]]]
    edges = [[1, 0], [2, 1], [3, 2], [3, 0]]
    K = CellComplex.from_boundaries(4, [edges, [[0, 1, 2, 3]]], signs)
    assert K.incidence(2).signs.tolist() == [-1, -1, -1, 1]


TORUS = [  # 9 vertices; squares of a 3 by 3 grid with opposite sides identified
    [(3 * i + j, 3 * ((i + 1) % 3) + j) for i in range(3) for j in range(3)],
    [(3 * i + j, 3 * i + (j + 1) % 3) for i in range(3) for j in range(3)],
]


def torus_as_a_ball():
    edges = [tuple(sorted(e)) for e in TORUS[0] + TORUS[1]]
    squares = [
        [3 * i + j, 9 + 3 * ((i + 1) % 3) + j, 3 * i + (j + 1) % 3, 9 + 3 * i + j]
        for i in range(3)
        for j in range(3)
    ]
    return [edges, squares, [list(range(9))]]


BAD = {
    "open": ([SQUARE, [[0, 1, 2]]], "2-cell to have a closed boundary.*2-cell 0 with.*0, 1, 2"),
    "twice": ([SQUARE, [[0, 1, 2, 3], [3, 2, 1, 0]]], "2-cells 0 and 1.*give each cell once"),
    "repeated face": ([SQUARE, [[0, 0]]], "2-cell to have different faces; got 2-cell 0"),
    "loop": ([[[0, 1], [2, 2]]], "two different vertices; got 1-cell 1"),
    "range": ([[[0, 1], [0, 9]]], "faces from 0 to 3, got 0 to 9, first in cell 1"),
    "negative": ([[[0, 1], [0, -1]]], "first in cell 1"),
    "three ends": ([[[0, 1, 2]]], "two faces; got 1-cell 0"),
    "no faces": ([SQUARE, [[]]], "at least one face; got 2-cell 0"),
    "same edge": ([[[0, 1], [1, 0]]], "1-cells 0 and 1"),
    "floats": ([[[0.5, 1]]], "as integers"),
    "words": ([[["a", "b"]]], "tensor of numbers"),
    "a word among numbers": ([[[0, "a"]]], "tensor of numbers"),
    "cells that are no lists": ([[0, 1]], "faces of 1-cells as a list for each cell"),
    "nothing": ([None], "as a list for each cell, got None"),
}


@pytest.mark.parametrize(("boundaries", "message"), BAD.values(), ids=BAD)
def test_bad_boundaries(boundaries, message):
    with pytest.raises(ComplexError, match=message):
        CellComplex.from_boundaries(4, boundaries)


def test_boundaries_that_are_not_spheres():
    two = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]
    with pytest.raises(ComplexError, match="connected boundary"):
        CellComplex.from_boundaries(6, [two, [[0, 1, 2, 3, 4, 5]]])
    with pytest.raises(ComplexError, match="Euler number 2; got 3-cell 0"):
        CellComplex.from_boundaries(9, torus_as_a_ball())
    assert CellComplex.from_boundaries(9, torus_as_a_ball()[:2]).betti_numbers() == (1, 2, 1)
    plane = [[0, 1, 4], [0, 1, 5], [0, 2, 3], [0, 2, 5], [0, 3, 4]]
    plane += [[1, 2, 3], [1, 2, 4], [1, 3, 5], [2, 4, 5], [3, 4, 5]]  # the projective plane
    K = CellComplex.from_complex(SimplicialComplex.from_simplices(plane))
    top = Incidence(torch.arange(10), 10, ptr=torch.tensor([0, 10]), sign=torch.ones(10).char())
    with pytest.raises(ComplexError, match="orientable boundary; got 3-cell 0"):
        CellComplex(6, [K.incidence(1), K.incidence(2), top])


@pytest.mark.parametrize(
    ("signs", "message"),
    [
        ([[[1, -1]] * 4, [[1, 1, 1, -1]]], "BB = 0; got 2-cell 0"),
        ([[[1, 1]] * 4, [[1, 1, 1, 1]]], r"\+1 and one with -1; got 1-cell 0"),
        ([[[1, -1]] * 4, [[1, 1, 1]]], "sign for each face of each cell"),
        ([[[1, -1]] * 4, [[1, 1, 1, 257]]], "signs ±1"),
        ([[[1, -1]] * 4, [[1, 1, 1, 1.5]]], "as integers"),
        ([[[1, -1]] * 4, [[1, 1, 1, -1]], [[1]]], "sign for each face of each cell"),
        ([[[1, -1]] * 4, [[1, 2, 1, 1]]], "signs ±1"),
        ([[[1, -1]] * 4], "sign for each face"),
    ],
)
def test_bad_signs(signs, message):
    with pytest.raises(ComplexError, match=message):
        CellComplex.from_boundaries(4, [SQUARE, [[0, 1, 2, 3]]], signs)


def test_bad_cubes_and_counts():
    with pytest.raises(ComplexError, match=r"shape \(n, 4\)"):
        CubicalComplex(4, [SQUARE, [[0, 1, 2]]])
    twisted = [*CUBE_SQUARES[:5], CUBE_SQUARES[0]]
    with pytest.raises(ComplexError, match="2-cells 0 and 5"):
        CubicalComplex(8, [CUBE_EDGES, twisted])
    # Six squares around 8 vertices that are not a cube: two corners of degree 2.
    edges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [4, 2], [4, 5], [5, 0], [5, 2]]
    edges = [*edges, [0, 6], [6, 2], [6, 7], [7, 0], [7, 2]]
    with pytest.raises(ComplexError, match="1-cell"):
        CubicalComplex(8, [[*edges, [7, 7]]])
    with pytest.raises(ComplexError, match="count=3"):
        CellComplex(3, [Incidence(torch.tensor([1, 0]), 2, width=2)])
    with pytest.raises(ComplexError, match="2-cell 0 with 4 vertices"):
        CellComplex.from_boundaries(4, [SQUARE, [[0, 1, 2, 3]]]).to_simplicial()
    with pytest.raises(ComplexError, match=">= 0"):
        CellComplex(-1)


def test_a_quadrangulated_sphere_with_six_squares_need_not_be_a_cube():
    poles = [[0, v] for v in range(2, 8)] + [[1, v] for v in range(2, 8)]
    squares = [[i, 6 + i, (i + 1) % 6, 6 + (i + 1) % 6] for i in range(6)]
    ball = [poles, squares, [list(range(6))]]
    assert CellComplex.from_boundaries(8, ball).betti_numbers() == (1, 0, 0, 0)
    with pytest.raises(ComplexError, match="a cube, with each vertex in 3 of its faces"):
        CubicalComplex(8, ball)


def test_flips_and_parts_are_given_by_dimension():
    K = CellComplex.from_boundaries(4, [SQUARE])
    for call in (K.flip, K.subcomplex):
        with pytest.raises(ComplexError, match="as a dictionary by dimension"):
            call([torch.ones(4, dtype=torch.bool)])


def test_files_of_other_kinds_are_refused(tmp_path):
    K = CellComplex.from_boundaries(4, [SQUARE, [[0, 1, 2, 3]]])
    K.save(tmp_path / "K.npz")
    good = dict(np.load(tmp_path / "K.npz"))
    for name, value, message in [
        ("meta", np.array('{"format": 1, "kind": "Sheaf"}'), "Expected one of"),
        ("face_ptr_2", np.array([0, 5]), "rise from 0"),
        ("face_ptr_2", np.array([0.0, 4.0]), "Expected offsets"),
        ("face_signs_2", np.array([1, 1, 1, 3], np.int8), "signs"),
        ("face_signs_2", np.array([1, 1, 1, 1], np.int8), "BB = 0"),
        ("faces_2", np.array([0, 1, 2, 7]), "faces from 0 to 3"),
    ]:
        buffer = io.BytesIO()
        np.savez(buffer, **{**good, name: value})
        (tmp_path / "bad.npz").write_bytes(buffer.getvalue())
        with pytest.raises(FileError, match=message):
            mpsn.load(tmp_path / "bad.npz")
    del good["faces_2"]
    np.savez(tmp_path / "bad.npz", **good)
    with pytest.raises(FileError, match="a part faces_2, found none"):
        mpsn.load(tmp_path / "bad.npz")
