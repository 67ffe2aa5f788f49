"""Readers that benchmarks/fuzz.py does not attack, and bugs of ours, which are no damaged files."""

import json
import os
import re
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from fuzz_mutants import mutate

import mpsn
from mpsn.datasets import ocean_drifters, read_collection, read_complex
from mpsn.errors import LeftOut, MPSNError
from mpsn_reproduction.settings import load
from toy_experiment import ToyConfig

MANY = 400
MOST_BYTES = 50_000_000  # that Python and numpy may allocate to read one of these small files
MOST_RESIDENT = 300_000  # kB by which the process may grow meanwhile, torch included
PROCESS = Path("/proc/self")


def mutants(content):
    rng = np.random.default_rng(0)
    for i in range(MANY):
        yield mutate(content, rng) if i % 10 else rng.bytes(rng.integers(0, 200))


def reset_peaks():
    """Start to measure anew; return what is allocated now, by tracemalloc and by the kernel."""
    tracemalloc.reset_peak()
    if (PROCESS / "clear_refs").exists():
        (PROCESS / "clear_refs").write_text("5")
    return tracemalloc.get_traced_memory()[0], largest_resident()


def largest_resident():
    """Return the peak of resident memory since the last reset in kB; 0 but on Linux."""
    if not (PROCESS / "clear_refs").exists():
        return 0
    return int(re.search(r"VmHWM:\s*(\d+)", (PROCESS / "status").read_text())[1])


def survives(read, path, content):
    """Check that a reader reads the file, and survives its mutants."""
    path.write_bytes(content)
    read(path)
    read_well, said = 0, [""]
    tracemalloc.start()
    try:
        for mutant in mutants(content):
            path.write_bytes(mutant)
            traced, resident = reset_peaks()
            try:
                read(path)
                read_well += 1
            except MPSNError as error:
                said.append(str(error))
            assert tracemalloc.get_traced_memory()[1] - traced < MOST_BYTES, mutant[:1000]
            assert largest_resident() - resident < MOST_RESIDENT, mutant[:1000]
    finally:
        tracemalloc.stop()
    assert max(map(len, said)) < 2000
    assert 0 < read_well < MANY  # some mutants are worse than others


@pytest.mark.parametrize(
    ("allocate", "limit"), [(np.empty, MOST_BYTES), (torch.ones, MOST_RESIDENT)]
)
def test_memory_is_measured_file_by_file(tmp_path, allocate, limit):
    """A reader that trusts a size in its file is caught, whatever was allocated before."""
    if allocate is torch.ones and not (PROCESS / "clear_refs").exists():
        pytest.skip("torch's memory is measured on Linux only")
    torch.ones(10**8)

    def trusting(path):
        digits = [byte - 48 for byte in path.read_bytes() if 48 <= byte <= 57]
        if not digits:
            raise MPSNError("Expected a size.")
        allocate(10**7 * max(digits))

    with pytest.raises(AssertionError, match=f"< {limit}"):
        survives(trusting, tmp_path / "size.txt", b"size 0\n")


def tu_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("TOY/TOY_A.txt", "1, 2\n2, 3\n1, 3\n4, 5\n")
        archive.writestr("TOY/TOY_graph_indicator.txt", "1\n1\n1\n2\n2\n")
        archive.writestr("TOY/TOY_graph_labels.txt", "-1\n1\n")
        archive.writestr("TOY/TOY_node_labels.txt", "7\n8\n7\n9\n9\n")
        archive.writestr("TOY/TOY_edge_attributes.txt", "0.5\n1e3\n-2\n0\n")


OURS = {  # what restores the content of a file, and how a user reads the file
    "graph.g6": ("mpsn.datasets._graph6.Graph", mpsn.read_graphs),
    "graph.s6": ("mpsn.datasets._graph6.Graph", mpsn.read_graphs),
    "graph.edgelist": ("mpsn.datasets._edge_lists.Graph", mpsn.read_graphs),
    "graph.json": ("mpsn.datasets._files._has_attributes", mpsn.read_graphs),
    "graph.graphml": ("mpsn.datasets._files._has_attributes", mpsn.read_graphs),
    "data.npz": ("mpsn.complexes._saving.check_offsets", mpsn.ComplexDataset.load),
    "TOY.zip": ("mpsn.datasets._collections.split_raw", lambda p: list(read_collection([p]))),
    "K.simplices": ("mpsn.datasets._simplices.named_complex", read_complex),
    "labels.csv": ("mpsn.datasets._tables.typed", lambda p: read_collection([p.parent])),
}


