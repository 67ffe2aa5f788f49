"""The protocol of Errica et al.: their splits, selection by validation, one test."""

import json
from dataclasses import replace

import pytest
import torch

from mpsn.errors import ConfigError, FileError
from mpsn.nn.models import GIN, SIN
from mpsn_reproduction.engine import reproduce
from mpsn_reproduction.experiment import Job, Record, Resources, Run
from mpsn_reproduction.papers import tu
from mpsn_reproduction.papers.fair import (
    EXPERIMENT,
    MODELS,
    PUBLISHED,
    imbalance,
    select,
    selected,
    table,
)
from mpsn_reproduction.papers.folds import Folds, stratify
from mpsn_reproduction.papers.tu import TUConfig
from mpsn_reproduction.settings import Network, rows
from mpsn_reproduction.train import StepTraining
from protocol import trained
from tu_files import members, reddit_like, write_zip

NAME = "IMDB-BINARY"
SMALL = TUConfig(
    NAME,
    sin=Network(SIN, hidden=4, layers=1, coface_message=False, readout_dims=(0, 2)),
    train=StepTraining(epochs=3, batch_size=8),
    whole=False,
)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Write fifty graphs in five classes, and splits of them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graphs, classes = reddit_like(50)
    write_zip(tmp_path / f"tu/{NAME}.zip", members(NAME, graphs, classes))
    part, folds = stratify(torch.tensor(classes) - 1, 10), []
    for k in range(10):
        rest = (part != k).nonzero()[:, 0].tolist()
        inner = {"train": rest[5:], "validation": rest[:5]}
        folds.append({"test": (part == k).nonzero()[:, 0].tolist(), "model_selection": [inner]})
    (tmp_path / "fair_splits").mkdir()
    (tmp_path / f"fair_splits/{NAME}_splits.json").write_text(json.dumps(folds))
    return tmp_path


def test_configs_are_those_of_the_other_protocols():
    theirs, ours = rows("tu", TUConfig), rows("fair", TUConfig)
    for row, config in ours.items():
        if config.model != "agnostic":
            assert replace(config, whole=True) == theirs[row]
    assert {config.model for config in ours.values()} == set(MODELS)
    assert {config.dataset for config in ours.values()} == set(PUBLISHED)


def test_networks_are_trained_selected_and_tested_on_the_given_parts(data, monkeypatch):
    seen = []

    def fake(build, complexes, y, splits, seeds, settings, resources, **_):
        seen.extend(splits)
        return trained([{"val": [0.2, 0.4, 0.4], "test": [0.9, 0.1, 0.5]}] * len(splits))

    monkeypatch.setattr(tu, "train_classifiers", fake)
    job = replace(EXPERIMENT.jobs("row", SMALL, (0,))[0], seeds=(0, 1))
    resources = Resources(torch.device("cpu"), EXPERIMENT.read(NAME, data), lambda n: None)
    runs = EXPERIMENT.work(job, resources)
    given = json.loads((data / f"fair_splits/{NAME}_splits.json").read_text())
    for split, fold in zip(seen, given * 2, strict=True):
        inner = fold["model_selection"][0]
        expected = {"train": inner["train"], "val": inner["validation"], "test": fold["test"]}
        assert {name: part.tolist() for name, part in split.items()} == expected
    assert runs[0].metrics["honest"] == 0.1  # the first of the best in validation, worst in testing
    assert runs[0].metrics["imbalance"] == pytest.approx(20)  # five to validate, of 5 classes
    EXPERIMENT.check(Record(job, runs, 1.0, 1, {}))
    lacking = [replace(run, metrics={"honest": 0.9}) for run in runs]
    with pytest.raises(FileError, match="a run without val"):
        EXPERIMENT.check(Record(job, lacking, 1.0, 1, {}))


def record(row, config, scores, seed=0):
    """Make a record of validation and test accuracies, one pair a fold."""
    runs = [
        Run(seed, k, {"val": val, "honest": test, "imbalance": 0.2})
        for k, (val, test) in enumerate(scores)
    ]
    folds = tuple(range(len(runs)))
    return Record(Job(row, config, config.dataset, (seed,), folds), runs, 1.0, 1, {})


def test_settings_are_selected_fold_by_fold_in_validation():
    one = record("mean", SMALL, [(0.7, 0.6), (0.5, 0.9)])
    two = record("sum", SMALL, [(0.6, 0.8), (0.6, 0.5)])
    later = record("sum", SMALL, [(0.9, 0.1)], seed=1)  # interrupted after one fold
    gin = record("gin", replace(SMALL, sin=None, gin=Network(GIN)), [(0.5, 0.5), (0.5, 0.6)])
    found = selected([one, two, later])
    assert found[NAME, "sin"].folds == pytest.approx([60, 50])
    lines = table([one, two, later, gin])
    assert lines.rows == [
        [NAME, "SIN", "55.0 ± 7.1", "", "1"],
        [NAME, "GIN", "55.0 ± 7.1", "71.2 ± 3.9", "1"],
        [NAME, "structure-agnostic", "", "70.8 ± 5.0", ""],
        [NAME, "SIN minus GIN", "+0.0 ± 10.0", "", ""],
    ]
    notes = "\n".join(lines.notes)
    assert "SIN on 2 of 10 folds" in notes
    assert "at most 0.2 points" in notes


def test_the_baseline_sees_no_edges(data):
    """Graphs with equal vertex features, and other edges, have equal outputs."""
    config = rows("fair", TUConfig)["imdb-binary-agnostic"].sin
    sets, _ = EXPERIMENT.read(NAME, data)
    model = config(in_channels=sets.num_features).eval()
    union = sets.complexes.union
    assert model(union).shape == (50, config.out_channels)
    assert torch.equal(model(union), model(union.skeleton(0)))
    whole = config(in_channels=sets.num_features, max_dim=1).eval()
    assert not torch.equal(whole(union), whole(union.skeleton(0)))


def test_rows_are_chosen_by_data_set_and_model(data):
    assert set(select([NAME], ["gin"])) == {"imdb-binary-gin"}
    assert set(select([], ["reddit-binary-sin-sum"])) == {"reddit-binary-sin-sum"}
    with pytest.raises(ConfigError, match="Expected names among sin, gin, agnostic"):
        select([], ["sim"])
    with pytest.raises(ConfigError, match="Expected data sets among PROTEINS"):
        select(["MUTAG"], [])
    result = reproduce("fair", only=[NAME], quick=True, seeds=1, out=data / "runs", data=data)
    assert [line[1] for line in result.table.rows] == list(MODELS.values())
    assert "on 1 of 10 folds" in " ".join(result.table.notes)


def test_how_far_folds_are_from_stratified():
    y = torch.tensor([0, 0, 1, 1])
    for test, most in (([3], 1 / 2), ([1, 2], 1 / 6)):  # the test part has class 1 alone, or both
        parts = {"train": torch.tensor([0, 1, 2]), "test": torch.tensor(test)}
        assert imbalance(Folds([parts], True, y[:0]), y) == pytest.approx(most)
