"""Input that is nearly right: taken where its meaning is plain, refused clearly where it is not."""

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

import mpsn
from mpsn import (
    ComplexDataset,
    SimplicialComplex,
    clique_complex,
    clique_complexes,
    collate,
    rips_complex,
)
from mpsn.complexes import _homology as homology
from mpsn.datasets import read_graphs
from mpsn.errors import ComplexError, FileError, GraphError, MPSNError, TooLargeError

TRIANGLE = SimplicialComplex.from_simplices([[0, 1, 2]])
EDGES = np.array([[0, 1, 2], [1, 2, 0]])


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "edges",
    [
        frozen(EDGES),
        EDGES[:, ::-1],
        EDGES.astype(">i8"),
        EDGES.astype(np.uint16),
        EDGES.astype(np.uint64),
        torch.from_numpy(EDGES).to(torch.int32)[:, [0, 1, 2]],
    ],
)
def test_integers_of_every_kind_are_edges(edges):
    assert clique_complex((edges, 3)) == TRIANGLE
    assert clique_complex((edges, np.int32(3))) == TRIANGLE


def test_no_edges_of_any_type():
    for nothing in ([], np.zeros((2, 0)), torch.zeros(2, 0)):
        assert clique_complex((nothing, 2)).counts == (2,)


def test_features_labels_and_signs_need_not_be_tensors():
    K = TRIANGLE.replace(x=[np.ones((3, 2)), [[1.0]] * 3], y=[1], orientation=[None, [1, -1, 1]])
    assert [None if x is None else tuple(x.shape) for x in K.x] == [(3, 2), (3, 1), None]
    assert K.orientation(1).tolist() == [1, -1, 1]
    data = Data(edge_index=torch.from_numpy(EDGES), x=np.ones((3, 1)), y=np.array([1]))
    assert clique_complex(data).y.tolist() == [1]


def test_simplices_may_be_sets():
    assert SimplicialComplex.from_simplices([{0, 1}, frozenset({2, 1, 0})]) == TRIANGLE


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: clique_complex(nx.complete_graph(5), max_dim=1.5), "max_dim as an integer"),
        (lambda: clique_complex(nx.complete_graph(5), max_dim="2"), "max_dim as an integer"),
        (lambda: SimplicialComplex(3.0), r"num_vertices as an integer, got 3\.0"),
        (lambda: SimplicialComplex("3"), "num_vertices as an integer, got '3'"),
        (lambda: SimplicialComplex.from_simplices([[0]], 2.5), "num_vertices as an integer"),
        (lambda: SimplicialComplex.from_simplices([0, 1]), "simplices as lists of vertices, got 0"),
        (lambda: TRIANGLE.replace(y="a"), "y as a tensor of numbers, got str"),
        (lambda: TRIANGLE.replace(x=[{"a": 1}]), r"x\[0\] as a tensor of numbers, got dict"),
        (lambda: TRIANGLE.replace(vertex_labels="aab"), "different label for every vertex"),
        (
            lambda: collate([nx.path_graph(2)]),
            "one kind to collate, got Graph; lift graphs",
        ),
        (
            lambda: collate([TRIANGLE, mpsn.ring_complex(nx.cycle_graph(3))]),
            "one kind to collate, got CellComplex, SimplicialComplex; lift graphs",
        ),
        (lambda: collate([TRIANGLE.replace(y=1), TRIANGLE.replace(y=0.5)]), "one shape and type"),
        (lambda: clique_complex(scipy.sparse.coo_array([1.0, 0.0])), "square adjacency matrix"),
        (lambda: TRIANGLE.hodge_decomposition(1, torch.tensor([1.0, torch.nan, 0])), "finite"),
    ],
)
def test_refused(build, message):
    with pytest.raises(MPSNError, match=message):
        build()


def test_collate_takes_any_iterable():
    assert collate(K for K in [TRIANGLE, TRIANGLE]).num_complexes == 2
    assert collate(TRIANGLE) == TRIANGLE


@pytest.mark.parametrize("device", ["banana", "cuda:99", 3.5])
def test_a_device_that_is_not_there(device):
    with pytest.raises(MPSNError, match="Expected a device such as cpu or cuda, got"):
        clique_complex(nx.path_graph(2), device=device)
    with pytest.raises(MPSNError, match="Expected a device such as cpu or cuda, got"):
        rips_complex(torch.rand(3, 2), 1.0, device=device)


def test_parts_of_a_graph_on_two_devices():
    data = Data(x=torch.ones(3, 1, device="meta"), edge_index=torch.from_numpy(EDGES))
    with pytest.raises(GraphError, match="on one device, got \\['cpu', 'meta'\\]"):
        clique_complex(data)
    assert TRIANGLE.to("meta") != TRIANGLE


def test_vertex_numbers_too_large_for_memory():
    for build in (
        lambda: clique_complex((EDGES, 10**12)),
        lambda: SimplicialComplex(10**12),
        lambda: SimplicialComplex.from_simplices([[10**12]]),
    ):
        with pytest.raises(TooLargeError, match=r"without gaps"):
            build()
    with pytest.raises(TooLargeError, match="up to dimension 1"):
        clique_complex(nx.complete_graph(100), max_dim=1, max_bytes=10)


