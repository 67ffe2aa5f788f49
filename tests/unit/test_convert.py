"""To and from what people have."""

import sys

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from mpsn import SimplicialComplex, clique_complex, clique_complexes
from mpsn.convert._cleaning import _clean, _clean_on_gpu
from mpsn.errors import ComplexError, GraphError, LeftOut, MissingPackageError
from mpsn.testing import complexes, graphs

EDGES = torch.tensor([[0, 1, 2, 1, 3, 3], [1, 0, 1, 2, 3, 1]])  # two-way, repeated, a self-loop


def as_pyg():
    return Data(edge_index=EDGES, num_nodes=5)


def as_networkx():
    graph = nx.MultiDiGraph(EDGES.T.tolist())
    graph.add_node(4)
    return graph


def as_scipy():
    return scipy.sparse.coo_matrix((np.ones(6), EDGES.numpy()), shape=(5, 5))


@pytest.mark.parametrize(
    "graph",
    [
        as_pyg(),
        as_scipy(),
        as_scipy().tocsr(),
        scipy.sparse.csc_array(as_scipy()),
        (EDGES, 5),
        (EDGES.numpy(), np.int64(5)),
        (EDGES.tolist(), 5),
        (EDGES.to(torch.int32), 5),
    ],
)
def test_every_kind_of_graph_is_the_same_complex(graph):
    K = SimplicialComplex.from_graph(graph)
    assert K.counts == (5, 3)
    assert K.simplices(1).tolist() == [[0, 1], [1, 2], [1, 3]]
    assert clique_complex(graph, max_dim=1) == K
    assert K.vertex_labels is None


EDGE_LISTS = st.lists(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=9),
        )
    ),
    max_size=4,
)


@given(EDGE_LISTS, st.booleans())
def test_edges_are_cleaned_alike_on_every_device(items, directed):
    """Against sets of pairs: by counting on the CPU, by sorting on a GPU."""
    nodes, listings, first, shift = [n for n, _ in items], [], {}, 0
    for n, edges in items:
        pairs = [(a + shift, b + shift) for a, b in edges]
        listings += pairs if directed else [tuple(sorted(pair)) for pair in pairs]
        shift += n
    for i, (a, b) in enumerate(listings):
        if a != b:
            first.setdefault((a, b), i)
    flat = [pair for _, edges in items for pair in edges]
    ends = torch.tensor(flat, dtype=torch.int64).reshape(-1, 2).T
    sizes = [len(edges) for _, edges in items]
    for clean in (_clean, _clean_on_gpu):
        bad, edges, starts, listed, same = clean(ends, sizes, nodes, directed, True)
        assert bad == -1
        assert list(map(tuple, edges.tolist())) == sorted(first)
        assert starts.tolist() == [sum(a < v for a, _ in first) for v in range(shift + 1)]
        assert listed.tolist() == [first[pair] for pair in sorted(first)]
        assert same.tolist() == [first.get(pair, i) for i, pair in enumerate(listings)]
        plain = clean(ends, sizes, nodes, directed, False)
        assert torch.equal(plain[1], edges)
        assert torch.equal(plain[2], starts)
        assert plain[3:] == (None, None)


@pytest.mark.parametrize("clean", [_clean, _clean_on_gpu])
def test_the_first_invalid_vertex_is_found(clean):
    ends = torch.tensor([[0, 1, 0, 2], [1, 0, -1, 0]])
    assert clean(ends, [2, 2], [2, 3], False, False)[0] == 2
    assert clean(ends.abs(), [2, 2], [2, 2], False, False)[0] == 3


def test_networkx_labels_are_kept():
    with pytest.warns(LeftOut, match="directions of the edges of 1 of 1 graphs are not used"):
        K = SimplicialComplex.from_graph(as_networkx())
    assert K.vertex_labels is None  # they were 0, 1, ... in order
    names = nx.relabel_nodes(nx.path_graph(3), {0: "a", 1: ("b", 2), 2: 7.5})
    K = SimplicialComplex.from_graph(names)
    assert K.vertex_labels == ("a", ("b", 2), 7.5)
    assert nx.utils.graphs_equal(K.to_networkx(), names)


