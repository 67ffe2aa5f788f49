"""TU graph classification sets: read, lifted, downloaded, refused."""

import io
import os
import re
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from mpsn import clique_complex, collate, lift_features
from mpsn.datasets import TU
from mpsn.datasets import _tu as tu
from mpsn.datasets import _tu_raw as tu_raw
from mpsn.datasets._sources import locate
from mpsn.errors import FileError, LeftOut, MPSNError, TooLargeError
from tu_files import members, reddit_like, write_zip

GRAPHS = [nx.complete_graph(4), nx.path_graph(3), nx.empty_graph(2), nx.cycle_graph(3)]
CLASSES = [1, -1, -1, 1]
LABELS = [5, 5, 0, 2, 5, 5, 5, 0, 0, 2, 2, 2]

with_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs MPSN_DATA")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def brute_force(graphs, features):
    """Lift graph by graph, by the definition."""
    return collate(
        [
            lift_features(clique_complex(graph).replace(x=[x]), "mean", 2)
            for graph, x in zip(graphs, features, strict=True)
        ]
    )


def one_hot(kinds, width, graphs):
    rows = torch.eye(width)[torch.tensor(kinds)]
    return rows.split([len(graph) for graph in graphs])


def test_labels_become_one_hot_features(tmp_path):
    write_zip(tmp_path / "tu/PROTEINS.zip", members("PROTEINS", GRAPHS, CLASSES, LABELS))
    data = TU("PROTEINS", tmp_path)
    kinds = [sorted({*LABELS}).index(label) for label in LABELS]
    expected = brute_force(GRAPHS, one_hot(kinds, 3, GRAPHS))
    assert data.complexes.union == expected.replace(y=torch.tensor([1, 0, 0, 1]))
    assert data.y.tolist() == [1, 0, 0, 1]
    assert (len(data), data.num_classes, data.num_features) == (4, 2, 3)
    assert repr(data) == (
        "TUDataset(PROTEINS, 4 graphs in 2 classes, 3 features, counts=(12, 11, 5))"
    )
    assert [K.counts for K in data.complexes] == [(4, 6, 4), (3, 2), (2,), (3, 3, 1)]


def test_degrees_become_one_hot_features(tmp_path):
    files = members("IMDB-BINARY", GRAPHS, CLASSES)
    data = TU("IMDB-BINARY", write_zip(tmp_path / "any.zip", files))
    degrees = [d for graph in GRAPHS for _, d in graph.degree]
    kinds = [sorted({*degrees}).index(d) for d in degrees]
    assert data.num_features == 4  # 0, 1, 2 and 3 neighbors
    expected = brute_force(GRAPHS, one_hot(kinds, 4, GRAPHS))
    assert data.complexes.union == expected.replace(y=data.y)


def test_a_made_file_in_the_shape_of_reddit_multi_5k(tmp_path):
    graphs, classes = reddit_like()
    write_zip(tmp_path / "tu/REDDIT-MULTI-5K.zip", members("REDDIT-MULTI-5K", graphs, classes))
    data = TU("REDDIT-MULTI-5K", tmp_path)
    assert data.num_classes == 5
    expected = brute_force(graphs, [torch.ones(len(graph), 1) for graph in graphs])
    assert expected.counts[2] > 0
    assert data.complexes.union == expected.replace(y=torch.tensor(classes) - 1)


def test_editions_folders_and_places_are_alike(tmp_path):
    """Edges in one direction or both, twice, with blanks and \\r; in a zip file or a folder."""
    files = members("NCI1", GRAPHS, CLASSES, LABELS)
    expected = TU("NCI1", write_zip(tmp_path / "a.zip", files)).complexes
    single = members("NCI1", GRAPHS, CLASSES, LABELS, both=False)
    assert TU("NCI1", write_zip(tmp_path / "b.zip", single)).complexes == expected
    messy = {name: text.replace("\n", "\r\n").replace(", ", " ,\t") for name, text in files.items()}
    messy["NCI1/raw/NCI1_A.txt"] = messy["NCI1/raw/NCI1_A.txt"] * 2 + "\n1,1\n\n"
    top = {name.rpartition("/")[2]: text.rstrip() for name, text in messy.items()}
    assert TU("NCI1", write_zip(tmp_path / "c.zip", top)).complexes == expected
    for folder in (tmp_path / "d/tu/NCI1", tmp_path / "e"):
        folder.mkdir(parents=True)
        for name, text in top.items():
            (folder / name).write_text(text)
    assert TU("NCI1", tmp_path / "d").complexes == expected
    assert TU("NCI1", tmp_path / "e").complexes == expected


