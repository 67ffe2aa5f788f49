"""Models of graphs that stay in a file are those of the same graphs in memory."""

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn.cli import main
from mpsn.datasets import read_collection
from mpsn.errors import FileError, GraphError, LeftOut
from mpsn.estimators import SimplicialClassifier, SimplicialRegressor, load
from mpsn.estimators import _on_disk as on_disk
from mpsn.estimators._given import Notes
from ranks import FIT, GRAPHS, STEADY, fit_packed, run_ranks


def packed(folder, kind):
    """Write graphs with numbers and categories as features; some have no edge, some no target."""
    random = torch.Generator().manual_seed(0)
    graphs = [*GRAPHS, nx.empty_graph(3), nx.path_graph(2)]

    def complexes():
        for i, graph in enumerate(graphs):
            K = mpsn.clique_complex(graph, max_dim=2)
            x = [torch.randn(K.num_nodes, 2, generator=random), None]
            x[0][:, 1] = torch.randint(0, 3, (K.num_nodes,), generator=random)
            x[1] = torch.rand(K.count(1), 1, generator=random)
            y = torch.tensor([i % 2]) if kind == "classes" else torch.tensor([[i / 9, 1.0]])
            yield K.replace(x=x, y=torch.full_like(y, torch.nan) if i == 4 and i / 9 in y else y)

    return mpsn.ComplexDataset.write(folder / "packed.npz", complexes())


@pytest.mark.filterwarnings("ignore:.*none of their targets is known")
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_model_is_that_of_complexes_in_memory(tmp_path, kind):
    data = packed(tmp_path, kind)
    model = (SimplicialClassifier if kind == "classes" else SimplicialRegressor)(**FIT)
    found = [model.fit(graphs).predict(data) for graphs in (data, list(data))]
    np.testing.assert_array_equal(*found)
    one, other = (model.fit(graphs) for graphs in (data, mpsn.ComplexDataset.load(data.path)))
    assert one.histories_ == other.histories_
    assert one.features_ == other.features_
    assert one.counts_ == other.counts_
    assert one.n_graphs_ == len(data) - (kind == "numbers")


@pytest.mark.parametrize("max_dim", [0, 1, 2, 3])
def test_batches_are_those_of_complexes_in_memory(tmp_path, max_dim):
    data, model = packed(tmp_path, "classes"), SimplicialClassifier(max_dim=max_dim, kernel=False)
    used = (torch.arange(len(data)) != 2).nonzero()[:, 0]
    ours, encoding = on_disk.prepared(model, data, used, Notes())
    assert isinstance(ours, on_disk.OnDisk)
    theirs, other = on_disk.prepared(model, list(data), used, Notes())
    assert encoding == other
    assert torch.equal(ours.counts, theirs.counts)
    for index in ([5, 1, 1], [27, 28], [27], []):  # of small graphs, of one without edges, of none
        at = torch.tensor(index, dtype=torch.int64)
        one, two = ours.batch(at), theirs.batch(at)
        assert one == two
        assert [x.shape for x in one.x] == [x.shape for x in two.x]


def test_features_of_a_sample(tmp_path, monkeypatch):
    data, model = packed(tmp_path, "classes"), SimplicialClassifier(**FIT)
    every = model.fit(data).features_.columns[0]
    monkeypatch.setattr(on_disk, "SAMPLE", 5)
    with pytest.warns(LeftOut, match="a sample of 5 of the 30 complexes"):
        some = model.fit(data).features_.columns[0]
    assert [column.name for column in some] == [column.name for column in every]
    assert some != every
    assert model.predict(data).shape == (len(data),)


@pytest.mark.filterwarnings("ignore:cells of higher dimension")
def test_each_process_reads_its_part_of_every_batch(tmp_path):
    data = packed(tmp_path, "classes")
    one = SimplicialClassifier(**FIT, **STEADY).fit(list(data))
    found = run_ranks(2, tmp_path, fit_packed, data.path)
    size, used, held = FIT["batch_size"], len(data) - one.n_validation_, one.n_validation_
    for losses, reads in found:
        np.testing.assert_allclose(losses, one.histories_[0].train, rtol=1e-3)
        assert reads.pop(0) == used  # up to 256, for the scale of the readout
        assert max(reads) < size
    both = [sum(pair) for pair in zip(*(reads for _, reads in found), strict=True)]
    epoch = [size] * (used // size) + [used % size, held]
    assert both == [*epoch * FIT["epochs"], 2 * held]  # for the scores


def test_packed_files_on_the_command_line(tmp_path, monkeypatch, capsys):
    data, out = packed(tmp_path, "classes"), tmp_path / "model.mpsn"
    few = ["--epochs", "2", "--hidden", "4", "--device", "cpu"]
    for words in (
        ["fit", str(data.path), "--no-kernel", *few, "--out", str(out)],
        ["predict", str(out), str(data.path), "--out", str(tmp_path / "found.csv")],
    ):
        monkeypatch.setattr("sys.argv", ["mpsn", *words])
        with pytest.raises(SystemExit, match="0"):
            main()
    assert f"read: 30 graphs, {data.union.count(0)} vertices" in capsys.readouterr().out
    found = [line.split(",")[:2] for line in (tmp_path / "found.csv").read_text().splitlines()[1:]]
    assert found == [
        [f"packed.npz:{i}", str(one)] for i, one in enumerate(load(out).predict(list(data)))
    ]


def test_targets_of_a_packed_file(tmp_path):
    data = packed(tmp_path, "numbers")
    with pytest.raises(FileError, match="the number of one of the 2 targets in y"):
        read_collection([data.path])
    with pytest.raises(FileError, match=r"label of packed\.npz:4, got nan"):
        read_collection([data.path], target="1")
    name, K, label = next(iter(read_collection([data.path], target="0,1")))
    assert (name, label) == ("packed.npz:0", [0.0, 1.0])
    assert data[0] == K


def test_labels_are_those_of_each_complex(tmp_path):
    """Complexes with other numbers of labels do not lend them to each other."""
    edge = mpsn.clique_complex(nx.path_graph(2))
    ys = [torch.tensor(y, dtype=torch.int64) for y in ([1, 1], [], [0])] * 4
    data = mpsn.ComplexDataset.write(tmp_path / "odd.npz", (edge.replace(y=y) for y in ys))
    with pytest.raises(GraphError, match="a complex with 0 at index 1; pass y"):
        SimplicialClassifier(kernel=False, epochs=1).fit(data)
    with pytest.raises(FileError, match="as many for each complex, got others"):
        read_collection([tmp_path / "odd.npz"])
    assert len(list(read_collection([tmp_path / "odd.npz"], labeled=False))) == 12
    with pytest.raises(GraphError, match="Expected graphs and as many targets y, got 0 graphs"):
        SimplicialClassifier(kernel=False).fit(data[:0])


def test_labels_that_cannot_be_used(tmp_path):
    edge = mpsn.clique_complex(nx.path_graph(2))
    path = tmp_path / "some.npz"
    mpsn.ComplexDataset.write(path, [edge])
    with pytest.raises(FileError, match=r"got none; write it with K.replace\(y=...\)"):
        read_collection([path])
    mpsn.ComplexDataset.write(path, [edge.replace(y=y) for y in (0.0, float("nan"))])
    with pytest.raises(FileError, match=r"label of some\.npz:1, got nan"):
        read_collection([path])
    rows = torch.tensor([[0.0, 1.0], [float("nan")] * 2])
    mpsn.ComplexDataset.write(path, [edge.replace(y=y[None]) for y in rows])
    assert [label for _, _, label in read_collection([path], target="0,1")] == [[0, 1], [None] * 2]
