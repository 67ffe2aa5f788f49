"""The study on the IMDB sets: what is trained on what, variants of the networks, the table."""

from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn.errors import ConfigError
from mpsn.nn.models import GIN, SIN
from mpsn.training import forward_padded
from mpsn_reproduction.experiment import DataSets, Job, Record, Resources, Run
from mpsn_reproduction.papers import imdb
from mpsn_reproduction.papers.imdb import EXPERIMENT, IMDBConfig, colors, split, with_features
from mpsn_reproduction.papers.imdb_models import network
from mpsn_reproduction.papers.imdb_table import against, rows, table
from mpsn_reproduction.papers.tu import TUConfig
from mpsn_reproduction.settings import Network
from mpsn_reproduction.settings import rows as load_rows
from mpsn_reproduction.train import StepTraining, used
from protocol import trained
from tu_files import members, reddit_like, write_zip

NAME = "IMDB-BINARY"
NET = Network(SIN, hidden=4, layers=2, coface_message=False, norm=True)
SMALL = {NAME: StepTraining(epochs=2, batch_size=8)}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Write eighty graphs in two classes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graphs, classes = reddit_like(80)
    write_zip(tmp_path / f"tu/{NAME}.zip", members(NAME, graphs, [c % 2 for c in classes]))
    return tmp_path


def resources(folder, tick=lambda n: None):
    return Resources(torch.device("cpu"), EXPERIMENT.read(NAME, folder), tick)


def test_every_row_changes_the_default_in_what_its_name_says():
    found, theirs = load_rows("imdb", IMDBConfig), load_rows("tu", TUConfig)
    assert found["sin"] == IMDBConfig(sin=theirs["imdb-binary-sin"].sin)
    assert found["gin"] == IMDBConfig(gin=theirs["imdb-binary-gin"].gin)
    for name, settings in found["sin"].train.items():
        assert settings == replace(theirs[f"{name.lower()}-sin"].train, epochs=settings.epochs)
        assert theirs[f"{name.lower()}-sin"].sin == found["sin"].sin
    for row, config in found.items():
        assert not config.test
        assert config.folds == 10
        base = found["gin" if config.gin else "sin"]
        if not config.lookup and row not in ("sin", "gin"):
            assert config != base
            assert config.train == base.train
    with pytest.raises(ConfigError, match="one of sin, gin and lookup"):
        IMDBConfig()
    with pytest.raises(ConfigError, match="messages='mean' with sin"):
        IMDBConfig(gin=Network(GIN), messages="mean")


def test_test_folds_are_left_alone_unless_asked_for(data):
    sets, folds = EXPERIMENT.read(NAME, data)
    found = [split(sets.y, folds, 3, seed, test=False) for seed in (0, 1)]
    for one in found:
        every = torch.cat([one["train"], one["val"], one["test"]])
        assert sorted(every.tolist()) == sorted(folds.splits[3]["train"].tolist())
        assert {len(one["val"]), len(one["test"])} <= {7, 8}  # tenths of 72
    assert set(found[0]["test"].tolist()) != set(found[1]["test"].tolist())
    asked = [split(sets.y, folds, 3, seed, test=True) for seed in (0, 1)]
    for one in asked:
        assert torch.equal(one["test"], folds.splits[3]["test"])
        train = torch.cat([one["train"], one["val"]])
        assert sorted(train.tolist()) == sorted(folds.splits[3]["train"].tolist())
    assert set(asked[0]["val"].tolist()) != set(asked[1]["val"].tolist())


