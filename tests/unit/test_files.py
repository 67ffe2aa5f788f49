"""Every file format, whole, damaged and empty."""

import gzip
import json
import os
import tracemalloc

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mpsn import clique_complex, clique_complexes
from mpsn._files.npz import read_arrays
from mpsn.convert import as_graph
from mpsn.datasets import read_graphs
from mpsn.datasets._files import ENDINGS
from mpsn.errors import FileError, LeftOut, TooLargeError
from mpsn.testing import graphs

KARATE = nx.karate_club_graph()


def write(graph, path):
    """Write a graph in the format its path's ending says."""
    suffix = path.suffix
    if suffix in (".g6", ".graph6"):
        nx.write_graph6(graph, path)
    elif suffix in (".s6", ".sparse6"):
        nx.write_sparse6(graph, path)
    elif suffix == ".json":
        path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    elif suffix == ".graphml":
        nx.write_graphml(graph, path)
    elif suffix == ".gexf":
        nx.write_gexf(graph, path)
    elif suffix == ".gml":
        nx.write_gml(graph, path)
    elif suffix == ".npz":
        scipy.sparse.save_npz(path, nx.to_scipy_sparse_array(graph, weight=None))
    else:
        between = {".csv": ",", ".tsv": "\t"}.get(suffix, " ")
        lines = [f"{u}{between}{v}{between}0.5" for u, v in graph.edges()]
        path.write_text("\n".join(["# a comment", *lines, "% another", ""]))
    return path


@pytest.mark.parametrize("suffix", ENDINGS)
def test_every_format_reads_the_same_graph(tmp_path, suffix):
    (graph,) = read_graphs(write(KARATE, tmp_path / f"karate{suffix}"))
    expected = clique_complex(KARATE, max_dim=None)
    found = clique_complex(graph, max_dim=None)
    assert found.counts == expected.counts
    assert nx.is_isomorphic(found.to_networkx(), KARATE)


@pytest.mark.parametrize("suffix", [".g6", ".s6"])
@pytest.mark.parametrize("header", [True, False])
def test_many_graphs_in_a_file(tmp_path, suffix, header):
    items = [nx.gnp_random_graph(n, 0.5, seed=n) for n in (1, 5, 20, 70)]
    to_bytes = nx.to_graph6_bytes if suffix == ".g6" else nx.to_sparse6_bytes
    path = tmp_path / f"many{suffix}"
    path.write_bytes(b"".join(to_bytes(graph, header=header) for graph in items))
    assert list(clique_complexes(read_graphs(path))) == list(clique_complexes(items))


@pytest.mark.parametrize("suffix", [".g6", ".s6"])
@given(graph=graphs(max_nodes=12))
def test_lines_are_read_as_networkx_reads_them(tmp_path_factory, suffix, graph):
    path = write(graph, tmp_path_factory.mktemp("lines") / f"graph{suffix}")
    read = nx.read_graph6 if suffix == ".g6" else nx.read_sparse6
    assert clique_complex(read_graphs(path)[0], 1) == clique_complex(read(path), 1)


def test_sizes_of_graph6_and_sparse6(tmp_path):
    for n in (0, 1, 2, 62, 63, 64, 200):
        for suffix in (".g6", ".s6"):
            path = write(nx.path_graph(n), tmp_path / f"path{suffix}")
            assert clique_complex(read_graphs(path)[0], 1) == clique_complex(nx.path_graph(n), 1)
    path.write_bytes(b":~~~~~~~~\n")  # 2^36 - 1 vertices, no edge
    with pytest.raises(TooLargeError, match="68,719,476,735 vertices"):
        read_graphs(path)


def test_entities_and_doctypes_are_refused(tmp_path):
    path = write(KARATE, tmp_path / "karate.graphml")
    text = path.read_text()
    start = text.index("<graphml")
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    for doctype in (bomb, '<!DOCTYPE x SYSTEM "file:///etc/passwd">'):
        for encoding in ("utf-8", "utf-16"):
            said = f'<?xml version="1.0" encoding="{encoding}"?>{doctype}{text[start:]}'
            path.write_bytes(said.encode(encoding))
            with pytest.raises(FileError, match="without a DOCTYPE"):
                read_graphs(path)


def test_archives_that_unpack_to_too_much(tmp_path):
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, edge_index=np.zeros((2, 10**7), np.int64))
    with pytest.raises(TooLargeError, match="at most 1,000,000 bytes"):
        read_arrays(path, 10**6)
    assert path.stat().st_size < 10**6


