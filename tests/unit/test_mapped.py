"""Datasets that are opened where they lie, and written complex by complex."""

import pickle
import sys
import time

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpsn import ComplexDataset, clique_complex, clique_complexes, ring_complex, ring_complexes
from mpsn._files.npz import write_arrays
from mpsn.errors import ComplexError, FileError
from mpsn.testing import complexes
from processes import finish, start

KINDS = ["simplicial", "cell", "cubical"]


def some(kind):
    return st.lists(complexes(max_vertices=5, features=2, kind=kind), max_size=5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk", [1, 100])
def test_written_in_pieces_opened_and_loaded_are_the_same(tmp_path_factory, kind, chunk):
    path = tmp_path_factory.mktemp("mapped") / "data.npz"

    @settings(max_examples=20)
    @given(some(kind), st.data())
    def check(items, data):
        items = [K.replace(y=[[i, 1]]) for i, K in enumerate(items)]
        opened = ComplexDataset.write(path, iter(items), chunk)
        assert list(opened) == items
        assert ComplexDataset.load(path) == opened
        assert pickle.loads(pickle.dumps(opened)) == opened
        index = data.draw(st.lists(st.integers(0, len(items) - 1))) if items else []
        assert opened.batch(index).to_list() == [items[i] for i in index]
        opened.save(path)  # in the place of the file that is open
        assert ComplexDataset.open(path) == opened

    check()


def test_dimensions_and_features_that_come_late(tmp_path):
    items = [clique_complex(nx.path_graph(2)), clique_complex(nx.complete_graph(4))]
    features = [torch.ones(K.count(2), 3) for K in items]
    items = [K.replace(x=[None, None, x]) for K, x in zip(items, features, strict=True)]
    assert list(ComplexDataset.write(tmp_path / "a.npz", items * 2, chunk=1)) == items * 2


def test_what_a_file_in_pieces_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    one = clique_complex(nx.path_graph(3))
    for bad in (
        [one, one.replace(y=1)],
        [one.replace(x=[torch.ones(3, 1)]), one],
        [one.replace(x=[torch.ones(3, 1)]), one.replace(x=[torch.ones(3, 2)])],
        [one.replace(vertex_labels=("a", "b", "c"))],
        [one.flip({1: torch.tensor([True, False])})],
        [one, ring_complex(nx.path_graph(3), max_ring=4)],
        [one.replace(x=[torch.ones(3, 1, dtype=torch.bfloat16)])],
    ):
        with pytest.raises(ComplexError):
            ComplexDataset.write(path, bad, chunk=1)
        assert not list(tmp_path.iterdir())


def spoil(path, last, new):
    """Overwrite the last place of some bytes in a file."""
    content = bytearray(path.read_bytes())
    place = content.rindex(last)
    content[place : place + len(last)] = new
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["simplicial", "cell"])
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("face", [-1, 2, 6, 1 << 50])
def test_every_face_is_checked_when_a_file_is_opened(tmp_path, kind, dim, face):
    """Also that it is in the same complex of the union: faces 0 to 2 are those of another."""
    path, lift = tmp_path / "a.npz", clique_complexes if kind == "simplicial" else ring_complexes
    data = lift([nx.complete_graph(3)] * 2)
    data.save(path)
    assert ComplexDataset.open(path) == data
    last = data.union.incidence(dim).face[-3:].clone()
    changed = last.clone()
    changed[1] = face
    spoil(path, last.numpy().tobytes(), changed.numpy().tobytes())
    for read in (ComplexDataset.open, ComplexDataset.load):
        with pytest.raises(FileError):
            read(path)


@pytest.mark.parametrize("sign", [0, 2, -128])
def test_every_sign_is_checked_when_a_file_is_opened(tmp_path, sign):
    path = tmp_path / "a.npz"
    data = ring_complexes([nx.cycle_graph(5)] * 2)
    data.save(path)
    last = data.union.incidence(2).signs.numpy().tobytes()
    spoil(path, last, last[:-1] + np.int8(sign).tobytes())
    with pytest.raises(FileError, match="signs"):
        ComplexDataset.open(path)


