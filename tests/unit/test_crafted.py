"""Small files made to break a reader, found from outside: each is refused, in words."""

import io
import json
import zipfile

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import mpsn
from mpsn.cli import app
from mpsn.datasets import read_collection
from mpsn.errors import FileError, MPSNError, TooLargeError


def command(*words):
    """Run a command that must end with a message, not with a traceback."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(done.exception, MPSNError), done.exception
    return str(done.exception)


def npy(header, content=bytes(32)):
    text = header.encode().ljust(118)
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


HEADERS = {
    "cut off": "{'descr': '<f8', 'fortran_order': False, 'shape': (2,",
    "a token": "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), } \x00'",
    "a call": "{'descr': '<f8', 'fortran_order': False, 'shape': (len('ab'), 2), }",
    "a type of words": "{'descr': '<f8', 'fortran_order': False, 'shape': ('a', 2), }",
    "a shape that is none": "{'descr': '<f8', 'fortran_order': False, 'shape': 4, }",
    "a number too many": "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), 'x': 1, }",
    "no order": "{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 2), }",
    "a key twice": "{'descr': '<f8', 'descr': '<f8', 'shape': (2, 2), }",
    "an unknown type": "{'descr': '<f3', 'fortran_order': False, 'shape': (2, 2), }",
    "text of no width": "{'descr': '<U0', 'fortran_order': False, 'shape': (2, 2), }",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (4,), }",
    "16 GiB": "{'descr': '<f8', 'fortran_order': False, 'shape': (32768, 65536), }",
    "288 PiB": "{'descr': '<f8', 'fortran_order': False, 'shape': (36028797018963968,), }",
    "2^100": f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**100},), }}",
    "nothing of 2^62": f"{{'descr': '<f8', 'fortran_order': False, 'shape': (0, {2**62}), }}",
    "65 axes": f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'1, ' * 65}), }}",
}


@pytest.mark.parametrize("how", ["alpha", "cubical", "dowker"])
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_headers_of_arrays(tmp_path, header, how):
    (tmp_path / "a.npy").write_bytes(npy(header))
    assert "a.npy" in command("lift", tmp_path / "a.npy", "--how", how)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_headers_that_are_sound(tmp_path, version):
    for array in (np.eye(3), np.asfortranarray(np.ones((2, 3))), np.ones((2, 2), ">i4")):
        with (tmp_path / "a.npy").open("wb") as file:
            np.lib.format.write_array(file, array, version=version)
        assert CliRunner().invoke(app, ["lift", str(file.name), "--how", "dowker"]).exit_code == 0


def packed(path):
    mpsn.clique_complexes([nx.path_graph(3), nx.cycle_graph(3)]).save(path)
    return path.read_bytes()


def test_directories_of_packed_files(tmp_path):
    """Bytes of the directory at the end of an archive are wrong, each in turn."""
    path = tmp_path / "data.npz"
    content = packed(path)
    with zipfile.ZipFile(path) as archive:
        start = archive.start_dir
    refused = 0
    for place in range(start, len(content), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        for read in (
            mpsn.ComplexDataset.open,
            mpsn.ComplexDataset.load,
            read_all,
            mpsn.read_graphs,
        ):
            try:
                read(path)
            except MPSNError:
                refused += 1
    assert refused > len(content[start:]) // 3


def read_all(path):
    return list(read_collection([path], labeled=False))


def test_what_is_no_archive(tmp_path):
    for content in (b"", b"PK", packed(tmp_path / "data.npz")[:-30]):
        (tmp_path / "data.npz").write_bytes(content)
        with pytest.raises(FileError, match="damaged or of another kind"):
            read_all(tmp_path / "data.npz")
        assert "damaged or of another kind" in command("show", tmp_path / "data.npz")


@pytest.mark.parametrize("stated", [16 << 30, 14 << 40])
def test_arrays_of_hdf5_that_are_larger_than_their_file(tmp_path, stated):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "ocean").mkdir()
    with h5py.File(tmp_path / "ocean/dataBuoys.jld2", "w") as file:
        file["elist"] = np.ones((2, 3), np.int64)
        file.create_dataset("tlist", (3, stated // 24), np.int64)  # its numbers are not stored
    with pytest.raises(FileError, match=r"damaged .*got fewer"):
        mpsn.datasets.ocean_drifters(data=tmp_path)


STL = """solid x
facet normal 0 0 1
 outer loop
  vertex 0 0 0
  vertex 1 0 0
  vertex 0 1 {last}
 endloop
endfacet
endsolid"""


@pytest.mark.parametrize("text", [STL.format(last="x"), STL.format(last="nan"), STL[:90], STL[:40]])
def test_stl_as_text(tmp_path, text):
    pytest.importorskip("trimesh")
    (tmp_path / "a.stl").write_text(text)
    command("lift", tmp_path / "a.stl", "--how", "mesh")


NODES = {"nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}


@pytest.mark.parametrize("attributes", [[], [["kind", "a"]], 5, "kind", None])
def test_attributes_of_a_json_graph(tmp_path, attributes):
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps({**NODES, "graph": attributes}))
    with pytest.raises(FileError, match="attributes of a graph by name"):
        list(read_collection([tmp_path], target="kind"))
    said = command("show", tmp_path / "a.json", "--html", tmp_path / "a.html")
    assert "attributes of a graph by name" in said


@pytest.mark.parametrize("label", [["a", "b"], [1], {"a": 1}, [[]]])
def test_labels_that_are_lists(tmp_path, label):
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps({**NODES, "graph": {"kind": label}}))
    with pytest.raises(FileError, match=r"as the label of a\.json"):
        list(read_collection([tmp_path], target="kind"))


@pytest.mark.parametrize("text", ["5", '"x"', "[[]]", "{}", '{"links": 5}', '{"links": [5]}'])
def test_json_that_is_no_graph(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    command("show", tmp_path / "a.json", "--html", tmp_path / "a.html")


def test_vertices_of_a_small_file_are_bounded(tmp_path):
    (tmp_path / "a.s6").write_bytes(b":~~?BOOOO\n")  # 53 million, and no edge
    with pytest.raises(TooLargeError, match="vertices"):
        mpsn.read_graphs(tmp_path / "a.s6")


def test_arrays_in_archives_have_the_size_of_their_files(tmp_path):
    with io.BytesIO() as out:
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("edge_index.npy", npy(HEADERS["288 PiB"]))
        (tmp_path / "a.npz").write_bytes(out.getvalue())
    with pytest.raises(FileError, match="fills its 32 bytes"):
        mpsn.read_graphs(tmp_path / "a.npz")


@pytest.mark.parametrize("array", [np.array([["a"]]), np.ones((2, 2), complex), np.ones((2, 2, 2))])
@pytest.mark.parametrize("how", ["dowker", "alpha"])
def test_arrays_that_are_no_relation_and_no_points(tmp_path, array, how):
    np.save(tmp_path / "a.npy", array)
    command("lift", tmp_path / "a.npy", "--how", how)