def test_labels_of_vertices_move_with_them():
    K = TRIANGLE.replace(y=[10, 11, 12]).permute({0: torch.tensor([2, 0, 1])})
    assert K.y.tolist() == [12, 10, 11]
    assert TRIANGLE.replace(y=7).permute({0: torch.tensor([2, 0, 1])}).y.tolist() == [7]


def test_unsigned_features_do_not_flip():
    K = TRIANGLE.replace(x=[None, torch.ones(3, 1, dtype=torch.uint8)])
    with pytest.raises(ComplexError, match=r"signed features to flip.*uint8"):
        K.flip({1: torch.ones(3, dtype=torch.bool)})


@pytest.fixture
def dataset():
    return ComplexDataset([TRIANGLE.replace(x=[torch.full((3, 1), i)], y=i) for i in range(4)])


def test_positions_in_a_dataset(dataset):
    for one in (np.int64(1), torch.tensor(1), -3):
        assert dataset[one] == dataset[1]
    assert dataset[::-1] == dataset[[3, 2, 1, 0]]
    assert len(dataset[[]]) == 0
    for bad in ([0.9, 1.2], [[0, 1]], "a", [True, False]):
        with pytest.raises(ComplexError, match="Expected"):
            dataset[bad]


def test_items_share_no_memory_with_the_union(dataset):
    items = dataset.union.to_list()
    items[0].x[0].add_(100)
    assert dataset[0].x[0].sum() == 0
    many = ComplexDataset([TRIANGLE.replace(y=0)] * 2000)
    assert len(pickle.dumps(next(iter(many)))) < 10_000


def test_tables_are_copied_in():
    table = torch.tensor([[1, 0]])
    K = SimplicialComplex(2, [table])
    table.zero_()
    assert K.faces(1).tolist() == [[1, 0]]


def test_saving(dataset, tmp_path):
    with pytest.raises(FileError, match=r"got no folder .*nowhere; create it"):
        dataset.save(tmp_path / "nowhere" / "data.npz")
    half = ComplexDataset([TRIANGLE.replace(x=[torch.ones(3, 1, dtype=torch.bfloat16)])])
    with pytest.raises(ComplexError, match="x_0 in a type of numpy's, got bfloat16"):
        half.save(tmp_path / "data.npz")
    learned = ComplexDataset([TRIANGLE.replace(x=[torch.ones(3, 1, requires_grad=True)])])
    learned.save(tmp_path / "data.npz")
    named = ComplexDataset([TRIANGLE.replace(vertex_labels=np.arange(5, 8))])
    named.save(tmp_path / "data.npz")
    assert ComplexDataset.load(tmp_path / "data.npz").union.vertex_labels == (5, 6, 7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"faces_1": np.zeros((3, 3), np.int64)}, r"faces_1 of shape \(n, 2\)"),
        ({"faces_1": np.array([[1.0, 0], [2, 0], [2, 1]])}, "faces_1 of integers"),
        ({"meta": np.array('{"format": 1, "labels": ["a"]}')}, "3 vertex labels, got 1"),
    ],
)
def test_loading_trusts_nobody(tmp_path, change, message):
    path = tmp_path / "data.npz"
    ComplexDataset([TRIANGLE]).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, **change})
    with pytest.raises(FileError, match=message):
        ComplexDataset.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff0,1\n1,2\n2,0\n",
        "source,target\n0,1\n1,2\n2,0\n",
        "0;1\n1;2\n2;0\n",
        "0, 1, 0.5\r\n1, 2, 0.5\r\n2, 0, 0.5\r\n",
    ],
)
def test_csv_as_spreadsheets_write_it(tmp_path, text):
    path = tmp_path / "edges.csv"
    path.write_text(text, encoding="utf-8")
    (graph,) = read_graphs(path)
    assert clique_complex(graph).bare() == TRIANGLE
    assert (graph.edge_attr is not None) == ("0.5" in text)


def test_names_too_long_to_be_numbers(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("18446744073709551615 1\n")
    assert clique_complex(read_graphs(path)[0]).vertex_labels == ("1", "18446744073709551615")


@pytest.mark.slow
def test_operators_compile_as_one_graph():
    @torch.compile(backend="eager", fullgraph=True)
    def lower(K):
        return K.adjacency(1, "lower").sender

    assert torch.equal(lower(TRIANGLE), TRIANGLE.adjacency(1, "lower").sender)


def test_what_a_complex_is_not():
    with pytest.raises(TypeError, match="Expected an attribute or a method"):
        TRIANGLE["x"]
    with pytest.raises(TypeError, match="not iterable"):
        list(TRIANGLE)


@pytest.mark.parametrize("few", [0, 1000], ids=["factorization", "decomposition"])
@pytest.mark.parametrize(("graph", "holes"), [(nx.grid_2d_graph(4, 4), 9), (nx.cycle_graph(30), 1)])
def test_harmonic_bases_by_both_roads(monkeypatch, few, graph, holes):
    monkeypatch.setattr(homology, "FEW", few)
    K = clique_complexes([graph])[0]
    basis = K.harmonic_basis(1)
    assert basis.shape == (graph.number_of_edges(), holes)
    torch.testing.assert_close(basis.T @ basis, torch.eye(holes, dtype=torch.float64))
    assert (K.hodge_laplacian(1, dtype=torch.float64) @ basis).abs().max() < 1e-9
