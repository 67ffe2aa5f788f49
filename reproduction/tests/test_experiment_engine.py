"""The engine: records written whole, resumed, never mixed; errors that lose nothing."""

import errno
import os
import time
from dataclasses import dataclass, replace

import psutil
import pytest
import torch

from mpsn.errors import FileError, MPSNError
from mpsn.nn.models import Hierarchical
from mpsn.training import from_plain
from mpsn_reproduction import engine as _reproduce
from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.engine import draw, run
from mpsn_reproduction.experiment import DataSets, Resources
from mpsn_reproduction.local import LocalEngine
from mpsn_reproduction.settings import Network, load, plain, rows
from mpsn_reproduction.store import Store, differing, words
from processes import start
from toy_experiment import EXPERIMENT, Inner, ToyConfig, contents

TOY = {"a": ToyConfig(0.5), "b": ToyConfig(2.0)}


def test_records_hold_all_there_is_to_know(tmp_path):
    names = []
    counting = replace(EXPERIMENT, read=lambda name, folder: names.append(name))
    outcome = run(counting, TOY, 2, out=tmp_path)
    assert names == ["small one", "large one"]  # each once
    assert len(outcome.records) == 4 == len(list(tmp_path.glob("*/*.json")))
    record = next(r for r in outcome.records if str(r.job) == "b large one")
    assert record.job.config == TOY["b"]
    assert [(r.seed, r.fold) for r in record.runs] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert record.runs[3].metrics == {"score": 22.0}
    assert record.runs[3].curve == {"loss": [0.0, 2.0, 4.0]}
    assert 0 < record.seconds < 60
    assert record.memory > 10_000_000
    assert record.environment["torch"] == torch.__version__
    assert record.environment["device"] == "cpu"


def test_what_is_recorded_is_not_done_again(tmp_path):
    run(EXPERIMENT, TOY, 2, out=tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.json")}

    def refuse(job, resources):
        raise AssertionError(f"{job} was run again")

    again = run(replace(EXPERIMENT, work=refuse), TOY, 2, out=tmp_path)
    assert len(again.records) == 4
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.json")} == before


def test_more_seeds_add_only_the_new_ones(tmp_path):
    run(EXPERIMENT, TOY, 1, out=tmp_path)
    done = []

    def note(job, resources):
        done.append((str(job), job.seeds))
        return EXPERIMENT.work(job, resources)

    records = run(replace(EXPERIMENT, work=note), TOY, 3, out=tmp_path).records
    assert {seeds for _, seeds in done} == {(1, 2)}
    runs = [(str(r.job), x.seed, x.fold) for r in records for x in r.runs]
    assert len(runs) == len(set(runs)) == 2 * 2 * 3 * 2


def test_a_changed_config_never_mixes(tmp_path):
    run(EXPERIMENT, TOY, 1, out=tmp_path)
    changed = {"a": replace(TOY["a"], inner=Inner(3))}
    records = run(EXPERIMENT, changed, 1, out=tmp_path).records
    assert len(records) == 2
    assert all(r.job.config == changed["a"] for r in records)
    newest, older, bad = Store(tmp_path, ToyConfig).newest()
    assert (older, bad) == (2, [])
    assert {r.job.config for r in newest} == {changed["a"], TOY["b"]}


def test_runs_that_two_processes_recorded_count_once(tmp_path):
    run(EXPERIMENT, TOY, 2, out=tmp_path)
    store = Store(tmp_path, ToyConfig)
    job = EXPERIMENT.jobs("a", TOY["a"], (1, 2))[0]
    record = store.read(next(tmp_path.glob("a/small*.json")))
    runs = EXPERIMENT.work(job, Resources(torch.device("cpu"), None, print))
    store.write(replace(record, job=job, runs=runs))
    seen = [(x.seed, x.fold) for r in store.of([job]) for x in r.runs]
    assert sorted(seen) == [(s, f) for s in range(3) for f in range(2)]


def test_processes_give_the_same_records(tmp_path):
    run(EXPERIMENT, {"a": TOY["a"]}, 2, out=tmp_path / "alone")
    run(EXPERIMENT, {"a": TOY["a"]}, 2, out=tmp_path / "many", engine=LocalEngine(2))
    assert contents(tmp_path / "alone") == contents(tmp_path / "many")


def test_an_error_in_a_process_reaches_the_user_and_loses_nothing(tmp_path):
    with pytest.raises(FileError, match="Expected a scale above 0"):
        run(EXPERIMENT, {"a": TOY["a"], "bad": ToyConfig(-1.0)}, 1, out=tmp_path)
    assert len(list(tmp_path.glob("a/*.json"))) == 2
    bad, only = {"bad": ToyConfig(-1.0)}, ["small one"]
    with pytest.raises(FileError, match="Expected a scale above 0"):
        run(EXPERIMENT, bad, 1, out=tmp_path, engine=LocalEngine(2), only=only)


def test_a_full_disk_is_said_and_loses_nothing(tmp_path, monkeypatch):
    run(EXPERIMENT, {"a": TOY["a"]}, 1, out=tmp_path)
    before = contents(tmp_path)

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"No space left on device.*same command again"):
        run(EXPERIMENT, TOY, 1, out=tmp_path)
    monkeypatch.undo()
    assert contents(tmp_path) == before
    assert not list(tmp_path.rglob("*.part"))
    assert len(run(EXPERIMENT, TOY, 1, out=tmp_path).records) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 1}', "format 1.*another version of mpsn"),
        ("{", "Move it away"),
        ("[]", "Move it away"),
        ('{"format": 2, "settings": {}}', "Move it away"),
    ],
)
def test_records_that_cannot_be_read_are_refused(tmp_path, text, said):
    run(EXPERIMENT, TOY, 1, out=tmp_path)
    next(tmp_path.glob("a/*.json")).write_text(text)
    with pytest.raises(FileError, match=said):
        run(EXPERIMENT, TOY, 1, out=tmp_path)