@pytest.mark.parametrize("error", [AttributeError, TypeError])
@pytest.mark.parametrize("name", OURS)
def test_a_bug_of_ours_is_not_a_damaged_file(tmp_path, monkeypatch, name, error):
    path, (restoring, read) = tmp_path / name, OURS[name]
    nx.write_graph6(nx.path_graph(3), tmp_path / "a.g6")
    if name == "data.npz":
        mpsn.clique_complexes([nx.path_graph(3)]).save(path)
    elif name == "TOY.zip":
        tu_archive(path)
    elif name == "labels.csv":
        path.write_text("graph,kind\na,3\n")
    else:
        path.write_bytes(content_of(path))
    read(path)

    def bug(*_, **__):
        raise error("a bug")

    monkeypatch.setattr(restoring, bug)
    with pytest.raises(error, match="a bug"):
        read(path)


def content_of(path):
    """Return a small graph in the format of a path."""
    graph = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3), (5, 6)])
    nx.set_node_attributes(graph, {v: v / 3 for v in graph}, "mass")
    if path.suffix == ".graphml":
        return "\n".join(nx.generate_graphml(graph)).encode()
    if path.suffix == ".gexf":
        return "\n".join(nx.generate_gexf(graph)).encode()
    if path.suffix == ".gml":
        return "\n".join(nx.generate_gml(graph)).encode()
    if path.suffix == ".json":
        return json.dumps(nx.node_link_data(graph, edges="links")).encode()
    if path.suffix == ".g6":
        return nx.to_graph6_bytes(graph) + nx.to_graph6_bytes(nx.path_graph(70), header=False)
    if path.suffix == ".s6":
        return nx.to_sparse6_bytes(graph) + nx.to_sparse6_bytes(nx.path_graph(70), header=False)
    if path.suffix == ".csv":
        return b"from,to\n0,1\n1,2\n0,2\n5,6\n"
    return b"# names\nann bob 0.5\nbob carl 1\ndora\n"


@pytest.mark.parametrize("name", ["K.simplices", "K.json"])
def test_lists_of_simplices(tmp_path, name):
    content = b"ann bob cat\n# pairs\ncat, dan\neve\n"
    if name == "K.json":
        rows = [
            {"vertices": ["cat", "dan"], "weight": 0.5},
            {"vertices": ["bob", "ann"], "weight": 2},
        ]
        simplices = [["ann", "bob", "cat"], ["cat", "dan"], ["eve"]]
        content = json.dumps({"simplices": simplices, "attributes": rows}).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOut)
        survives(read_complex, tmp_path / name, content)


def test_attributes_of_cells(tmp_path):
    (tmp_path / "K.simplices").write_text("ann bob cat\ncat dan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOut)
        survives(
            lambda path: read_complex(tmp_path / "K.simplices", [path], max_dim=2),
            tmp_path / "x.csv",
            b"a,b,weight,kind\nann,bob,0.5,x\ncat,dan,2,y\n",
        )


def test_configs(tmp_path):
    content = b"scale = 1.5\nepochs = 3\nsizes = [1, 2]\n[inner]\nwidth = 2\n"
    survives(lambda p: load(ToyConfig, p), tmp_path / "row.toml", content)


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs MPSN_DATA")
def test_ocean_drifters(tmp_path):
    """The map and a few paths of the real file: reading all of its paths takes half a second."""
    h5py = pytest.importorskip("h5py")
    (tmp_path / "ocean").mkdir()
    path = tmp_path / "ocean" / "dataBuoys.jld2"
    given = Path(os.environ["MPSN_DATA"]) / "ocean" / "dataBuoys.jld2"
    with h5py.File(given) as old, h5py.File(path, "w") as new:
        for name in ("elist", "tlist", "HexcentersXY"):
            new[name] = old[name][()]
        paths = [old[at][()] for at in old["TrajectoriesNodes"][:12]]
        for i, nodes in enumerate(paths):
            new[f"path {i}"] = [
                new.create_dataset(f"node {i} {j}", data=old[at][()]).ref
                for j, at in enumerate(nodes)
            ]
        new["TrajectoriesNodes"] = [new[f"path {i}"].ref for i in range(12)]
    survives(lambda _: ocean_drifters(data=tmp_path), path, path.read_bytes())
