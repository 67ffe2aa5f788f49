"""Records that were changed: named, left out and counted; never a traceback, never new data."""

import copy
import json
import math
import os
import random
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mpsn.errors import FileError
from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.engine import run
from mpsn_reproduction.experiment import Job
from mpsn_reproduction.page import report, sections
from mpsn_reproduction.papers import flow as _flow
from mpsn_reproduction.papers import ocean as _ocean
from mpsn_reproduction.store import Store, label
from toy_experiment import EXPERIMENT, ToyConfig

RESULTS = Path(__file__).parents[1] / "results"
ODD = [
    *(None, True, -1, 0, 2, 10**9, 10**30, 10**400, -1e308, 1e308, math.nan, math.inf, 0.5),
    *(
        "",
        "x",
        "\ud800",
        "$\\frac$",
        "\x1b[2J",
        "SR(1,2,3,4)",
        "a" * 10_000,
        [],
        {},
        [[]],
        [0] * 99,
    ),
]


def spots(value, path=()):
    """Yield the path of every value inside a value; of long lists, the first two and the last."""
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from spots(value[name], (*path, name))
    elif isinstance(value, list):
        for i in {0, 1, len(value) - 1} & set(range(len(value))):
            yield from spots(value[i], (*path, i))


def mutant(values, rng):
    """Change one or two values, remove one, or add one."""
    values = copy.deepcopy(values)
    for _ in range(rng.randint(1, 2)):
        path = rng.choice([p for p in spots(values) if p])
        inside = values
        for key in path[:-1]:
            inside = inside[key]
        kind = rng.randrange(8)
        if kind == 0:
            del inside[path[-1]]
        elif kind == 1 and isinstance(inside, list):
            inside.append(inside[path[-1]])
        elif kind == 2 and isinstance(inside, dict):
            inside["new"] = rng.choice(ODD)
        else:
            inside[path[-1]] = rng.choice(ODD)
    return values


def place(folder, old, values):
    """Write a changed record, under the name that fits its values if there is one."""
    path = folder / old.parent.name / old.name
    try:
        numbers = tuple(values["seeds"]), tuple(values["folds"])
        job = Job(str(values["row"]), None, values["data"], *numbers)
        row = re.sub("[/ \0]", "", job.row)[:99] or "row"
        name = f"{row}/{label(job)[:199]}-{'0' * 8}.json"
        path = folder / name.encode().decode()
    except (KeyError, TypeError, ValueError):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize("name", CATALOG)
def test_changed_records_end_in_no_traceback(tmp_path, name, monkeypatch):
    def refuse(*_):
        raise AssertionError("a report made or read data")

    monkeypatch.setattr(
        f"mpsn_reproduction.papers.{name}.EXPERIMENT", replace(find(name), read=refuse)
    )
    rng = random.Random(0)
    paths = sorted((RESULTS / name).glob("*/*.json"))
    if len(paths) < 2:
        pytest.skip(f"{len(paths)} records of {name} so far")
    good = paths.pop(rng.randrange(len(paths)))
    kept = tmp_path / name / good.parent.name / good.name
    read = 0
    for i in range(50):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        kept.parent.mkdir(parents=True)
        shutil.copy(good, kept)
        old = rng.choice(paths)
        place(tmp_path / name, old, mutant(json.loads(old.read_text()), rng))
        (found,) = sections(tmp_path)
        table = found.experiment.table(found.records)
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
        json.dumps(table.rows, ensure_ascii=False).encode()
        read += not found.left_out
        if found.left_out:
            assert "Left out: 1 records that cannot be read: Expected " in found.left_out[0]
        elif i % 5 == 0:
            report(tmp_path)
    assert 0 < read < 50


def test_a_report_never_makes_data(tmp_path, monkeypatch):
    """A record whose settings ask for a thousand million flows, and is right in all else."""
    old = next((RESULTS / "flow").glob("*/*.json"))
    values = json.loads(old.read_text())
    values["settings"] |= {"points": 10**9, "train": 10**9, "test": 10**9}
    place(tmp_path / "flow", old, values)

    def refuse(*_, **__):
        raise AssertionError("data was made")

    monkeypatch.setattr(_flow, "synthetic_flows", refuse)
    monkeypatch.setattr(_ocean, "ocean_drifters", refuse)
    assert report(tmp_path).count("data:image/png") == 1  # the curves


def test_bad_records_are_named_and_counted(tmp_path):
    old = next((RESULTS / "flow").glob("*/*.json"))
    for i in range(8):
        folder = tmp_path / "flow" / f"row{i}"
        folder.mkdir(parents=True)
        (folder / "runs-0.json").write_text("{" if i else "")
    with pytest.raises(FileError, match=r"without runs.*row0.*runs-0.json"):
        sections(tmp_path)
    place(tmp_path / "flow", old, json.loads(old.read_text()))
    os.mkfifo(folder / "pipe.json")
    (folder / "large.json").write_bytes(b" " * ((1 << 24) + 1))
    (found,) = sections(tmp_path)
    assert len(found.records) == 1
    assert "Left out: 10 records that cannot be read, and 5 more: Expected" in found.left_out[0]
    assert found.left_out[0].count("Expected a record at") == 5
    assert "row3" in report(tmp_path)


def test_the_newest_settings_are_those_recorded_last(tmp_path):
    """Not those whose files are younger, as after copying a folder."""
    first, second = ToyConfig(1.0), ToyConfig(2.0)
    run(EXPERIMENT, {"a": first}, 1, out=tmp_path)
    run(EXPERIMENT, {"a": second}, 1, out=tmp_path)
    for path in tmp_path.glob("a/*.json"):
        is_first = '"settings": {"scale": 1.0}' in path.read_text()
        os.utime(path, (time.time() - (0 if is_first else 1000),) * 2)
    records, older, bad = Store(tmp_path, ToyConfig).newest()
    assert {record.job.config for record in records} == {second}
    assert (older, bad) == (2, [])


def test_a_training_that_diverged_is_recorded(tmp_path):
    """Its losses are nan from where they left what a record holds."""

    def diverge(job, resources):
        runs = EXPERIMENT.work(job, resources)
        return [replace(r, curve={"loss": [1.0, 1e30, math.inf]}) for r in runs]

    (record, _) = run(replace(EXPERIMENT, work=diverge), {"a": ToyConfig(1.0)}, 1, out=tmp_path)[0]
    assert str(record.runs[0].curve["loss"]) == "[1.0, nan, nan]"