def test_data_that_is_not_at_hand_is_left_out_and_said(tmp_path):
    outcome = run(EXPERIMENT, TOY, 1, out=tmp_path, data=tmp_path)
    assert {r.job.data for r in outcome.records} == {"small one"}
    assert len(outcome.missing) == 1
    with pytest.raises(MPSNError, match="Expected the large one"):
        run(EXPERIMENT, TOY, 1, out=tmp_path, data=tmp_path, only=["large one"])
    with pytest.raises(MPSNError, match="Expected data among small one, large one, got 'tiny'"):
        run(EXPERIMENT, TOY, 1, out=tmp_path, only=["tiny"])


def test_seeds_and_devices_are_checked_before_anything_runs(tmp_path):
    with pytest.raises(MPSNError, match="at least one seed"):
        run(EXPERIMENT, TOY, 0, out=tmp_path)
    with pytest.raises(MPSNError, match="Expected a device such as cpu or cuda, got 'toaster'"):
        run(EXPERIMENT, TOY, 1, out=tmp_path, device="toaster")


@pytest.mark.parametrize("processes", [1, 2])
def test_folders_are_checked_before_anything_runs(tmp_path, monkeypatch, processes):
    def refuse(*_):
        raise AssertionError("it ran, or read data")

    (tmp_path / "file").write_text("precious")
    lazy = replace(EXPERIMENT, work=refuse, read=refuse)
    with pytest.raises(FileError, match=r"Expected to write records to .*file.*Not a directory"):
        run(lazy, TOY, 1, out=tmp_path / "file" / "toy", engine=LocalEngine(processes))

    def read_only(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(FileError, match="Read-only file system"):
        run(lazy, TOY, 1, out=tmp_path / "runs", engine=LocalEngine(processes))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


SCRIPT = """
import sys
from pathlib import Path
from toy_experiment import EXPERIMENT, ToyConfig
from mpsn_reproduction.engine import run
from mpsn_reproduction.local import LocalEngine
toys = {name: ToyConfig(float(i), pause=0.02) for i, name in enumerate("abcd")}
run(EXPERIMENT, toys, 2, out=Path(sys.argv[1]), engine=LocalEngine(int(sys.argv[2])))
"""


@pytest.mark.parametrize("processes", ["1", "2"])
def test_killed_runs_resume(tmp_path, processes):
    """Killed as soon as some record appears; records are whole."""
    victim = start(SCRIPT, tmp_path / "killed", processes)
    while not list(tmp_path.glob("killed/*/*.json")):
        assert victim.is_alive()  # it ends only after it has written records
        time.sleep(0.01)
    victim.kill()
    victim.join()
    assert 0 < len(contents(tmp_path / "killed")) < 8
    if hasattr(os, "O_TMPFILE"):
        assert not list(tmp_path.rglob("*.part"))
    toys = {name: ToyConfig(float(i), pause=0.02) for i, name in enumerate("abcd")}
    run(EXPERIMENT, toys, 2, out=tmp_path / "killed")
    run(EXPERIMENT, toys, 2, out=tmp_path / "undisturbed")
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


@pytest.mark.parametrize("moment", ["start", "work"])
def test_workers_end_with_their_parent(tmp_path, moment):
    """Within two seconds, both while they load torch and while they work."""
    script = SCRIPT.replace("pause=0.02", "pause=60.0")
    parent = start(script, tmp_path, 2, env=os.environ | {"TOY_STARTS": str(tmp_path)})
    workers = []
    while len(workers) < 2:
        assert parent.is_alive()
        time.sleep(0.01)
        children = psutil.Process(parent.pid).children(recursive=True)
        workers = [child for child in children if "spawn_main" in "".join(child.cmdline())]
    while moment == "work" and len(list(tmp_path.glob("started-*"))) < 2:
        time.sleep(0.01)
    parent.kill()
    parent.join()
    alive = psutil.wait_procs(workers, timeout=2)[1]
    alive = [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    for process in alive:
        process.kill()
    assert not alive


def test_settings_are_read_from_files(tmp_path):
    file = tmp_path / "row.toml"
    file.write_text("scale = 1\nsizes = [1, 2]\n[inner]\nwidth = 5\n")
    loaded = load(ToyConfig, file)
    assert loaded == ToyConfig(1.0, inner=Inner(5), sizes=(1, 2))
    assert from_plain(ToyConfig, plain(loaded), "JSON") == loaded
    for text, said in [
        ("scale = 1\n[inner]\nheight = 2", "row.toml: inner, got height"),
        ("scale = = 1", "Expected a TOML file"),
    ]:
        file.write_text(text)
        with pytest.raises(MPSNError, match=said):
            load(ToyConfig, file)


def test_records_name_what_differs_from_the_defaults(tmp_path):
    base = ToyConfig(1.0)
    others = [replace(base, epochs=4), replace(base, inner=Inner(3)), replace(base, sizes=(1,))]
    assert len({words(config) for config in (base, *others)}) == 4
    assert words(base) == words(ToyConfig(1.0)) == '{"scale": 1.0}'
    assert differing(others[1]) == {"scale": 1.0, "inner": {"width": 3}}


def test_a_setting_that_was_added_later_changes_no_record(tmp_path):
    @dataclass(frozen=True)
    class Later(ToyConfig):
        added: bool = False

    done = run(EXPERIMENT, TOY, 1, out=tmp_path)
    later = {row: Later(**vars(config)) for row, config in TOY.items()}
    again = run(replace(EXPERIMENT, config=Later, work=None), later, 1, out=tmp_path)
    assert [r.runs for r in again.records] == [r.runs for r in done.records]
    assert len(list(tmp_path.glob("*/*.json"))) == len(done.records)


@pytest.mark.parametrize("name", CATALOG)
def test_records_bring_every_config_back(name):
    experiment = find(name)
    for config in rows(name, experiment.config).values():
        for version in (config, config.quick()):
            assert from_plain(experiment.config, differing(version), name) == version


@pytest.mark.parametrize("name", CATALOG)
def test_all_configs_of_the_project_load_and_have_a_quick_version(name):
    experiment = find(name)
    found = rows(name, experiment.config)
    assert found
    steps = [0, 0]
    for row, config in found.items():
        quick = config.quick()
        assert type(quick) is type(config)
        for i, version in enumerate((config, quick)):
            steps[i] += sum(map(experiment.steps, experiment.jobs(row, version, (0,))))
    assert steps[1] < steps[0] / 2
    with pytest.raises(MPSNError, match=f"Expected a row of experiment {name}.*got 'nonsense'"):
        rows(name, experiment.config, ["nonsense"])


def test_a_figure_that_cannot_be_written_hides_no_table(tmp_path, monkeypatch):
    def full(*_, **__):
        raise FileError("Expected to write a picture, got a full disk.")

    monkeypatch.setattr(_reproduce, "save_figure", full)
    found = _reproduce.reproduce("sr", models=["gin"], seeds=1, quick=True, out=tmp_path)
    assert len(found.table.rows) == 3
    assert found.figures == []
    assert found.missing == ["No figures. Expected to write a picture, got a full disk."]


def test_figures_come_as_png_and_svg(tmp_path):
    records = run(EXPERIMENT, TOY, 1, out=tmp_path).records
    paths = draw(records, DataSets(EXPERIMENT, None), tmp_path / "figures")
    assert [path.name for path in paths] == ["curves.png", "curves.svg"]
    assert all(path.stat().st_size > 500 for path in paths)


def test_two_classes_are_told_apart_by_one_setting():
    """Not by all of them, which would change with every setting that is added to a class."""
    config = rows("tu", find("tu").config, ["proteins-hierarchical"])["proteins-hierarchical"]
    special = differing(config)["sin"]
    assert special["ratio"] == 0.5
    assert [name for name in special if special[name] == Network(Hierarchical)[name]] == ["ratio"]
    assert from_plain(type(config), differing(config), "a record") == config