def test_features(data):
    union = EXPERIMENT.read(NAME, data)[0].complexes.union
    degree = torch.bincount(union.faces(1).reshape(-1))
    kinds = torch.unique(degree)
    for kind in ("mean", "sum", "vertices", "constant"):
        x = with_features(mpsn.ComplexDataset(union), kind).union.x
        u, v = union.faces(1)[7].tolist()
        hot = [(kinds == degree[at]).float() for at in (u, v)]
        expected = {
            "mean": (hot[0] + hot[1]) / 2,
            "sum": hot[0] + hot[1],
            "vertices": 0 * hot[0],
            "constant": torch.ones(1),
        }
        assert torch.equal(x[1][7], expected[kind])
        assert torch.equal(x[0][u], torch.ones(1) if kind == "constant" else hot[0])
        assert [len(one) for one in x] == list(union.counts)


@pytest.mark.parametrize(("messages", "power"), [("sum", 0), ("sqrt", 0.5), ("mean", 1)])
def test_messages_are_divided_by_a_power_of_their_number(messages, power):
    K = mpsn.clique_complex(nx.gnp_random_graph(8, 0.6, seed=1), max_dim=2)
    conv = network(NET.replace(in_channels=3), messages, "batch").convs[0]
    h = torch.randn(K.count(1), 3)
    expected = torch.zeros_like(h)
    for a, one in enumerate(K.simplices(1).tolist()):
        beside = [
            b
            for b, other in enumerate(K.simplices(1).tolist())
            if len({*one, *other}) == 3 and sorted({*one, *other}) in K.simplices(2).tolist()
        ]
        if beside:
            expected[a] = h[beside].sum(0) / len(beside) ** power
    found = conv.upper(1, h, h[:0], K.incidence(2))
    torch.testing.assert_close(found, expected)


def test_each_cell_is_normalized_over_its_features():
    model = network(NET.replace(in_channels=3), "sum", "layer")
    norms = [part for part in model.modules() if isinstance(part, torch.nn.LayerNorm)]
    assert len(norms) == 2 * 3 * 5  # layers, dimensions, dense layers
    assert not any(isinstance(part, torch.nn.BatchNorm1d) for part in model.modules())
    assert any(isinstance(p, torch.nn.BatchNorm1d) for p in network(NET, "sum", "batch").modules())


@pytest.mark.parametrize(
    ("variant", "max_dim"), [(("mean", "batch"), 2), (("sqrt", "layer"), 2), (("sum", "batch"), 0)]
)
def test_variants_are_the_same_in_padded_batches(data, variant, max_dim):
    """As steps are captured on a GPU."""
    complexes = EXPERIMENT.read(NAME, data)[0].complexes
    width = complexes.union.x[0].shape[1]
    torch.manual_seed(0)
    model = network(NET.replace(in_channels=width, act="relu", max_dim=max_dim), *variant).double()
    union = used(complexes, NET.replace(max_dim=max_dim)).union
    few = mpsn.ComplexDataset(union.replace(x=[x.double() for x in union.x]))
    index = torch.tensor([[3, 20, 41]])
    padded = few.batch(index[0], pad=few.padded_shape(torch.cat([index, index + 7])))
    torch.testing.assert_close(forward_padded(model, padded), model(few.batch(index[0])))


def test_metrics_of_networks(data, monkeypatch):
    curve = {"val": [0.1, 0.6, 0.6, 0.5, 0.2], "test": [0.1, 0.4, 0.9, 0.2, 0.3], "train": [0, 1]}
    seen = []

    def fake(build, complexes, y, splits, seeds, settings, resources):
        seen.extend([*splits, seeds])
        return trained([curve] * len(splits), [build()] * len(splits))

    monkeypatch.setattr(imdb, "train_classifiers", fake)
    config = IMDBConfig(sin=NET, train=SMALL, folds=2)
    assert [job.seeds for job in EXPERIMENT.jobs("row", config, (0, 2))] == [(0,), (2,)]
    (job,) = EXPERIMENT.jobs("row", replace(config, sin=NET.replace(layers=1)), (0, 2))
    runs = EXPERIMENT.work(job, resources(data))
    assert [(run.seed, run.fold) for run in runs] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert seen[-1] == [0, 1, 20, 21]
    assert {tuple(one) for one in seen[:-1]} == {("train", "val", "test")}
    assert runs[0].metrics["score"] == 0.4
    assert runs[0].metrics["last"] == 0.3  # the last fifth of five epochs
    assert runs[0].metrics["fit"] == 1
    EXPERIMENT.check(Record(job, runs, 1.0, 1, {}))


