"""The value itself: layout, access, equality, copies, and refusal of bad parts."""

import copy
import pickle
from contextlib import nullcontext
from itertools import combinations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import _pytree as pytree

from mpsn import CellComplex, SimplicialComplex, clique_complex, collate
from mpsn.errors import ComplexError
from mpsn.testing import complexes, graphs

TRIANGLE = [[[1, 0], [2, 0], [2, 1]], [[2, 1, 0]]]


def filled_triangle() -> SimplicialComplex:
    return SimplicialComplex(3, TRIANGLE, x=[torch.ones(3, 2), None, torch.ones(1, 4)], y=1)


def test_layout_of_a_small_complex():
    K = SimplicialComplex.from_simplices([[0, 1, 2], [2, 3]])
    assert (K.dim, K.counts) == (2, (4, 4, 1))
    assert K.simplices(1).tolist() == [[0, 1], [0, 2], [1, 2], [2, 3]]
    assert K.faces(1).tolist() == [[1, 0], [2, 0], [2, 1], [3, 2]]
    assert K.faces(2).tolist() == [[2, 1, 0]]
    assert repr(K) == "SimplicialComplex(dim=2, counts=(4, 4, 1))"


def test_the_empty_complex():
    K = SimplicialComplex()
    assert (K.dim, K.counts, K.num_complexes) == (-1, (), 1)
    assert K.simplices(0).shape == (0, 1)
    assert K.faces(2).shape == (0, 3)
    assert K.betti_numbers() == ()
    assert K.euler_number() == 0
    assert SimplicialComplex.from_simplices([]) == K


def test_isolated_vertices_and_missing_dimensions():
    K = SimplicialComplex(5)
    assert (K.dim, K.counts) == (0, (5,))
    assert K.faces(0).shape == (5, 0)
    assert K.simplices(7).shape == (0, 8)
    assert K.batch(3).shape == (0,)
    assert K.betti_numbers() == (5,)


def test_trailing_empty_tables_are_dropped():
    K = SimplicialComplex(2, [[[1, 0]], torch.zeros(0, 3, dtype=torch.int64)])
    assert K.dim == 1
    assert SimplicialComplex.from_simplices([[0, 1]]) == K


def test_features_may_reach_above_the_dimension_if_they_are_empty():
    K = SimplicialComplex(2, x=[torch.ones(2, 3), torch.zeros(0, 3)])
    assert [x.shape for x in K.x] == [(2, 3), (0, 3)]
    assert SimplicialComplex(2, x=[torch.ones(2, 3)]) == K


def test_equality_means_equality():
    K = filled_triangle()
    assert filled_triangle() == K
    assert K.replace(y=2) != K
    assert K.replace(y=1.0) != K  # another type is another label
    assert K.flip({1: torch.tensor([True, False, False])}) != K
    assert K.replace(vertex_labels="abc") != K
    assert K.replace(x=[torch.zeros(3, 2), None, torch.ones(1, 4)]) != K
    assert K != "triangle"
    flipped_twice = K.flip({1: torch.ones(3, dtype=bool)}).flip({1: torch.ones(3, dtype=bool)})
    assert flipped_twice == K
    with pytest.raises(TypeError):
        hash(K)


@pytest.mark.parametrize(
    "through",
    [copy.copy, copy.deepcopy, lambda K: pickle.loads(pickle.dumps(K)), lambda K: K.cpu()],
)
def test_copies_and_pickles(through):
    K = filled_triangle().replace(vertex_labels=["a", "b", "c"])
    assert through(K) == K
    assert through(K) is not K


def test_deep_copies_share_no_memory():
    K = filled_triangle()
    twin = copy.deepcopy(K)
    twin.x[0].zero_()
    assert K.x[0].sum() == 6


def test_a_complex_cannot_be_changed():
    K = filled_triangle()
    for name in ("_x", "_y", "x", "y", "edge_index", "counts"):
        with pytest.raises(AttributeError, match=f"cannot assign to '{name}'"):
            setattr(K, name, (1,))
        with pytest.raises(AttributeError, match=f"cannot delete '{name}'"):
            delattr(K, name)
    assert filled_triangle() == K