def test_batches_touch_only_their_pages(tmp_path):
    """The rest of the file may hold anything: features are checked when they are used."""
    path = tmp_path / "a.npz"
    data = clique_complexes([nx.complete_graph(5)] * 2000)
    data = ComplexDataset(data.union.replace(x=[torch.arange(10000.0)[:, None]]))
    data.save(path)
    last = data.union.x[0][-1:].numpy().tobytes()
    spoil(path, last, np.float32(np.nan).tobytes())
    opened = ComplexDataset.open(path)
    assert opened.batch([0, 7]) == data.batch([0, 7])
    assert opened[7] == data[7]
    for read in (lambda: opened.batch([1999]), lambda: opened[1999], lambda: list(opened)):
        with pytest.raises(FileError, match="write it again"):
            read()
    with pytest.raises(FileError):
        ComplexDataset.load(path)


def test_truncated_compressed_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    clique_complexes([nx.complete_graph(4)] * 50).save(path)
    whole = path.read_bytes()
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError):
            ComplexDataset.open(path)
    path.write_bytes(whole)
    with np.load(path) as file:
        arrays = dict(file)
    for change in (
        {"ptr_1": arrays["ptr_1"][::-1].copy()},
        {"ptr_1": arrays["ptr_1"].astype(np.float64)},
        {"faces_1": arrays["faces_1"].astype(np.int32)},
        {"faces_1": arrays["faces_1"][:-1]},
        {"x_0": np.zeros((3, 1))},
        {"y": np.zeros(7), "y_ptr": arrays["ptr_0"]},
        {"signs_1": np.ones(300, np.int8)},
        {"faces_2": np.asfortranarray(arrays["faces_2"])},
    ):
        with path.open("wb") as file:
            write_arrays(file, {**arrays, **change})
        with pytest.raises(FileError):
            ComplexDataset.open(path)
    np.savez_compressed(path, **arrays)
    with pytest.raises(FileError, match="compression"):
        ComplexDataset.open(path)
    with pytest.raises(FileError, match="found no file"):
        ComplexDataset.open(tmp_path / "nothing.npz")


WRITE = """
import sys, torch, mpsn, networkx as nx
one = mpsn.clique_complex(nx.complete_graph(8))
def many():
    while True:
        print("writing", flush=True)
        yield one
mpsn.ComplexDataset.write(sys.argv[1], many())
"""


def test_a_killed_writer_leaves_nothing(tmp_path):
    said, folder = tmp_path / "said", tmp_path / "data"
    folder.mkdir()
    process = start(WRITE, folder / "a.npz", said=said)
    while not said.exists() or "writing" not in said.read_text():
        assert process.is_alive()
        time.sleep(0.01)
    time.sleep(0.2)
    process.kill()
    process.join()
    assert not list(folder.iterdir())


READ = """
import resource, sys, torch, mpsn
torch.set_num_threads(1)
mpsn.ComplexDataset.open(sys.argv[1]).batch([0])
used = next(int(s.split()[1]) for s in open("/proc/self/status") if s.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[2]), used + int(sys.argv[2])))
data, total = mpsn.ComplexDataset.open(sys.argv[1]), 0.0
for at in torch.randperm(len(data)).split(10):
    total += float(data.batch(at).x[1].sum())
print(int(total))
try:
    mpsn.ComplexDataset.load(sys.argv[1])
except (MemoryError, RuntimeError, ValueError):
    print("too large")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as on Linux")
def test_a_dataset_larger_than_memory_is_read_in_batches(tmp_path):
    """An epoch with a tenth of the dataset's size as memory."""
    path = tmp_path / "a.npz"
    K = clique_complex(nx.path_graph(400)).replace(x=[None, torch.ones(399, 50)])
    ComplexDataset.write(path, (K for _ in range(2000)))
    size = path.stat().st_size
    assert size > 100 << 20
    said = finish(READ, path, size // 10, said=tmp_path / "said")
    assert said.splitlines() == [str(2000 * 399 * 50), "too large"]
