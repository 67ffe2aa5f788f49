"""The kinds of data that people have: read whole, or what is left out is named."""

import gzip
import json
import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data, InMemoryDataset

import mpsn
from mpsn.convert import as_graph
from mpsn.datasets import read_collection
from mpsn.errors import LeftOut

pd = pytest.importorskip("pandas")


def weighted(n=4):
    """Return a ring with two attributes of vertices and one of edges."""
    graph = nx.cycle_graph(n)
    nx.set_node_attributes(graph, {v: v % 2 for v in graph}, "kind")
    nx.set_node_attributes(graph, {v: v / 4 for v in graph}, "mass")
    nx.set_edge_attributes(graph, {e: 0.25 + i for i, e in enumerate(graph.edges)}, "weight")
    return graph


RING = weighted()
EDGES = [(u, v, data["weight"]) for u, v, data in RING.edges(data=True)]
FRAME = nx.to_pandas_edgelist(RING)
INDEX = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
NAMED = nx.relabel_nodes(RING, dict(enumerate(["ann", "New York", "c,d", "C#"])))


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def gz(path):
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def by_networkx(write, path, graph=RING):
    write(graph, path)
    return path


def edge_rows(text):
    return lambda tmp: written(tmp / "ring.txt", text)


FILES = {
    "pandas' to_csv": lambda tmp: written(tmp / "a.csv", FRAME.to_csv()),
    "to_csv without the index": lambda tmp: written(tmp / "a.csv", FRAME.to_csv(index=False)),
    "columns in another order": lambda tmp: written(
        tmp / "a.csv", FRAME[["weight", "target", "source"]].to_csv(index=False)
    ),
    "a CSV of names": lambda tmp: written(tmp / "a.csv", nx.to_pandas_edgelist(NAMED).to_csv()),
    "a CSV without a header": lambda tmp: written(
        tmp / "a.csv", FRAME.to_csv(index=False, header=False)
    ),
    "unknown names of columns": lambda tmp: written(
        tmp / "a.csv", FRAME.rename(columns={"source": "boss", "target": "clerk"}).to_csv()
    ),
    "TSV": lambda tmp: written(tmp / "a.tsv", FRAME.to_csv(sep="\t", index=False)),
    "semicolons": lambda tmp: written(tmp / "a.csv", FRAME.to_csv(sep=";", index=False)),
    "TXT with comments": edge_rows("# From To\n0 1 0.25\n3 0 1.25\n1 2 2.25 # it\n2 3 3.25\n"),
    "networkx's edge list": lambda tmp: by_networkx(nx.write_edgelist, tmp / "a.edgelist"),
    "networkx's weighted edge list": lambda tmp: by_networkx(
        nx.write_weighted_edgelist, tmp / "a.edgelist"
    ),
    "CSV.GZ": lambda tmp: gz(written(tmp / "a.csv", FRAME.to_csv())),
    "GraphML": lambda tmp: by_networkx(nx.write_graphml, tmp / "a.graphml"),
    "GraphML.GZ": lambda tmp: gz(by_networkx(nx.write_graphml, tmp / "a.graphml")),
    "GML": lambda tmp: by_networkx(nx.write_gml, tmp / "a.gml"),
    "GEXF": lambda tmp: by_networkx(nx.write_gexf, tmp / "a.gexf"),
    "JSON": lambda tmp: written(tmp / "a.json", json.dumps(nx.node_link_data(RING, edges="edges"))),
}
OBJECTS = {
    "a data frame": FRAME,
    "a data frame of names": nx.to_pandas_edgelist(NAMED),
    "a list of edges": EDGES,
    "a list of edges with dicts": list(RING.edges(data=True)),
    "PyG data": Data(edge_index=INDEX, num_nodes=4, edge_attr=torch.tensor([e[2] for e in EDGES])),
}
BARE = {  # without weights
    "an edge_index": INDEX,
    "an array of pairs": np.array([e[:2] for e in EDGES]),
    "a pair (edge_index, num_nodes)": (INDEX, 4),
    "a dense array": nx.to_numpy_array(RING, weight=None),
    "a dense tensor": torch.from_numpy(nx.to_numpy_array(RING, weight=None)),
    "a sparse matrix": nx.to_scipy_sparse_array(RING, weight=None),
    "a frame of an adjacency matrix": nx.to_pandas_adjacency(RING, weight=None),
    "a networkx graph": RING,
}


def weights(graph):
    """Return the weights of the edges of a graph that was read, sorted."""
    if isinstance(graph, nx.Graph):
        return sorted(data["weight"] for _, _, data in graph.edges(data=True))
    return sorted(as_graph(graph).edge_attr.flatten().tolist())


