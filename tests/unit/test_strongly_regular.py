"""Strongly regular families: constructed, read, downloaded, refused."""

import hashlib
import io
import os

import networkx as nx
import pytest

from mpsn import MPSNError, clique_complexes
from mpsn.datasets import NAMED_GRAPHS, SR_FAMILIES, named_graph, strongly_regular
from mpsn.datasets._sources import locate
from mpsn.wl import equivalence_classes, isomorphic

CONSTRUCTED = {
    (16, 6, 2, 2): (32, 96, 64, 8),
    (25, 12, 5, 6): (375, 2250, 3750, 1255, 69),
    (28, 12, 6, 4): (112, 672, 1344, 1008, 336, 67, 8),
}


@pytest.mark.parametrize("parameters", CONSTRUCTED, ids=str)
def test_constructed_families_are_complete_and_without_repeats(parameters):
    graphs = strongly_regular(*parameters)
    assert len(graphs) == SR_FAMILIES[parameters].size
    assert clique_complexes(graphs, None).union.counts == CONSTRUCTED[parameters]
    assert len(equivalence_classes(graphs, "swl").truth) == len(graphs)
    n, d, lam, mu = parameters
    for graph in graphs:
        G = nx.Graph(graph.edge_index.T.tolist())
        for u in G:
            assert G.degree(u) == d
            for v in range(u):
                common = len(set(G[u]) & set(G[v]))
                assert common == (lam if G.has_edge(u, v) else mu)
        assert len(G) == n


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs local data: set MPSN_DATA")
@pytest.mark.parametrize("parameters", CONSTRUCTED, ids=str)
def test_constructed_families_are_those_of_the_files(parameters):
    path = f"{os.environ['MPSN_DATA']}/sr/sr{''.join(map(str, parameters))}.g6"
    theirs, ours = nx.read_graph6(path), strongly_regular(*parameters)
    found = equivalence_classes([*ours, *theirs], "swl").truth
    assert found == [[i, next(j for j in group if j != i)] for i, group in enumerate(found)]
    assert len(found) == len(ours) == len(theirs)


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs local data: set MPSN_DATA")
def test_families_from_files():
    assert len(strongly_regular(26, 10, 3, 4)) == 10
    assert len(strongly_regular(26, 10, 3, 4, data=os.environ["MPSN_DATA"])) == 10


def test_bad_files_are_refused(tmp_path):
    (tmp_path / "sr").mkdir()
    path = tmp_path / "sr" / "sr261034.g6"
    nx.write_graph6(nx.cycle_graph(26), path)
    with pytest.raises(MPSNError, match=r"graph 0 is not; get a good copy from https://"):
        strongly_regular(26, 10, 3, 4, data=tmp_path)
    nx.write_graph6(nx.cycle_graph(25), path)
    with pytest.raises(MPSNError, match="graph 0 is not"):
        strongly_regular(26, 10, 3, 4, data=tmp_path)


def test_unknown_families():
    with pytest.raises(MPSNError, match=r"\(40, 12, 2, 4\), got \(10, 3, 0, 1\)"):
        strongly_regular(10, 3, 0, 1)


@pytest.fixture
def source(monkeypatch, tmp_path):
    """An internet with one file."""
    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = []

    def urlopen(url, timeout):
        asked.append(url)
        if not url.endswith("good"):
            raise OSError("no route to host")
        return io.BytesIO(b"content")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    return asked


def test_downloads_are_checked_and_kept(source):
    checksum = hashlib.sha256(b"content").hexdigest()
    path = locate("sr/file", "https://x/good", checksum)
    assert path.read_bytes() == b"content"
    assert locate("sr/file", "https://x/good", checksum) == path
    assert source == ["https://x/good"]
    assert [p.name for p in path.parent.iterdir()] == ["file"]
    with pytest.raises(MPSNError, match="SHA-256 0000"):
        locate("sr/other", "https://x/good", "0000")


def test_what_to_do_when_a_download_fails(source):
    with pytest.raises(MPSNError, match=r"no route to host; .*DIR/sr/sr401224.g6.*MPSN_DATA=DIR"):
        strongly_regular(40, 12, 2, 4)
    assert len(strongly_regular(16, 6, 2, 2)) == 2


def test_local_copies_come_first(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    assert locate("file", "https://x/good", "", data=tmp_path).read_text() == "mine"
    monkeypatch.setenv("MPSN_DATA", str(tmp_path))
    assert locate("file", "https://x/good", "").read_text() == "mine"
    assert source == []


@pytest.mark.parametrize("name", NAMED_GRAPHS)
def test_named_graphs(name):
    graph = named_graph(name)
    assert graph.num_nodes >= 6
    known = {
        "rook4x4": nx.line_graph(nx.complete_bipartite_graph(4, 4)),
        "t8": nx.line_graph(nx.complete_graph(8)),
        "decalin": nx.Graph([*nx.cycle_graph(10).edges, (0, 5)]),
    }
    if name in known:
        assert isomorphic(graph, known[name])
    with pytest.raises(MPSNError, match=r"among hexagon, two-triangles, .*, got 'pentagon'"):
        named_graph("pentagon")