def test_large_files_and_odd_ones(tmp_path):
    path = write(KARATE, tmp_path / "karate.graphml")
    with pytest.raises(TooLargeError, match=r"at most 10 bytes, .* raise max_bytes"):
        read_graphs(path, max_bytes=10)
    assert len(read_graphs(path, max_bytes=path.stat().st_size)) == 1
    for name, most in (("a.g6", 1 << 30), ("a.json", 1 << 28), ("a.csv", 1 << 28)):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, most + 1)  # takes no room on the disk
        with pytest.raises(TooLargeError, match=f"at most {most:,} bytes"):
            read_graphs(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.g6")
    with pytest.raises(FileError, match="got a pipe or device"):
        read_graphs(tmp_path / "pipe.g6")


@pytest.mark.parametrize("offsets", [(0, 10**6, -5, 3), (0, 2, 3, 0), (1, 1, 2, 3), (0, 1, 2, 4)])
def test_sparse_matrices_with_bad_offsets(tmp_path, offsets):
    path = tmp_path / "matrix.npz"
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.indptr[:] = offsets
    scipy.sparse.save_npz(path, matrix)
    with pytest.raises(FileError, match="damaged"):
        read_graphs(path)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia", "bsr"])
def test_sparse_matrices_of_all_formats(tmp_path, kind):
    path = tmp_path / "matrix.npz"
    scipy.sparse.save_npz(path, nx.to_scipy_sparse_array(KARATE, format=kind))
    if kind in ("dia", "bsr"):
        with pytest.raises(FileError, match="csr, csc or coo"):
            read_graphs(path)
    else:
        assert clique_complex(read_graphs(path)[0]) == clique_complex(KARATE)


def test_names_in_an_edge_list(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("ann bob\nbob carl 7 weights\n\ndora\n")
    with pytest.warns(LeftOut, match="Columns 3, 4 of an edge list are not used"):
        K = clique_complex(read_graphs(path)[0])
    assert K.vertex_labels == ("ann", "bob", "carl", "dora")
    assert K.counts == (4, 2)
    path.write_text("1000000000000 3\n3 5")
    K = clique_complex(read_graphs(path)[0])
    assert K.vertex_labels == (3, 5, 10**12)
    assert K.simplices(1).tolist() == [[0, 1], [0, 2]]


def test_arrays_in_an_npz(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, edge_index=np.array([[0, 1], [1, 2]]), num_nodes=4)
    assert clique_complex(read_graphs(path)[0]).counts == (4, 2)
    np.savez(path, edge_index=np.array([[0, 1], [1, 2]]))
    assert clique_complex(read_graphs(path)[0]).counts == (3, 2)


@pytest.mark.parametrize("suffix", ENDINGS)
def test_empty_and_missing_files(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    with pytest.raises(FileError, match="got nothing"):
        read_graphs(path)
    path.write_bytes(b"")
    with pytest.raises(FileError, match="Expected"):
        read_graphs(path)


@pytest.mark.parametrize("suffix", [".g6", ".graphml", ".npz"])
def test_truncated_files(tmp_path, suffix):
    path = write(KARATE, tmp_path / f"karate{suffix}")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileError, match="damaged or of another kind"):
        read_graphs(path)


@pytest.mark.filterwarnings("ignore::mpsn.errors.LeftOut")
@pytest.mark.parametrize("suffix", ENDINGS)
@given(noise=st.binary(max_size=60))
def test_noise_is_an_error_or_a_graph(tmp_path_factory, suffix, noise):
    path = tmp_path_factory.mktemp("noise") / f"noise{suffix}"
    path.write_bytes(noise)
    try:
        found = read_graphs(path)
    except FileError:
        return
    assert found
    for graph in map(as_graph, found):
        ends = graph.edge_index
        assert ends.shape[0] == 2
        assert not ends.numel() or 0 <= ends.min() <= ends.max() < graph.num_nodes


@given(graphs(max_nodes=8))
def test_graph6_round_trip(tmp_path_factory, graph):
    path = write(graph, tmp_path_factory.mktemp("g6") / "graph.g6")
    assert clique_complex(read_graphs(path)[0], None) == clique_complex(graph, None)


def test_other_endings_and_contents(tmp_path):
    with pytest.raises(FileError, match=r"ending in \.g6.*got 'graph\.docx'"):
        read_graphs(tmp_path / "graph.docx")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(FileError, match="edge_index and num_nodes, got arrays a"):
        read_graphs(tmp_path / "other.npz")
    np.savez(tmp_path / "pickle.npz", edge_index=np.array([print], dtype=object))
    with pytest.raises(FileError, match="an array of numbers or text"):
        read_graphs(tmp_path / "pickle.npz")
    (tmp_path / "folder.g6").mkdir()
    with pytest.raises(FileError, match="got a folder"):
        read_graphs(tmp_path / "folder.g6")


def cut_off(content, cuts, read, path):
    """Return how many of the shortened files are read."""
    kept = 0
    for cut in cuts:
        path.write_bytes(content[:cut])
        try:
            read(path)
            kept += 1
        except FileError:
            pass
    return kept


def test_sparse6_that_is_cut_off(tmp_path):
    """Most cuts leave bits that are no padding; the others give a graph with fewer edges."""
    graph = nx.gnm_random_graph(500, 1500, seed=0)
    content = nx.to_sparse6_bytes(graph, header=False).strip()
    path = tmp_path / "graph.s6"
    cuts = range(5, len(content), 7)
    assert cut_off(content, cuts, read_graphs, path) < 0.62 * len(cuts)  # was: all of them
    for n in (2, 3, 4, 8, 15, 16, 17, 32, 33, 64):  # whole ones are read, whatever their padding
        for m in range(0, 2 * n, 1 + n // 4):
            graph = nx.gnm_random_graph(n, m, seed=m)
            path.write_bytes(nx.to_sparse6_bytes(graph))
            assert clique_complex(read_graphs(path)[0], 1) == clique_complex(graph, 1)


@pytest.mark.parametrize("header", ["", "source,target,weight\n"])
def test_an_edge_list_cut_in_its_last_line(tmp_path, header):
    path = tmp_path / "graph.csv"
    path.write_text(header + "0,1,0.5\n1,2,0.25\n2,3")
    with pytest.raises(FileError, match="the last, is cut off after 2 of 3 cells"):
        read_graphs(path)


@pytest.mark.parametrize("text", ["0,1\n1", "0,1\n1\n", "0;1\n1\n", "0\t1\n1\n"])
def test_a_single_name_on_the_last_line(tmp_path, text):
    path = tmp_path / "graph.csv"
    path.write_text(text)
    with pytest.raises(FileError, match="line 2, the last, is cut off after 1 of 2 cells"):
        read_graphs(path)
    path.write_text("0 1\n2\n")
    assert read_graphs(path)[0].num_nodes == 3


def test_links_to_nodes_that_are_not_listed(tmp_path):
    data = nx.node_link_data(nx.path_graph(3), edges="links")
    data["links"].append({"source": 0, "target": "ghost"})
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(data))
    with pytest.raises(FileError, match="links between listed nodes, got one to 'ghost'"):
        read_graphs(path)


@pytest.mark.parametrize("text", ["0,1\n,2\n", "0,1\n2 3\n", "source,target\n0,1\n2,,5\n"])
def test_edge_lists_with_gaps(tmp_path, text):
    path = tmp_path / "graph.csv"
    path.write_text(text)
    with pytest.raises(FileError, match="damaged or of another kind"):
        read_graphs(path)


BOMBS = {  # content, and the most memory that reading it may take, in bytes per byte
    "words.edgelist": (b"".join(b"v%d v%d\n" % (i, i + 1) for i in range(20000)), 40),
    "pairs.edgelist": (b"1 2\n" * 20000, 25),
    "long.edgelist": (b"x" * 200000 + b" y\n" + b"1 2\n" * 10000, 25),
    "steps.s6": (b":A" + b"?" * 300000 + b"\n", 60),  # three edges per character
    "attribute.graphml": (
        b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
        b'<node id="' + b"a" * 10**6 + b'"/></graph></graphml>',
        20,
    ),
    "nodes.graphml": (
        b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
        + b"".join(b'<node id="%d"/>' % i for i in range(20000))
        + b"</graph></graphml>",
        60,
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_in_proportion_to_the_file(tmp_path, name):
    content, most = BOMBS[name]
    path = tmp_path / name
    path.write_bytes(content)
    tracemalloc.start()
    try:
        (graph,) = read_graphs(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert as_graph(graph).num_nodes > 0
    assert peak < most * len(content)


def test_dense_graph6_is_refused_before_its_edges_are_written(tmp_path):
    n = 6000  # 18 million edges in 3 MB, which take 288 MB
    bits = n * (n - 1) // 2
    size = bytes(63 + (n >> shift & 63) for shift in (12, 6, 0))
    (tmp_path / "dense.g6").write_bytes(b"~" + size + b"~" * (bits // 6) + b"\n")
    tracemalloc.start()
    with pytest.raises(TooLargeError, match="17,997,000 edges"):
        read_graphs(tmp_path / "dense.g6")
    assert tracemalloc.get_traced_memory()[1] < 5e7
    tracemalloc.stop()
    line = nx.to_graph6_bytes(nx.complete_graph(600), header=False)
    (tmp_path / "many.g6").write_bytes(line * 100)  # 18 million edges in all
    with pytest.raises(TooLargeError, match="94 graphs"):
        read_graphs(tmp_path / "many.g6")


def test_compressed_files_unpack_within_limits(tmp_path):
    path = tmp_path / "zeros.g6.gz"
    path.write_bytes(gzip.compress(b"?" * (1 << 25)))
    with pytest.raises(TooLargeError, match=r"at most 3,263,600 bytes .* unpack it"):
        read_graphs(path)
    for content in (b"junk", gzip.compress(b"Bw\n")[:-9]):
        path.write_bytes(content)
        with pytest.raises(FileError, match="damaged"):
            read_graphs(path)