def test_lookups(data):
    sets, folds = EXPERIMENT.read(NAME, data)
    graphs = [sets.complexes[i] for i in range(len(sets))]
    for kind in ("sizes", "degrees", "swl"):
        keys = colors(sets, kind)
        ticks = []
        (job,) = EXPERIMENT.jobs("row", IMDBConfig(lookup=kind, train=SMALL, folds=2), (0,))
        runs = EXPERIMENT.work(job, resources(data, ticks.append))
        assert sum(ticks) == EXPERIMENT.steps(job) == 2
        if kind == "sizes":
            assert keys == [tuple(K.count(k) for k in range(3)) for K in graphs]
        if kind == "degrees":
            ends = Counter(graphs[5].faces(1).reshape(-1).tolist())
            assert keys[5] == tuple(sorted(ends.values()))
        one = split(sets.y, folds, 0, 0, test=False)
        right = []
        train = torch.cat([one["train"], one["val"]])
        for i in one["test"].tolist():
            same = [int(sets.y[j]) for j in train.tolist() if keys[j] == keys[i]]
            same = same or sets.y[train].tolist()
            right.append(min((-same.count(c), c) for c in (0, 1))[1] == int(sets.y[i]))
        assert runs[0].metrics["score"] == pytest.approx(np.mean(right))
        assert runs[0].metrics["classes"] == len(set(keys))
        of = {key: [int(sets.y[i]) for i, k in enumerate(keys) if k == key] for key in set(keys)}
        most = sum(max(map(classes.count, (0, 1))) for classes in of.values())
        assert runs[0].metrics["ceiling"] == pytest.approx(most / 80)


def record(row, scores, seeds=(0,), config=None, **more):
    """Make a record of scores, by seed and then by fold."""
    keys = [(s, f) for s in seeds for f in range(len(scores) // len(seeds))]
    runs = [
        Run(s, f, {"score": score, "last": 0.5, "fit": 0.9, "parameters": 12, **more})
        for (s, f), score in zip(keys, scores, strict=True)
    ]
    config = config or IMDBConfig(sin=NET, train=SMALL)
    return Record(Job(row, config, NAME, seeds, (0, 1)), runs, 1.0, 1, {})


def test_differences_are_paired():
    gin = record("gin", [0.5, 0.6, 0.6, 0.8], (0, 1))
    sin = record("sin", [0.6, 0.6, 0.9, 0.8], (0, 1))
    one = record("sin-one", [0.7, 0.7])  # of the first seed
    test, base = record("sin-test", [0.1, 0.1]), record("gin-test", [0.2, 0.4])
    every = {row.name: row for row in rows([gin, sin, one])}
    assert against(every["sin"], every["gin"]) == pytest.approx((10, 10))  # by folds 20 and 0
    assert against(every["sin-one"], every["gin"]) == pytest.approx((15, 5))
    found = table([gin, sin, one, test, base])
    lines = {line[1]: line[2:] for line in found.rows}
    assert lines["sin"] == ["12", "72.5", "+10.0 ± 10.0", "50.0", "90.0", "2"]
    assert lines["gin"][2] == lines["gin-test"][2] == ""
    assert lines["sin-test"][2] == "-20.0 ± 10.0"
    assert "gin on 2 of 10 folds" in " ".join(found.notes)
    drawn = EXPERIMENT.figures([gin, sin, one], DataSets(EXPERIMENT, None))
    assert [tick.get_text() for tick in drawn["imdb"].axes[0].get_yticklabels()] == [
        "sin-one",
        "sin",
    ]
    assert not EXPERIMENT.figures([gin], None)