@pytest.mark.parametrize("kind", FILES)
def test_files_are_read_whole(tmp_path, kind):
    path = FILES[kind](tmp_path)
    (graph,) = mpsn.read_graphs(path)
    assert nx.is_isomorphic(mpsn.clique_complex(graph).to_networkx(), RING)
    assert weights(graph) == [0.25, 1.25, 2.25, 3.25]
    if isinstance(graph, nx.Graph):  # the formats that hold attributes of vertices
        assert sorted(data["mass"] for _, data in graph.nodes(data=True)) == [0, 0.25, 0.5, 0.75]
        assert {data["kind"] for _, data in graph.nodes(data=True)} == {0, 1}
    if "names" in kind and "unknown" not in kind:
        assert set(as_graph(graph).labels) == {"ann", "New York", "c,d", "C#"}
    # and the same inside a folder, one per class
    for label in ("one", "two"):
        (tmp_path / label).mkdir()
        (tmp_path / label / path.name).write_bytes(path.read_bytes())
    items = list(read_collection([tmp_path / "one", tmp_path / "two"]))
    assert [(name, label) for name, _, label in items] == [
        (f"one/{path.name}", "one"),
        (f"two/{path.name}", "two"),
    ]
    assert weights(items[0][1]) == [0.25, 1.25, 2.25, 3.25]


@pytest.mark.parametrize("kind", [*OBJECTS, *BARE])
def test_objects_are_read_whole(kind):
    graph = {**OBJECTS, **BARE}[kind]
    K = mpsn.clique_complex(graph)
    assert nx.is_isomorphic(K.to_networkx(), RING)
    if kind in OBJECTS:
        assert weights(graph) == [0.25, 1.25, 2.25, 3.25]
        assert sorted(K.x[1].flatten().tolist()) == [0.25, 1.25, 2.25, 3.25]
    if "names" in kind:
        assert set(K.vertex_labels) == {"ann", "New York", "c,d", "C#"}


class Rings(InMemoryDataset):
    """A data set of PyG in memory."""

    def __init__(self, many=6):
        super().__init__()
        items = [
            Data(
                edge_index=INDEX,
                x=torch.full((4, 1), float(i % 2)),
                edge_attr=torch.ones(4, 2),
                y=torch.tensor([i % 2]),
            )
            for i in range(many)
        ]
        self.data, self.slices = self.collate(items)


def test_data_sets_of_pyg(tmp_path):
    rings = Rings()
    assert mpsn.clique_complexes(rings).union.x[1].shape == (24, 2)
    assert mpsn.wl.wl(rings, rounds=1).num_complexes == 6
    model = mpsn.estimators.SimplicialClassifier(epochs=1, members=1, hidden=4, layers=1)
    with pytest.warns(LeftOut, match="listed in one direction"):
        assert len(model.fit(rings).predict(rings)) == 6
    for found in (rings, list(rings), rings[0]):
        torch.save(found, tmp_path / "rings.pt")
        items = list(read_collection([tmp_path / "rings.pt"], unsafe_pickle=True))
        many = 6 if found is not rings[0] and not isinstance(found, Data) else 1
        assert [label for _, _, label in items] == [0, 1, 0, 1, 0, 1][:many]


LEFT_OUT = {
    "a digraph": (nx.DiGraph(RING), "directions of the edges of 1 of 1"),
    "a directed multigraph": (nx.MultiDiGraph(RING), "directions of the edges of 1 of 1"),
    "words in a frame": (FRAME.assign(type="friend"), "Columns type of a data frame"),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_what_is_left_out_is_named(kind):
    graph, message = LEFT_OUT[kind]
    with pytest.warns(LeftOut, match=message):
        assert nx.is_isomorphic(mpsn.clique_complex(graph).to_networkx(), RING)


def test_left_out_of_files(tmp_path):
    path = written(tmp_path / "a.csv", FRAME.assign(type="friend").to_csv())
    with pytest.warns(LeftOut, match="Columns type of an edge list are not used"):
        (graph,) = mpsn.read_graphs(path)
    assert weights(graph) == [0.25, 1.25, 2.25, 3.25]
    path = by_networkx(nx.write_graphml, tmp_path / "b.graphml", nx.DiGraph(RING))
    with pytest.warns(LeftOut, match="directions"):
        mpsn.clique_complexes(mpsn.read_graphs(path))
    written(tmp_path / "a.csv", FRAME.to_csv())
    (tmp_path / "notes.docx").write_text("hello")
    with pytest.warns(LeftOut, match="1 of the entries of .* no graph files: notes.docx"):
        assert len(list(read_collection([tmp_path], labels=labels(tmp_path / "y.tsv")))) == 2


def labels(path):
    return written(path, "graph\tclass\na\t1\nb\t2\n")


@pytest.mark.parametrize("first", ["u v", "from to", "a b", "Ann Bob"])
def test_vertices_named_like_a_header(tmp_path, first):
    """The names come again as those of vertices, or no number follows: it is an edge."""
    one, two = first.split()
    path = written(tmp_path / "a.edgelist", f"{first}\n{two} w\nw {one}\n")
    assert mpsn.clique_complex(mpsn.read_graphs(path)[0]).counts == (3, 3, 1)
    path = written(tmp_path / "a.edgelist", f"{first}\n1 w\nw {one}\n{two} 1\n")
    assert mpsn.clique_complex(mpsn.read_graphs(path)[0]).counts == (4, 4)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (torch.tensor([[0, 1], [1, 2]]), "may be an edge_index or an adjacency matrix"),
        ([[0, 1, 2], [1, 2, 3]], "may be an edge_index"),
        (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), "columns source and target"),
        (pd.DataFrame({"source": [1], "target": [None]}), "None or NaN"),
        (np.array([[0, np.nan], [1, 0]]), "finite entries"),
        ([(0, 1, 0.5), (1, 2)], "numbers on all edges or on none"),
    ],
)
def test_what_cannot_be_told_is_refused(graph, message):
    with pytest.raises(mpsn.errors.GraphError, match=message):
        mpsn.clique_complex(graph)