def test_every_public_attribute_works():
    K = filled_triangle()
    for name in dir(K):
        if not name.startswith("_"):
            getattr(K, name)
    calls = ("apply", "bare", "cpu", "pin_memory", "replace", "to_list", "euler_number")
    arguments = {"apply": [torch.clone]}
    for name in set(calls) - ({"pin_memory"} if not torch.cuda.is_available() else set()):
        getattr(K, name)(*arguments.get(name, []))


@given(complexes(features=1, oriented=True))
def test_the_orientation_is_read_off_the_signs(K):
    flips = {k: K.orientation(k) < 0 for k in range(1, K.dim + 1)}
    plain = K.flip(flips)
    for k in range(1, K.dim + 1):
        assert (plain.orientation(k) == 1).all()
        parity = 1 - 2 * (torch.arange(k + 1) % 2)  # the i-th face of a simplex has sign (-1)^i
        assert torch.equal(plain.incidence(k).signs, parity.repeat(K.count(k)).to(torch.int8))
    again = plain.replace(orientation=[K.orientation(k) for k in range(max(K.dim, 0) + 1)])
    assert again.bare() == K.bare()


def test_the_orientation_of_cells_is_that_of_their_first_faces():
    edges = [[0, 1], [2, 1], [2, 0]]
    K = CellComplex.from_boundaries(3, [edges, [[0, 1, 2]]])
    assert K.orientation(1).tolist() == K.orientation(2).tolist()[:1] * 3 == [1, 1, 1]
    turned = K.flip({1: torch.tensor([True, False, False])})
    assert turned.orientation(1).tolist() == [-1, 1, 1]
    assert turned.orientation(2).tolist() == [1]  # its first face turned, and the sign of that
    assert turned.incidence(2).signs[0] == -1
    assert turned.replace(orientation=[None, None, None]) == K


def test_unknown_attributes_are_attribute_errors():
    assert not hasattr(filled_triangle(), "edge_index")
    with pytest.raises(AttributeError, match="no attribute 'edgeindex'"):
        _ = filled_triangle().edgeindex


def test_to_changes_every_tensor():
    K = filled_triangle().flip({2: torch.tensor([True])}).to("meta")
    signed = [K.incidence(k) for k in (1, 2)]
    parts = [t for B in signed for t in (B.face, B.sign) if t is not None]
    parts += [K.ptr(k) for k in range(3)] + [x for x in K.x if x is not None]
    tensors = [*parts, K.y, K.orientation(2)]
    assert {t.device.type for t in tensors} == {"meta"}


@pytest.mark.slow
def test_survives_torch_compile():
    K = filled_triangle()

    @torch.compile(backend="eager", fullgraph=True)
    def spread(K, h):
        return h[K.faces(2)].sum(1) + K.simplices(2).shape[0]

    h = torch.randn(3, 2)
    torch.testing.assert_close(spread(K, h), h.sum(0, keepdim=True) + 1)


def is_complex(n, tables):
    """Say by the definition whether column i of each face table omits vertex i of a simplex."""
    below = [(v,) for v in range(n)]
    for table in tables:
        simplices = []
        for row in table:
            if not all(0 <= face < len(below) for face in row):
                return False
            simplex = tuple(sorted({v for face in row for v in below[face]}))
            if [below[face] for face in row] != [
                simplex[:i] + simplex[i + 1 :] for i in range(len(row))
            ]:
                return False
            simplices.append(simplex)
        if len(set(simplices)) < len(simplices):
            return False
        below = simplices
    return True


@given(complexes(max_vertices=5), st.data())
def test_tables_that_are_refused_are_those_of_no_complex(K, data):
    """One entry of a valid table is changed, two rows change places, or a row is given twice."""
    tables = [K.faces(k).tolist() for k in range(1, K.dim + 1)]
    for _ in range(data.draw(st.integers(0, 2)) if tables else 0):
        table = data.draw(st.sampled_from(tables))
        row, other = (data.draw(st.integers(0, len(table) - 1)) for _ in range(2))
        how = data.draw(st.sampled_from(["entry", "swap", "repeat"]))
        if how == "entry":
            column = data.draw(st.integers(0, len(table[row]) - 1))
            table[row][column] = data.draw(st.integers(-1, 5))
        elif how == "swap":
            table[row], table[other] = table[other], table[row]
        else:
            table.insert(other, list(table[row]))
    with nullcontext() if is_complex(K.num_nodes, tables) else pytest.raises(ComplexError):
        SimplicialComplex(K.num_nodes, tables)