def test_explicit_zeros_of_a_sparse_matrix_are_no_edges():
    matrix = scipy.sparse.coo_matrix(([1.0, 0.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert SimplicialComplex.from_graph(matrix).counts == (3, 1)


@given(graphs())
def test_networkx_round_trip(graph):
    assert nx.utils.graphs_equal(SimplicialComplex.from_graph(graph).to_networkx(), graph)


@given(complexes())
def test_simplices_round_trip(K):
    assert SimplicialComplex.from_simplices(K.to_simplices(), K.num_nodes) == K


def test_closure_takes_simplices_in_any_order():
    K = SimplicialComplex.from_simplices([[3, 1], [2, 0, 1], (1, 3), np.array([5])])
    assert K.counts == (6, 4, 1)
    assert K.simplices(2).tolist() == [[0, 1, 2]]
    assert SimplicialComplex.from_simplices([], num_vertices=3).counts == (3,)


def test_pyg_round_trip_with_features():
    data = Data(
        x=torch.tensor([[1.0], [2.0], [3.0]]),
        edge_index=torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]]),
        edge_attr=torch.tensor([[5.0], [6.0], [7.0], [8.0]]),
        y=torch.tensor(1),
    )
    with pytest.warns(LeftOut, match=r"different values \(2\): that of the first listing is kept"):
        K = SimplicialComplex.from_graph(data)
    assert K.x[0].tolist() == [[1], [2], [3]]
    assert K.x[1].tolist() == [[5], [7]]  # of the first listing of each edge
    assert K.y.tolist() == [1]
    back = K.to_pyg()
    assert back.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert back.edge_attr.tolist() == [[5], [7], [5], [7]]
    assert SimplicialComplex.from_graph(back) == K


def test_one_dimensional_pyg_attributes_become_columns():
    data = Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.tensor([2.0]), num_nodes=2)
    assert SimplicialComplex.from_graph(data).x[1].tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ((EDGES.T, 5), r"shape \(2, E\), got \(6, 2\); transpose it"),
        ((EDGES[0], 5), r"shape \(2, E\), got \(6,\)\."),
        ((EDGES.float(), 5), r"integers, got torch\.float32"),
        ((EDGES > 0, 5), r"integers, got torch\.bool"),
        (("edges", 5), "integers"),
        ((EDGES, 3), r"vertices 0\.\.2, got edge \[3, 3\] with num_nodes=3; use num_nodes >= 4"),
        ((EDGES - 1, 5), r"got edge \[-1, 0\].*number vertices from 0"),
        ((EDGES, -1), "num_nodes as an integer >= 0, got -1"),
        ((EDGES, 5.0), r"num_nodes as an integer >= 0, got 5\.0"),
        ((EDGES, None), "num_nodes as an integer >= 0, got None"),
        (Data(num_nodes=3), "with edge_index, got none"),
        (scipy.sparse.coo_matrix((2, 3)), r"square adjacency matrix, got shape \(2, 3\)"),
        ("graph.g6", r"got str"),
        ([EDGES, 5], r"a list of edges"),
        (Data(edge_index=EDGES, x=torch.ones(2, 1), num_nodes=5), r"x of shape \(5, F\)"),
        (Data(edge_index=EDGES, edge_attr=torch.ones(2, 1), num_nodes=5), "edge_attr of shape"),
        (Data(edge_index=EDGES, x=torch.full((5, 1), torch.nan)), "NaN or infinity in x, first"),
    ],
)
def test_bad_graphs(graph, message):
    with pytest.raises(GraphError, match=message):
        clique_complex(graph)