def test_folders_of_csv_files_with_labels(tmp_path):
    """The table of labels is found among the graphs, which may be named by numbers too."""
    for i in range(3):
        rows = "".join(f"{u},{v}\n" for u, v in nx.cycle_graph(4 + i).edges)
        written(tmp_path / f"{i}.csv", "source,target\n" * (i > 0) + rows)
    written(tmp_path / "README.txt", "Three rings. See the paper.")
    written(tmp_path / "answers.csv", "name,size\n0,4\n1,5\n2.csv,6\n")
    with warnings.catch_warnings(action="ignore"):
        items = list(read_collection([tmp_path]))
    assert [(name, label) for name, _, label in items] == [("0.csv", 4), ("1.csv", 5), ("2.csv", 6)]
    assert [mpsn.clique_complex(graph).counts for _, graph, _ in items] == [(4, 4), (5, 5), (6, 6)]


def test_scipy_matrices_of_other_kinds():
    dense = nx.to_numpy_array(RING)
    for kind in (scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.lil_array):
        assert mpsn.clique_complex(kind(dense)).counts == (4, 4)


def test_graphs_whose_vertices_are_named_like_files(tmp_path):
    for kind in ("one", "two"):
        (tmp_path / kind).mkdir()
        for i in range(4):
            rows = "".join(f"{u},{v}\n" for u, v in nx.path_graph(5).edges)
            written(tmp_path / kind / f"{i}.csv", "here,there\n" + rows)
    items = list(read_collection([tmp_path]))
    assert [label for _, _, label in items] == ["one"] * 4 + ["two"] * 4
    assert {mpsn.clique_complex(graph).counts for _, graph, _ in items} == {(5, 4)}


@pytest.mark.parametrize(
    "lift", [mpsn.clique_complex, mpsn.Lift("cliques"), lambda graph: mpsn.ring_complexes([graph])]
)
def test_warnings_point_at_the_line_of_the_user(lift):
    with pytest.warns(LeftOut, match="directions") as caught:
        lift(nx.DiGraph([(0, 1)]))
    assert {warning.filename for warning in caught} == {__file__}


SQUARE = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
TWICE = INDEX[:, [0, 1, 0]]
LISTED_TWICE = Data(edge_index=TWICE, edge_attr=torch.tensor([7.0, 8.0, 7.0]), num_nodes=4)
QUIET = {
    "an undirected graph": lambda: mpsn.clique_complex(RING),
    "a digraph whose directions are used": lambda: mpsn.lifting.directed_flag_complex(
        nx.DiGraph([(0, 1), (1, 0)])
    ),
    "repeated edges with equal features": lambda: mpsn.clique_complex(LISTED_TWICE),
    "other edges, of a graph without features of its own": lambda: (
        mpsn.lifting.independence_complex(Data(edge_index=INDEX, x=SQUARE))
    ),
    "points at different places": lambda: mpsn.alpha_complex(SQUARE + SQUARE[:, :1] * 0.1),
    "one label of all points": lambda: mpsn.lifting.witness_complex(
        Data(pos=SQUARE, y=torch.tensor([1])), 2
    ),
    "a mesh with a boundary": lambda: mpsn.mesh_complex((SQUARE, [[0, 1, 2], [1, 2, 3]])),
    "a mesh of tetrahedra": lambda: mpsn.mesh_complex((torch.rand(4, 3), [[0, 1, 2, 3]])),
}


@pytest.mark.parametrize("lift", QUIET.values(), ids=QUIET)
def test_no_warning_where_nothing_is_left_out(lift):
    pytest.importorskip("gudhi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lift().num_nodes