@pytest.mark.parametrize(
    ("faces", "message"),
    [
        ([[[1, 0, 2]]], r"face table 1 of shape \(n, 2\), got \(1, 3\)"),
        ([[[1.0, 0.0]]], "of integers, got torch.float32; use int64"),
        ([["ab"]], "face table 1 as a tensor of numbers, got list"),
        ([[[3, 0]]], "indices from 0 to 3; the complex is not closed"),
        ([[[-1, 0]]], "indices from -1 to 0"),
        ([[[0, 1]]], "ascending order"),
        ([[[1, 1]]], "distinct vertices in ascending order"),
        ([[[1, 0], [1, 0]]], "every simplex once, got repeated rows in face table 1"),
        ([TRIANGLE[0][:2], [[1, 1, 0]]], "closed"),
        ([TRIANGLE[0], [[0, 1, 2]]], "closed: column i omits vertex i, got row 0"),
        ([TRIANGLE[0], [[2, 2, 0]]], "closed"),
        ([TRIANGLE[0], [[2, 1, 0], [2, 1, 0]]], "repeated rows in face table 2"),
    ],
)
def test_bad_face_tables(faces, message):
    with pytest.raises(ComplexError, match=message):
        SimplicialComplex(3, faces)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"x": [torch.ones(2, 1)]}, r"x\[0\] of shape \(3, F\).*got \(2, 1\)"),
        ({"x": [torch.ones(3)]}, r"x\[0\] of shape"),
        ({"x": [None, None, None, torch.ones(1, 1)]}, r"x\[3\] of shape \(0, F\)"),
        ({"x": [torch.tensor([[1.0], [float("nan")], [1.0]])]}, "NaN or infinity.*row 1"),
        ({"x": [torch.full((3, 1), float("inf"))]}, "NaN or infinity"),
        ({"x": [torch.ones(3, 1, device="meta")]}, "one device, got cpu, meta"),
        ({"orientation": [None, torch.ones(2)]}, r"signs ±1 of shape \(3,\) in dimension 1"),
        ({"orientation": [None, torch.tensor([1, 0, 1])]}, "signs ±1"),
        ({"orientation": [torch.tensor([1, -1, 1])]}, "every vertex"),
        ({"vertex_labels": ["a"]}, "Expected 3 vertex labels, got 1"),
    ],
)
def test_bad_parts(parts, message):
    with pytest.raises(ComplexError, match=message):
        SimplicialComplex(3, TRIANGLE, **parts)


def test_negative_dimensions_and_sizes_are_refused():
    with pytest.raises(ComplexError, match="num_vertices >= 0, got -1"):
        SimplicialComplex(-1)
    with pytest.raises(ComplexError, match="k >= 0, got -1"):
        filled_triangle().simplices(-1)


def test_tables_on_two_devices_are_refused():
    table = torch.tensor([[1, 0], [2, 0], [2, 1]])
    with pytest.raises(ComplexError, match="one device, got cpu, meta; move them"):
        SimplicialComplex(3, [table, torch.tensor([[2, 1, 0]], device="meta")])


def test_a_skeleton_keeps_what_lower_cells_carry():
    K = filled_triangle().flip({1: torch.tensor([True, False, False])})
    assert K.skeleton(5) == K
    edges = K.skeleton(1)
    assert edges.counts == (3, 3)
    assert torch.equal(edges.x[0], K.x[0])
    assert edges.y == K.y
    assert edges.incidence(1) == K.incidence(1)
    assert (
        edges.incidence(1).signs.tolist()
        != K.bare()
        .skeleton(1)
        .replace(orientation=[None, torch.ones(3)])
        .incidence(1)
        .signs.tolist()
    )
    assert K.skeleton(0).counts == (3,)
    with pytest.raises(ComplexError, match="d >= 0, got -1"):
        K.skeleton(-1)


def test_a_bare_complex_is_its_structure_and_orientation():
    K = filled_triangle().flip({2: torch.tensor([True])}).replace(vertex_labels="abc")
    bare = K.bare()
    assert (bare.x, bare.y, bare.vertex_labels) == ((None,) * 3, None, None)
    assert bare.incidence(2) == K.incidence(2)
    assert torch.equal(bare.orientation(2), K.orientation(2))
    assert K.vertex_labels == tuple("abc")


