"""Disjoint unions, the packed collection, and the loader."""

import pickle

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset
from torch_geometric.loader import DataLoader as PyGLoader

from mpsn import ComplexDataset, DataLoader, SimplicialComplex, clique_complex, collate
from mpsn.complexes import Complex
from mpsn.errors import ComplexError, FileError, TooLargeError
from mpsn.testing import complexes

many = st.lists(complexes(max_vertices=5, features=2, oriented=True), max_size=5)


def labelled(items):
    return [K.replace(y=i) for i, K in enumerate(items)]


@given(many)
def test_a_union_is_its_list(items):
    items = labelled(items)
    union = collate(items)
    assert union.num_complexes == len(items)
    assert union.to_list() == items
    assert collate(union.to_list()) == union
    for k in range(union.dim + 1):
        sizes = [K.count(k) for K in items]
        assert union.count(k) == sum(sizes)
        assert union.batch(k).tolist() == [i for i, n in enumerate(sizes) for _ in range(n)]
        blocks = [K.hodge_laplacian(k).to_dense() for K in items]
        assert torch.equal(union.hodge_laplacian(k).to_dense(), torch.block_diag(*blocks))


@given(many)
def test_a_union_passes_the_checks_of_a_complex(items):
    union = collate(items)
    tables = [union.faces(k) for k in range(1, union.dim + 1)]
    assert SimplicialComplex(union.num_nodes, tables).counts == union.counts


@given(many, many)
def test_unions_of_unions_are_flat(one, two):
    if not one or not two:
        return
    assert collate([collate(one), collate(two)]) == collate([*one, *two])


@given(many, st.data())
def test_picking_from_the_packed_collection_is_picking_from_the_list(items, data):
    items = labelled(items)
    packed = ComplexDataset(items)
    assert len(packed) == len(items)
    assert list(packed) == items
    index = data.draw(st.lists(st.integers(0, len(items) - 1))) if items else []
    assert packed.batch(index).to_list() == [items[i] for i in index]
    assert packed.batch(index).to_list() == list(packed[index])
    for i in range(-len(items), len(items)):
        assert packed[i] == items[i]


def test_ways_to_index():
    packed = ComplexDataset([clique_complex(nx.complete_graph(n)) for n in range(1, 6)])
    assert packed.counts.tolist()[3] == [4, 6, 4]
    by_mask = packed[torch.tensor([False, True, False, True, False])]
    assert by_mask == packed[[1, 3]] == packed[1:4:2] == packed[np.array([1, -2])]
    assert packed[[]].union.num_complexes == 0
    with pytest.raises(IndexError, match="below 5, got 5"):
        packed[5]
    with pytest.raises(ComplexError, match="complexes from -5 to 4, got 7 to 7"):
        packed.batch([7])


def test_nothing_collates_to_nothing():
    union = collate([])
    assert (union.num_complexes, union.dim, union.to_list()) == (0, -1, [])
    assert collate([SimplicialComplex(), SimplicialComplex(2)]).counts == (2,)


def test_labels_follow_their_complex():
    K = clique_complex(nx.path_graph(3))
    rows = collate([K.replace(y=torch.ones(3)), K.replace(y=torch.zeros(3))])  # one per vertex
    assert rows.y.tolist() == [1, 1, 1, 0, 0, 0]
    assert rows.to_list()[1].y.tolist() == [0, 0, 0]
    assert rows.replace(y=torch.tensor([5, 6])).to_list()[1].y.tolist() == [6]
    with pytest.raises(ComplexError, match=r"per complex \(2\) or per vertex \(6\), got 4"):
        rows.replace(y=torch.ones(4))


def test_names_follow_their_complex():
    a, b = clique_complex(nx.path_graph("xyz")), clique_complex(nx.path_graph("uvw"))
    union = collate([a, b])
    assert union.vertex_labels == tuple("xyzuvw")
    assert union.to_list() == [a, b]
    assert ComplexDataset(union)[1] == b


def test_complexes_that_do_not_go_together():
    K = SimplicialComplex.from_simplices([[0, 1]])
    wide, narrow = K.replace(x=[torch.ones(2, 3)]), K.replace(x=[torch.ones(2, 2)])
    with pytest.raises(ComplexError, match=r"x\[0\] of one shape and type.*\(2,\) of.*\(3,\) of"):
        collate([wide, narrow])
    with pytest.raises(ComplexError, match=r"x\[0\] in all complexes or in none.*number 1"):
        collate([wide, K])
    with pytest.raises(ComplexError, match="y in all complexes or in none, got none in number 1"):
        collate([K.replace(y=1), K])
    with pytest.raises(ComplexError, match="one shape and type per row"):
        collate([K.replace(y=torch.ones(1, 2)), K.replace(y=torch.ones(1, 3))])
    with pytest.raises(ComplexError, match="one device, got cpu, meta"):
        collate([K, K.to("meta")])