def test_bad_graphs_among_many_are_named():
    good = (torch.tensor([[0], [1]]), 2)
    with pytest.raises(GraphError, match=r"vertices 0\.\.1 in graph 1, got edge \[0, 2\]"):
        clique_complexes([good, (torch.tensor([[0, 0], [1, 2]]), 2), good])
    with pytest.raises(ComplexError, match="x in all graphs or in none, got none in number 1"):
        clique_complexes([Data(x=torch.ones(1, 1), edge_index=EDGES[:, :0]), good])
    nan = Data(x=torch.full((1, 1), torch.nan), edge_index=EDGES[:, :0])
    with pytest.raises(GraphError, match="Graph 1: Expected finite"):
        clique_complexes([Data(x=torch.ones(1, 1), edge_index=EDGES[:, :0]), nan])


@pytest.mark.parametrize(
    ("simplices", "message"),
    [
        ([[0, 1, 1]], r"distinct vertices in a simplex, got \[0, 1, 1\]"),
        ([[0, 1], [-1, 2]], r"vertices >= 0, got \[-1, 2\]"),
        ([[]], "at least one vertex"),
        ([[0.5, 1]], "vertices as integers"),
        ([["a", "b"], ["a", "a"]], "distinct vertices"),
    ],
)
def test_bad_simplices(simplices, message):
    with pytest.raises(ComplexError, match=message):
        SimplicialComplex.from_simplices(simplices)


def test_too_few_vertices():
    with pytest.raises(ComplexError, match="num_vertices > 3, the largest vertex, got 3"):
        SimplicialComplex.from_simplices([[2, 3]], num_vertices=3)


NAMED = SimplicialComplex.from_simplices([["a", "b", "c"], ["c", "d"], ["e"]])


def test_simplices_of_named_vertices():
    assert NAMED.vertex_labels == ("a", "b", "c", "d", "e")
    numbers = SimplicialComplex.from_simplices([[0, 1, 2], [2, 3], [4]])
    assert numbers.replace(vertex_labels="abcde") == NAMED
    mixed = SimplicialComplex.from_simplices([{("x", 1), "y"}, {"y"}])
    assert set(mixed.vertex_labels) == {("x", 1), "y"}
    assert mixed.counts == (2, 1)


@given(complexes(max_dim=3))
def test_scipy_matrices_are_those_of_torch(K):
    graph = SimplicialComplex.from_graph(K.to_scipy())
    assert graph == K.skeleton(1).bare()
    for k in range(1, K.dim + 1):
        assert (K.to_scipy(k).toarray() == K.boundary_matrix(k).to_dense().numpy()).all()


@pytest.mark.filterwarnings("ignore")  # of these packages
@pytest.mark.parametrize("package", ["xgi", "toponetx"])
def test_other_libraries_both_ways(package):
    pytest.importorskip(package)
    to, back = f"to_{package}", getattr(SimplicialComplex, f"from_{package}")
    for K in (NAMED, clique_complex(nx.karate_club_graph(), max_dim=3)):
        theirs = getattr(K, to)()
        assert back(theirs) == K
        if package == "toponetx":
            assert theirs.shape == K.counts
        else:
            assert (theirs.num_nodes, theirs.num_edges) == (K.counts[0], sum(K.counts[1:]))


@pytest.mark.parametrize("package", ["xgi", "toponetx"])
def test_without_the_other_library_it_is_said(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"pip install {package}"):
        getattr(NAMED, f"to_{package}")()


def test_attributes_of_other_libraries_are_left_out_with_a_word():
    xgi = pytest.importorskip("xgi")
    theirs = xgi.SimplicialComplex()
    theirs.add_node(1, color="red")
    theirs.add_simplex([1, 3])
    with pytest.warns(LeftOut, match="color of a complex of XGI"):
        K = SimplicialComplex.from_xgi(theirs)
    assert K.vertex_labels == (1, 3)
    assert K.counts == (2, 1)