@given(complexes(max_vertices=6, features=2, oriented=True), st.randoms(use_true_random=False))
def test_a_subcomplex_is_the_closure_of_its_cells(K, random):
    K = K.replace(vertex_labels=[f"v{i}" for i in range(K.num_nodes)])
    cells = {
        k: torch.tensor([random.random() < 0.4 for _ in range(n)], dtype=torch.bool)
        for k, n in enumerate(K.counts)
    }
    part = K.subcomplex(cells)
    names = [K.vertex_labels[i] for i in range(K.num_nodes)]
    wanted = set()
    for k, mask in cells.items():
        for row in K.simplices(k)[mask].tolist():
            faces = [set(f) for size in range(1, k + 2) for f in combinations(row, size)]
            wanted |= {frozenset(names[v] for v in face) for face in faces}
    found = [
        frozenset(part.vertex_labels[v] for v in row)
        for k in range(part.dim + 1)
        for row in part.simplices(k).tolist()
    ]
    assert len(found) == len(set(found))
    assert set(found) == wanted
    tables = [part.faces(k) for k in range(1, part.dim + 1)]
    assert SimplicialComplex(part.num_nodes, tables).counts == part.counts
    below = []
    for k in range(part.dim + 1):
        number = {
            frozenset(names[v] for v in row): i for i, row in enumerate(K.simplices(k).tolist())
        }
        rows_of = part.simplices(k).tolist()
        at = [number[frozenset(part.vertex_labels[v] for v in row)] for row in rows_of]
        assert torch.equal(part.x[k], K.x[k][at])
        assert torch.equal(part.orientation(k), K.orientation(k)[at])
        if k:
            B = K.boundary_matrix(k).to_dense()[below][:, at]
            assert torch.equal(part.boundary_matrix(k).to_dense(), B)
        below = at
    numbers = {k: mask.nonzero()[:, 0] for k, mask in cells.items()}
    assert K.subcomplex(numbers) == part
    assert K.subcomplex({k: torch.ones(n, dtype=torch.bool) for k, n in enumerate(K.counts)}) == K


@given(graph=graphs(), chosen=st.sets(st.integers(0, 8)))
def test_the_full_subcomplex_of_a_clique_complex_is_that_of_the_subgraph(graph, chosen):
    kept = sorted(chosen & set(graph))
    part = clique_complex(graph).subcomplex({0: torch.tensor(kept).long()}, full=True)
    assert part == clique_complex(nx.convert_node_labels_to_integers(graph.subgraph(kept)))


def test_subcomplexes_of_unions_and_of_labeled_vertices():
    K = SimplicialComplex.from_simplices([[0, 1, 2]]).replace(y=torch.tensor([5, 6, 7]))
    union = collate([K, K])
    part = union.subcomplex({1: torch.tensor([1, 3])})  # the edges 02 and, in the second, 01
    assert [one.counts for one in part.to_list()] == [(2, 1), (2, 1)]
    assert part.y.tolist() == [5, 7, 5, 6]
    with pytest.raises(ComplexError, match="1-cells from 0 to 5, got 6 to 6"):
        union.subcomplex({1: [6]})
    with pytest.raises(ComplexError, match="dimensions from 0 to 2, got 3"):
        union.subcomplex({3: [0]})
    with pytest.raises(ComplexError, match=r"a mask \(6,\) or numbers of 1-cells, got torch.bool"):
        union.subcomplex({1: torch.tensor([True])})


def test_a_complex_is_a_pytree():
    K = filled_triangle().flip({2: torch.tensor([True])}).replace(vertex_labels="abc")
    leaves, spec = pytree.tree_flatten(K)
    assert {type(leaf) for leaf in leaves} == {torch.Tensor, type(None)}
    assert pytree.tree_unflatten(leaves, spec) == K
    assert pytree.tree_map_only(torch.Tensor, torch.clone, K) == K
    doubled = pytree.tree_map_only(
        torch.Tensor, lambda t: t.double() if t.is_floating_point() else t, K
    )
    assert doubled.x[0].dtype == torch.float64
    assert doubled.counts == K.counts
