"""Graphs and labels as people have them."""

import json
import zipfile

import networkx as nx
import pytest
import torch
from torch_geometric.utils import from_networkx

from mpsn.datasets._collections import read_collection
from mpsn.errors import FileError
from mpsn.lifting import clique_complexes

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
    assert found(folder, labels=table) == kinds  # the last column
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