def test_vertices_may_come_in_any_order(tmp_path):
    files = {
        "NCI1_A.txt": "1, 3\n3, 5\n5, 1\n2, 4\n",
        "NCI1_graph_indicator.txt": "2\n1\n2\n1\n2\n",
        "NCI1_graph_labels.txt": "0\n1\n",
        "NCI1_node_labels.txt": "7\n8\n9\n8\n7\n",
    }
    data = TU("NCI1", write_zip(tmp_path / "x.zip", files))
    path, triangle = data.complexes
    assert (path.counts, triangle.counts) == ((2, 1), (3, 3, 1))
    assert path.x[0].tolist() == [[0, 1, 0], [0, 1, 0]]
    assert triangle.x[0].tolist() == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]


def changed(part, text, name="NCI1"):
    files = members(name, GRAPHS, CLASSES, LABELS)
    return {**files, f"{name}/raw/{name}_{part}.txt": text}


BAD = {
    "a vertex too many": (changed("A", "1, 13\n"), r"vertices 1..12 .* got the edge \[1, 13\]"),
    "vertex 0": (changed("A", "0, 1\n"), r"vertices 1..12 .* got the edge \[0, 1\]"),
    "an edge across graphs": (changed("A", "1, 2\n4, 5\n"), r"\[4, 5\] between graphs \[1, 2\]"),
    "three columns": (
        changed("A", "1, 2\n1, 2, 3\n"),
        "integers, 2 on each line, in NCI1_A.txt, got .* from 2 to 3 at row 2",
    ),
    "one column": (changed("A", "1, 2\n1\n"), "2 on each line, .* from 2 to 1 at row 2"),
    "words": (changed("graph_labels", "1\nx\n"), "integers, .* 'x' .* at row 1"),
    "a fraction": (changed("node_labels", "1.5\n" * 12), "integers, .* '1.5' .* at row 0"),
    "a lone sign": (changed("graph_labels", "1\n-\n"), "integers, .* '-' .* at row 1"),
    "a number too long": (changed("graph_labels", "9" * 19), "integers, .* at row 0"),
    "few graph labels": (changed("graph_labels", "1\n1\n1\n"), r"graph numbers 1..3 .* got 4"),
    "many graph labels": (changed("graph_labels", "1\n" * 5), r"every graph 1..5 .* graph 5"),
    "no graphs": (changed("graph_labels", ""), "graphs in NCI1_graph_labels.txt, got none"),
    "few vertex labels": (changed("node_labels", "1\n" * 11), "each of 12 vertices .* got 11"),
    "another set": (members("PROTEINS", GRAPHS, CLASSES, LABELS), "NCI1_A.txt, .* found none"),
    "a file outside": (
        {
            name.replace("NCI1/raw/NCI1_A", "../NCI1_A"): text
            for name, text in members("NCI1", GRAPHS, CLASSES, LABELS).items()
        },
        "Expected NCI1_A.txt in",
    ),
}


