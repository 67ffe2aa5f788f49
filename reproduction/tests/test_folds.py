"""Folds: those of files are read and checked, others dealt out class by class."""

import json
import os

import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from mpsn.datasets import TU
from mpsn.errors import FileError, MPSNError
from mpsn.training import hold_out
from mpsn_reproduction.papers.folds import fair_folds, stratify, tu_folds

Y = torch.tensor([0] * 13 + [1] * 10)  # 23 graphs: folds of two leave three over


@pytest.fixture
def folder(tmp_path):
    """Write sound folds of 23 graphs."""
    out = tmp_path / "tu_folds" / "NCI1"
    out.mkdir(parents=True)
    for k in range(10):
        test = [2 * k, 2 * k + 1]
        train = [i for i in range(23) if i not in test]
        for kind, rows in (("train", train), ("test", test)):
            (out / f"{kind}_idx-{k + 1}.txt").write_text("".join(f"{i}\n" for i in rows))
    return out


def test_given_folds_are_read(folder, tmp_path):
    folds = tu_folds("NCI1", Y, tmp_path)
    assert folds.from_files
    assert [parts["test"].tolist() for parts in folds.splits] == [
        [2 * k, 2 * k + 1] for k in range(10)
    ]
    assert folds.splits[9]["train"].tolist() == [*range(18), 20, 21, 22]
    assert folds.untested.tolist() == [20, 21, 22]