def test_features_may_be_missing_where_there_is_nothing_to_describe():
    filled = clique_complex(nx.complete_graph(3)).replace(x=[None, None, torch.ones(1, 2)])
    hollow = SimplicialComplex.from_simplices([[0, 1]])
    assert collate([hollow, filled]).x[2].tolist() == [[1, 1]]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_list_loads_in_batches(workers):
    items = labelled([clique_complex(nx.gnp_random_graph(8, 0.5, seed=i)) for i in range(7)])
    items[3] = SimplicialComplex(4).replace(y=3)
    items[4] = clique_complex(nx.complete_graph(5), max_dim=None).replace(y=4)
    batches = list(DataLoader(items, batch_size=3, num_workers=workers))
    assert [K for batch in batches for K in batch.to_list()] == items
    assert batches == [collate(items[i : i + 3]) for i in (0, 3, 6)]
    assert batches[1].batch(0).max() == 2
    assert pickle.loads(pickle.dumps(batches[1])) == batches[1]


def test_complexes_load_with_other_values_in_pairs_and_dictionaries():
    items = [clique_complex(nx.path_graph(n)) for n in (2, 3)]
    (pair,) = DataLoader(list(zip(items, [1.0, 2.0], strict=True)), batch_size=2)
    assert pair[0] == collate(items)
    assert pair[1].tolist() == [1, 2]
    (named,) = DataLoader([{"K": K, "n": K.num_nodes} for K in items], batch_size=2)
    assert named["K"] == collate(items)
    assert named["n"].tolist() == [2, 3]


def test_the_loader_of_pyg_names_ours():
    items = labelled([clique_complex(nx.path_graph(n)) for n in (2, 3)])
    with pytest.raises(TypeError, match=r"make batches with mpsn\.DataLoader"):
        next(iter(PyGLoader(ComplexDataset(items), batch_size=2)))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_batches_a_packed_dataset_without_slicing_its_items(workers, monkeypatch):
    items = labelled([clique_complex(nx.gnp_random_graph(8, 0.5, seed=i)) for i in range(7)])
    packed, part = ComplexDataset(items), Subset(ComplexDataset(items), [5, 0, 2, 2])
    with monkeypatch.context() as patch:
        patch.delattr(ComplexDataset, "__getitem__")
        patch.delattr(Complex, "to_list")
        batches = list(DataLoader(packed, batch_size=3, num_workers=workers))
        parts = list(DataLoader(part, batch_size=3, num_workers=workers))
    assert batches == list(DataLoader(items, batch_size=3))
    assert parts == [packed.batch([5, 0, 2]), packed.batch([2])]
    assert [K for batch in batches for K in batch.to_list()] == items


def dataset() -> ComplexDataset:
    one = clique_complex(nx.path_graph([("a", 1), ("b", 2), ("c", 3)]))
    two = clique_complex(nx.complete_graph(["x", "y", "z"]))
    items = [K.replace(x=[torch.randn(3, 2)], y=i) for i, K in enumerate((one, two))]
    return ComplexDataset([items[0], items[1].flip({1: torch.tensor([True, False, True])})])


def test_save_and_load(tmp_path):
    packed = dataset()
    packed.save(tmp_path / "data.npz")
    assert ComplexDataset.load(tmp_path / "data.npz") == packed
    assert [p.name for p in tmp_path.iterdir()] == ["data.npz"]


@given(many)
def test_save_and_load_anything(tmp_path_factory, items):
    path = tmp_path_factory.mktemp("packed") / "data.npz"
    packed = ComplexDataset(labelled(items))
    packed.save(path)
    assert ComplexDataset.load(path) == packed


def test_saving_refuses_what_it_could_not_read_back(tmp_path):
    K = clique_complex(nx.path_graph([frozenset({1}), frozenset({2})]))
    with pytest.raises(ComplexError, match="numbers, strings or tuples of them, got frozenset"):
        ComplexDataset([K]).save(tmp_path / "data.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "data.npz"
    packed = dataset()
    packed.save(path)

    def full_disk(file, array, **options):
        file.write(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full_disk)
    with pytest.raises(FileError, match="No space"):
        packed[:1].save(path)
    assert ComplexDataset.load(path) == packed
    assert [p.name for p in tmp_path.iterdir()] == ["data.npz"]


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "data.npz"
    packed = dataset()
    packed.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            loaded = ComplexDataset.load(path)
        except (FileError, TooLargeError):  # the latter if it is a size that is damaged
            continue
        assert loaded == packed  # a byte that says nothing, such as a date
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(FileError, match="damaged or of another kind"):
            ComplexDataset.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"faces_1": np.array([[9, 0]])}, "not closed under faces"),
        ({"ptr_0": np.array([0, 9, 6])}, "offsets of dimension 0"),
        ({"ptr_1": np.array([0, 3, 5])}, "the same complex of the union"),
        ({"x_0": np.full((6, 2), np.nan)}, "NaN"),
        ({"y_ptr": np.array([0, 1])}, "offsets|length"),
        ({"meta": np.array('{"format": 2}')}, "format 1"),
        ({"meta": np.array("[]")}, "format 1"),
        ({"meta": np.array("nonsense")}, "damaged"),
    ],
)
def test_files_with_unsound_contents_are_refused(tmp_path, change, message):
    path = tmp_path / "data.npz"
    dataset().save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, **change})
    with pytest.raises(FileError, match=message):
        ComplexDataset.load(path)


def test_missing_files_and_pickles_are_refused(tmp_path):
    with pytest.raises(FileError, match="found no file"):
        ComplexDataset.load(tmp_path / "none.npz")
    np.savez(tmp_path / "evil.npz", meta=np.array([print], dtype=object))
    with pytest.raises(FileError, match="damaged or of another kind"):
        ComplexDataset.load(tmp_path / "evil.npz")
