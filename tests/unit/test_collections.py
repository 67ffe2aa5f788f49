"""Graphs and labels as people have them."""

import json
import zipfile

import networkx as nx
import pytest
import torch
from torch_geometric.utils import from_networkx

from mpsn.datasets import read_collection
from mpsn.errors import FileError, LeftOut
from mpsn.lifting import clique_complexes
from tu_files import members, write_zip

GRAPHS = [nx.cycle_graph(3), nx.path_graph(4), nx.star_graph(4)]


def found(*paths, **options):
    return [(name, label) for name, _, label in read_collection(paths, **options)]


def lifted(*paths, **options):
    return list(clique_complexes([graph for _, graph, _ in read_collection(paths, **options)]))


@pytest.fixture
def folder(tmp_path):
    """Return a folder of three graphs in three formats."""
    inside = tmp_path / "graphs"
    inside.mkdir()
    GRAPHS[0].graph["kind"] = "ring"
    nx.write_graphml(GRAPHS[0], inside / "a.graphml")
    nx.write_graph6(GRAPHS[1], inside / "b.g6")
    data = nx.node_link_data(GRAPHS[2], edges="edges")
    (inside / "c.json").write_text(json.dumps(data))
    return inside


def test_a_folder_a_class(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    nx.write_graph6(GRAPHS[1], other / "x.g6")
    expected = [
        ("graphs/a.graphml", "graphs"),
        ("graphs/b.g6", "graphs"),
        ("graphs/c.json", "graphs"),
        ("other/x.g6", "other"),
    ]
    assert found(folder, other) == expected
    assert found(tmp_path) == expected  # the folder of both
    assert [K.counts for K in lifted(folder, other)] == [(3, 3, 1), (4, 3), (5, 4), (4, 3)]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds none"):
        found(folder, tmp_path / "empty")
    with pytest.raises(FileError, match="got neither"):
        found(tmp_path / "empty")


def test_a_table_of_labels(folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("name,size,kind\na,3,ring\nb.g6,4,path\nc,5,star\n")
    kinds = [("a.graphml", "ring"), ("b.g6", "path"), ("c.json", "star")]
    assert found(folder, labels=table, target="kind") == kinds
    with pytest.raises(FileError, match=r"which column .*, size, kind; choose it with --target"):
        found(folder, labels=table)
    sizes = found(folder, labels=table, target="size")
    assert [label for _, label in sizes] == [3, 4, 5]
    table.rename(folder / "labels.csv")
    assert found(folder, target="kind") == kinds  # the only one in the folder
    with pytest.raises(FileError, match="Did you mean kind"):
        found(folder, target="kin")
    for text in ("", "a\nb\n", "name,kind\n", "name,size,kind\na,1\n"):
        (folder / "labels.csv").write_text(text)
        with pytest.raises(FileError, match="Expected"):
            found(folder)


def test_labels_in_the_graphs(folder):
    assert found(folder, target="kind") == [("a.graphml", "ring"), ("b.g6", None), ("c.json", None)]
    assert [label for _, label in found(folder)] == [None] * 3


def test_many_graphs_in_a_file(tmp_path):
    path = tmp_path / "many.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(graph, header=False) for graph in GRAPHS))
    table = tmp_path / "labels.csv"
    table.write_text("graph,y\n" + "".join(f"many.g6:{i},{i}.5\n" for i in range(3)))
    assert found(path, labels=table) == [("many.g6:0", 0.5), ("many.g6:1", 1.5), ("many.g6:2", 2.5)]
    assert lifted(path) == list(clique_complexes(GRAPHS))


@pytest.mark.parametrize("labeled", [True, False])
@pytest.mark.parametrize("place", ["", "TOY/", "TOY/raw/"])
def test_tu_archives_and_folders(tmp_path, labeled, place):
    parts = {
        "A": "1, 2\n2, 3\n1, 3\n4, 5\n",
        "graph_indicator": "1\n1\n1\n2\n2\n",
        "graph_labels": "-1\n1\n",
    }
    if labeled:
        parts["node_labels"] = "7\n8\n7\n9\n9\n"
    with zipfile.ZipFile(tmp_path / "TOY.zip", "w") as archive:
        for part, text in parts.items():
            archive.writestr(f"{place}TOY_{part}.txt", text)
        archive.extractall(tmp_path / "TOY")
    for path in (tmp_path / "TOY.zip", tmp_path / "TOY"):
        assert found(path) == [("TOY:0", -1), ("TOY:1", 1)]
        assert [K.counts for K in lifted(path)] == [(3, 3, 1), (2, 1)]
        x = [graph.x for _, graph, _ in read_collection([path])]
        assert [None if rows is None else rows.tolist() for rows in x] == (
            [[[7], [8], [7]], [[9], [9]]] if labeled else [None, None]
        )


def test_pickles_only_when_asked(tmp_path):
    path = tmp_path / "graphs.pt"
    data = [from_networkx(nx.path_graph(n)) for n in (2, 3)]
    for i, item in enumerate(data):
        item.y = torch.tensor([i])
    torch.save(data, path)
    with pytest.raises(FileError, match="runs whatever code"):
        found(path)
    assert found(path, unsafe_pickle=True) == [("graphs.pt:0", 0), ("graphs.pt:1", 1)]
    path.write_bytes(b"junk")
    with pytest.raises(FileError, match="a list of PyG Data"):
        found(path, unsafe_pickle=True)


def test_nothing_there(tmp_path):
    (tmp_path / "molecules").mkdir()
    with pytest.raises(FileError, match="Did you mean molecules"):
        found(tmp_path / "molecule")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(FileError, match=r"NAME_A\.txt"):
        found(tmp_path / "other.zip")
    (tmp_path / "bad.zip").write_bytes(b"PK no")
    with pytest.raises(FileError, match="a zip file"):
        found(tmp_path / "bad.zip")


TRIANGLES = [nx.cycle_graph(3), nx.cycle_graph(3)]


def test_all_of_a_tu_set_is_read(tmp_path):
    """Labels, attributes, or both, of vertices and edges; in files of any order of vertices."""
    labels, values = [7, 8, 9] * 2, [f"{i}.5, 0" for i in range(6)]
    edges = [f"{i}" for i in range(12)]
    both = members("OWN", TRIANGLES, [1, 2], labels, node_attributes=values, edge_labels=edges)
    (_, graph, label), _ = read_collection([write_zip(tmp_path / "OWN.zip", both)])
    assert label == 1
    assert graph.nodes[1] == {"label": 8, "attribute_0": 1.5, "attribute_1": 0.0}
    assert {type(data["label"]) for _, data in graph.nodes(data=True)} == {int}
    assert [data["label"] for _, _, data in graph.edges(data=True)] == [0, 1, 2]  # listed first
    one = members("OWN", TRIANGLES, [1, 2], node_attributes=values, edge_attributes=["0.5"] * 12)
    _, (_, graph, _) = read_collection([write_zip(tmp_path / "OWN.zip", one)])
    assert graph.x.tolist() == [[3.5, 0], [4.5, 0], [5.5, 0]]
    assert graph.edge_attr.shape == (6, 1)
    short = members("OWN", TRIANGLES, [1, 2], edge_labels=edges[:-1])
    with pytest.raises(FileError, match=r"each of 12 lines of OWN_A.txt in OWN_edge_labels"):
        found(write_zip(tmp_path / "OWN.zip", short))


def test_targets_of_a_tu_set(tmp_path):
    files = members("OWN", TRIANGLES, None, graph_attributes=["0.5, 3", "1.5, 4"])
    path = write_zip(tmp_path / "OWN.zip", files)
    assert found(path, target="1") == [("OWN:0", 3.0), ("OWN:1", 4.0)]
    for target in (None, "2", "size"):
        with pytest.raises(FileError, match="one of the 2 targets"):
            found(path, target=target)
    both = members("OWN", TRIANGLES, [7, 8], graph_attributes=["0.5, 3", "1.5, 4"])
    write_zip(path, both)
    assert found(path, target="0") == [("OWN:0", 0.5), ("OWN:1", 1.5)]
    with pytest.warns(LeftOut, match=r"OWN_graph_attributes.txt is not used"):
        assert found(path) == [("OWN:0", 7), ("OWN:1", 8)]


def test_options_that_do_not_apply_are_refused(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    nx.write_graph6(GRAPHS[1], other / "x.g6")
    for option in ("target", "labels"):
        for paths in ([folder, other], [tmp_path]):
            with pytest.raises(FileError, match=f"no --{option} .* a folder per class"):
                found(*paths, **{option: "nonsense"})
    path = write_zip(tmp_path / "OWN.zip", members("OWN", TRIANGLES, [1, 2]))
    for one, what in ((path, "a TU set"), (tmp_path / "a.pt", r"a \.pt file")):
        one.touch()
        with pytest.raises(FileError, match=f"no --labels .* {what}"):
            found(one, labels="y.csv", unsafe_pickle=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,kind\na,1\nb.g6,2\nc,3\na,2\n", "each graph once .* 'a' again"),
        ("name,kind\na,1\nb.g6,\nc,3\n", "a label of .b.g6. .* an empty one"),
        ("name,kind\na,1\nb.g6,nan\nc,3\n", "finite number as the label of b.g6, got nan"),
        ("name,kind\na,1\nb.g6,1e999\nc,3\n", "finite number as the label of b.g6, got inf"),
        ("name,kind\na,1\nb.g6,2,3\nc,3\n", "2 columns on line 3 .* got 3"),
        (f"name,kind\na,1\nb.g6,{'x' * 1001}\nc,3\n", "at most 1000 characters"),
        ('name,kind\na,1\nb.g6,"2\nc,3\n', "Expected"),
    ],
)
def test_tables_of_labels_that_are_refused(folder, tmp_path, text, message):
    (tmp_path / "y.csv").write_text(text)
    with pytest.raises(FileError, match=message):
        found(folder, labels=tmp_path / "y.csv")


def test_odd_labels_that_are_read(folder, tmp_path):
    table = tmp_path / "y.csv"
    for words, expected in (
        (("1_0", "1_1", "1_2"), ["1_0", "1_1", "1_2"]),
        (("10" * 15, "2", "3"), [float("10" * 15), 2.0, 3.0]),
        (("1e30", "0.5", "3"), [1e30, 0.5, 3.0]),
        (("ü", "NA", "3"), ["ü", "NA", "3"]),
    ):
        rows = zip("abc", words, strict=True)
        table.write_text("name;kind\n" + "".join(f"{a};{b}\n" for a, b in rows), encoding="utf-8")
        assert [label for _, label in found(folder, labels=table)] == expected
    table.write_text("name,kind\na,1\nb,2\nc,3\nd,4\n")
    with pytest.warns(LeftOut, match="1 labels are not used: there are no graphs named d"):
        found(folder, labels=table)


def test_lone_surrogates_are_no_label(tmp_path):
    graph = nx.path_graph(2)
    graph.graph["kind"] = "\ud800"
    (tmp_path / "a.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    with pytest.raises(FileError, match=r"as the label of a.json, got '\\ud800'"):
        found(tmp_path / "a.json", target="kind")