SEVERAL = "graph 4, which is in several"
BAD = {
    "a graph in two test folds": (
        {"test_idx-2": "0\n3\n", "train_idx-2": None},
        "0 in several",
    ),
    "training on test data": (
        {"train_idx-3": "4\n" + "\n".join(map(str, range(23)))},
        SEVERAL,
    ),
    "a graph in both": (
        {"train_idx-3": "\n".join(map(str, range(23)))},
        SEVERAL,
    ),
    "a graph in neither": ({"train_idx-1": "2\n3\n"}, "graph 4, which is in none"),
    "a position too large": ({"test_idx-1": "0\n23\n"}, r"positions 0..22 .* got 23"),
    "words": ({"test_idx-1": "x\n"}, "a position from 0 on each line"),
    "no positions": ({"test_idx-1": ""}, "got none"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD)
def test_bad_folds_are_refused(folder, tmp_path, changes, message):
    for name, text in changes.items():
        if text is None:  # what the test fold does not have
            test = set(map(int, (folder / "test_idx-2.txt").read_text().split()))
            text = "\n".join(str(i) for i in range(23) if i not in test)
        (folder / f"{name}.txt").write_text(text)
    with pytest.raises(FileError, match=message):
        tu_folds("NCI1", Y, tmp_path)


def test_missing_files_and_too_little_tested_are_refused(folder, tmp_path):
    (folder / "test_idx-10.txt").rename(tmp_path / "kept")
    with pytest.raises(FileError, match=r"test_idx-10.txt.* move their folder away"):
        tu_folds("NCI1", Y, tmp_path)
    (tmp_path / "kept").rename(folder / "test_idx-10.txt")
    for k in range(1, 11):  # one graph of two is tested no more
        test = (folder / f"test_idx-{k}.txt").read_text().split()
        (folder / f"test_idx-{k}.txt").write_text(test[0])
        with (folder / f"train_idx-{k}.txt").open("a") as file:
            file.write(test[1])
    with pytest.raises(FileError, match="got 13 in none"):
        tu_folds("NCI1", Y, tmp_path)


def test_stratified_folds_cover_all_once_and_evenly(tmp_path):
    folds = tu_folds("NCI1", Y, tmp_path)
    assert not folds.from_files
    tests = torch.cat([parts["test"] for parts in folds.splits])
    assert tests.sort().values.tolist() == list(range(23))
    for parts in folds.splits:
        assert torch.cat(list(parts.values())).sort().values.tolist() == list(range(23))
    again = tu_folds("NCI1", Y, tmp_path)
    for one, two in zip(folds.splits, again.splits, strict=True):
        assert torch.equal(one["test"], two["test"])


@pytest.mark.parametrize("parts", [2, 5, 10])
def test_parts_are_as_even_as_scikit_learns(parts):
    y = torch.randint(3, (97,), generator=torch.Generator().manual_seed(parts))
    part = stratify(y, parts, seed=1)
    sizes = part.bincount(minlength=parts)
    assert sizes.max() - sizes.min() <= 1
    theirs = StratifiedKFold(parts, shuffle=True, random_state=0).split(y, y)
    for k, (_, test) in enumerate(theirs):
        ours, expected = y[part == k].bincount(minlength=3), y[test].bincount(minlength=3)
        assert (ours - expected).abs().max() <= 1
    assert not torch.equal(part, stratify(y, parts, seed=2))
    with pytest.raises(MPSNError, match="Expected from 2 to 97 parts"):
        stratify(y, 98)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_tenth_is_held_out_as_one_of_ten_stratified_parts(seed):
    y = torch.randint(3, (97,), generator=torch.Generator().manual_seed(seed))
    stay, held = hold_out(y, 0.1, seed)
    part = stratify(y, 10, seed)
    assert torch.equal(held, (part == 0).nonzero()[:, 0])
    assert torch.equal(stay, (part != 0).nonzero()[:, 0])


def fair(change=lambda folds: folds):
    """Return sound fair splits of 23 graphs, changed."""
    part, folds = stratify(Y, 10), []
    for k in range(10):
        rest = (part != k).nonzero()[:, 0].tolist()
        inner = {"train": rest[3:], "validation": rest[:3]}
        folds.append({"test": (part == k).nonzero()[:, 0].tolist(), "model_selection": [inner]})
    return change(folds) or folds


def write_fair(folder, folds):
    path = folder / "fair_splits" / "NCI1_splits.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(folds if isinstance(folds, str) else json.dumps(folds))


def test_fair_splits_are_read(tmp_path):
    write_fair(tmp_path, fair())
    folds = fair_folds("NCI1", Y, tmp_path)
    assert (len(folds.splits), len(folds.untested), folds.from_files) == (10, 0, True)
    for k in range(10):
        found = {part: rows.tolist() for part, rows in folds.splits[k].items()}
        (inner,) = fair()[k]["model_selection"]
        wanted = {"train": inner["train"], "val": inner["validation"], "test": fair()[k]["test"]}
        assert found == wanted
    with pytest.raises(FileError, match=r"DIR/fair_splits/PROTEINS_splits.json.*diningphil"):
        fair_folds("PROTEINS", Y, tmp_path)


def _move(folds):  # one more to train on, which is there to select by
    inner = folds[3]["model_selection"][0]
    inner["train"].append(inner["validation"][0])


def _drop(folds):
    del folds[5]["test"][0]


def _again(folds):  # the test part of fold 0 once more
    folds[1] = folds[0]


BAD_FAIR = {
    "no JSON": (lambda folds: "[", "Expected JSON"),
    "nine folds": (lambda folds: folds[:9], "got 9 such folds"),
    "another layout": (lambda folds: {"test": [0]}, "got 0 such folds"),
    "words": (lambda folds: folds[2].update(test=["0"]), "got 9 such folds"),
    "two selections": (lambda folds: folds[2]["model_selection"].append({}), "got 9 such folds"),
    "out of range": (lambda folds: folds[0]["test"].append(23), r"positions 0..22 .* got 23"),
    "negative": (lambda folds: folds[0]["test"].append(-1), r"positions 0..22 .* got -1"),
    "twice": (lambda folds: folds[0]["test"].append(folds[0]["test"][0]), "which is in several"),
    "trained on and selected by": (_move, "fold 4 .* which is in several"),
    "an empty part": (lambda folds: folds[5]["test"].clear(), "got none"),
    "a number": (lambda folds: "3", "got 0 such folds"),
    "one left out": (_drop, "fold 6 .* which is in none"),
    "tested twice": (_again, "in at most one test fold .* in several"),
}


@pytest.mark.parametrize(("change", "message"), BAD_FAIR.values(), ids=BAD_FAIR)
def test_bad_fair_splits_are_refused(tmp_path, change, message):
    write_fair(tmp_path, fair(change))
    with pytest.raises(FileError, match=message):
        fair_folds("NCI1", Y, tmp_path)


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs MPSN_DATA")
def test_fair_splits_at_hand_are_whole_and_stratified(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("PROTEINS", "IMDB-BINARY", "IMDB-MULTI"):
        y = TU(name).y
        folds = fair_folds(name, y)
        assert sum(len(parts["test"]) for parts in folds.splits) == len(y)


@pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="needs MPSN_DATA")
@pytest.mark.parametrize(
    ("name", "given", "untested"),
    [
        ("PROTEINS", True, [25, 314, 454]),
        ("NCI1", True, []),
        ("IMDB-BINARY", True, []),
        ("IMDB-MULTI", True, []),
        ("REDDIT-BINARY", False, []),
    ],
)
def test_folds_of_the_paper(name, given, untested, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folds = tu_folds(name, TU(name).y)
    assert (folds.from_files, folds.untested.tolist()) == (given, untested)