@pytest.mark.parametrize(("files", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused(tmp_path, files, message):
    with pytest.raises(FileError, match=message):
        TU("NCI1", write_zip(tmp_path / "NCI1.zip", files))


def test_no_labels_no_zip_no_set(tmp_path):
    files = members("NCI1", GRAPHS, CLASSES)
    with pytest.raises(FileError, match=r"Expected NCI1_node_labels.txt in"):
        TU("NCI1", write_zip(tmp_path / "NCI1.zip", files))
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 and no more")
    for path in (tmp_path / "bad.zip", tmp_path / "none.zip"):
        with pytest.raises(FileError, match="damaged or of another kind"):
            TU("NCI1", path)
    with pytest.raises(MPSNError, match=r"the set 'MUTAG' at DIR/tu/MUTAG.zip .* found none"):
        TU("MUTAG", tmp_path)
    with pytest.raises(MPSNError, match=r"Did you mean PROTEINS"):
        TU("PROTEIN", tmp_path)


def test_sets_beyond_the_six(tmp_path):
    """One-hot labels and standardized attributes; else degrees; edges' own are named."""
    values = [f"{i}, {-2 * i}" for i in range(12)]
    files = members("OWN", GRAPHS, CLASSES, LABELS, node_attributes=values)
    data = TU("OWN", write_zip(tmp_path / "OWN.zip", files))
    kinds = [sorted({*LABELS}).index(label) for label in LABELS]
    scaled = (torch.arange(12.0) - 5.5) / torch.arange(12.0).std(correction=0)
    x = torch.cat([torch.eye(3)[torch.tensor(kinds)], scaled[:, None], -scaled[:, None]], 1)
    expected = brute_force(GRAPHS, x.split([len(graph) for graph in GRAPHS]))
    assert (data.num_features, data.num_classes, data.labeled) == (5, 2, True)
    for ours, theirs in zip(data.complexes.union.x, expected.x, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
    bare = TU("OWN", write_zip(tmp_path / "OWN.zip", members("OWN", GRAPHS, CLASSES)))
    same = TU("IMDB-BINARY", write_zip(tmp_path / "x.zip", members("IMDB-BINARY", GRAPHS, CLASSES)))
    assert bare.complexes == same.complexes
    assert not bare.labeled
    files = members("OWN", GRAPHS, CLASSES, edge_labels=[1] * 22)
    with pytest.warns(LeftOut, match="edge_labels of OWN are not used"):
        TU("OWN", write_zip(tmp_path / "OWN.zip", files))


def test_sets_to_regress(tmp_path):
    files = members("OWN", GRAPHS, None, graph_attributes=["0.5", "1e2", "-3", "0"])
    data = TU("OWN", write_zip(tmp_path / "OWN.zip", files))
    assert data.y.tolist() == [0.5, 100, -3, 0]
    assert data.num_classes == 0
    assert "4 graphs to regress" in repr(data)
    files = members("OWN", GRAPHS, None, graph_attributes=["1, 2"] * 4)
    assert TU("OWN", write_zip(tmp_path / "OWN.zip", files)).y.shape == (4, 2)
    for lines, message in ((["1"] * 3 + ["x"], "numbers"), (["1"] * 3 + ["nan"], "finite")):
        files = members("OWN", GRAPHS, None, graph_attributes=lines)
        with pytest.raises(FileError, match=message):
            TU("OWN", write_zip(tmp_path / "OWN.zip", files))


def test_edges_that_end_early_are_refused(tmp_path):
    """Unless the cut leaves every edge in both directions, which no reader can tell."""
    union = nx.disjoint_union_all(GRAPHS)
    listed = sorted((u + 1, v + 1) for a, b in union.edges for u, v in ((a, b), (b, a)))
    text = "".join(f"{u}, {v}\n" for u, v in listed)
    refused = 0
    for cut in range(1, len(text)):
        files = {**members("NCI1", GRAPHS, CLASSES, LABELS), "NCI1/raw/NCI1_A.txt": text[:cut]}
        rows = [tuple(map(int, row)) for row in re.findall(r"(\d+), (\d+)", text[:cut])]
        pairs = [(v, u) in rows for u, v in rows if u != v]
        try:
            TU("NCI1", write_zip(tmp_path / "NCI1.zip", files))
        except FileError:
            refused += 1
        else:
            assert all(pairs) or not any(pairs), text[:cut]
    assert refused > len(text) / 2


def test_a_zip_that_unpacks_to_too_much_is_refused_unread(tmp_path, monkeypatch):
    path = write_zip(tmp_path / "NCI1.zip", changed("A", "1, 2\n" * 1000))
    assert len(tu_raw.read_members("NCI1", path, ["A"], ["graph_labels"], 6000)["A"]) == 5000
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("read"))
    with pytest.raises(TooLargeError, match="at most 4,999 bytes"):
        tu_raw.read_members("NCI1", path, max_bytes=4999)


def test_encrypted_and_rare_archives_are_refused(tmp_path):
    path = write_zip(tmp_path / "NCI1.zip", members("NCI1", GRAPHS, CLASSES, LABELS))
    content = path.read_bytes()
    for offset, value in ((8, b"\1"), (10, bytes([zipfile.ZIP_LZMA]))):  # in the central directory
        at = content.index(b"PK\1\2") + offset
        path.write_bytes(content[:at] + value + content[at + 1 :])
        with pytest.raises(FileError, match="Expected files stored or deflated"):
            TU("NCI1", path)


def serve(monkeypatch, content):
    asked = []

    def urlopen(url, timeout):
        asked.append(url)
        return io.BytesIO(content)

    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    return asked


def test_downloads_of_other_graphs_are_refused(tmp_path, monkeypatch):
    path = write_zip(tmp_path / "x.zip", members("NCI1", GRAPHS, CLASSES, LABELS))
    asked = serve(monkeypatch, path.read_bytes())
    with pytest.raises(FileError, match=r"Expected graphs with checksum .* put it at DIR/tu/NCI1"):
        TU("NCI1")
    assert asked == ["https://www.chrsmrrs.com/graphkerneldatasets/NCI1.zip"]
    assert not list((tmp_path / "cache").rglob("*.zip"))
    serve(monkeypatch, b"<html>not found</html>")
    with pytest.raises(FileError, match="the download, which is damaged"):
        TU("NCI1")


class Hostile(BaseHTTPRequestHandler):
    """Promises more than it sends, or sends without end."""

    def do_GET(self):
        self.send_response(200)
        if "short" in self.path:
            self.send_header("Content-Length", "1000")
        self.end_headers()
        part, sent = b"x" * 100, 0
        try:
            while sent < (100 if "short" in self.path else 10**8):
                self.wfile.write(part)
                sent += len(part)
                part = b"x" * 10**6
        except OSError:
            self.server.cut_off = sent

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(("kind", "said"), [("short", "IncompleteRead"), ("endless", "more than")])
def test_downloads_from_a_hostile_server(monkeypatch, kind, said):
    server = HTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr("mpsn.datasets._sources.MAX_BYTES", 10**6)
    try:
        with pytest.raises(FileError, match=said):
            locate("tu/X.zip", f"http://127.0.0.1:{server.server_port}/{kind}", "0" * 64)
    finally:
        server.shutdown()
        server.server_close()


def test_downloads_without_known_checksum_are_held_against_the_table(tmp_path, monkeypatch):
    graphs, classes = reddit_like()
    name = "REDDIT-MULTI-5K"
    path = write_zip(tmp_path / "x.zip", members(name, graphs, classes))
    serve(monkeypatch, path.read_bytes())
    with pytest.raises(FileError, match=r"counts \(4999, 5, \(21.8, 11\)\) in .* got \(25, 5, "):
        TU(name)
    triangles = [sum(nx.triangles(graph).values()) // 3 for graph in graphs]
    known = tu.TUSet("constant", 25, 5, (round(np.mean(triangles), 1), np.median(triangles)))
    kept = tu.find_source(name, None, known)
    assert kept == tmp_path / f"cache/mpsn/tu/{name}.zip"
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("asked again"))
    assert len(TU(name)) == 25


STATISTICS = {
    "PROTEINS": (1113, 2, 3, 43471, 81044),
    "NCI1": (4110, 2, 37, 122747, 132753),
    "IMDB-BINARY": (1000, 2, 65, 19773, 96531),
    "IMDB-MULTI": (1500, 3, 59, 19502, 98903),
    "REDDIT-BINARY": (2000, 2, 1, 859254, 995508),
}


@with_data
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_of_the_table(name):
    data = TU(name)
    graphs, classes, features, vertices, edges = STATISTICS[name]
    assert (len(data), data.num_classes, data.num_features) == (graphs, classes, features)
    assert data.complexes.union.counts[:2] == (vertices, edges)
    triangles = data.complexes.counts[:, 2].numpy()
    digits = 2 if name == "NCI1" else 1
    assert (round(triangles.mean(), digits), np.median(triangles)) == tu.TU_SETS[name].triangles
    assert all(x.shape[1] == features for x in data.complexes.union.x)


@with_data
@pytest.mark.parametrize("name", ["PROTEINS", "IMDB-MULTI"])
def test_a_right_download_is_kept(name, tmp_path, monkeypatch):
    """Served by another edition of the archive, with every edge listed twice."""
    with zipfile.ZipFile(Path(os.environ["MPSN_DATA"]) / f"tu/{name}.zip") as file:
        files = {place: file.read(place).decode() for place in file.namelist()}
    expected = TU(name).complexes
    files[f"{name}/raw/{name}_A.txt"] *= 2
    content = write_zip(tmp_path / "x.zip", files).read_bytes()
    serve(monkeypatch, content)
    assert TU(name).complexes == expected
    assert (tmp_path / f"cache/mpsn/tu/{name}.zip").read_bytes() == content
