"""The report: one page, whole, of everything that is recorded."""

import re
import sys
from dataclasses import replace

import pytest

import toy_experiment
from mpsn.errors import FileError
from mpsn.experiments import _report as module
from mpsn.experiments._engine import run
from mpsn.experiments._report import report, write_report
from toy_experiment import EXPERIMENT, ToyConfig


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CATALOG", ("toy",))
    monkeypatch.setitem(sys.modules, "mpsn.experiments._toy", toy_experiment)
    run(EXPERIMENT, {"a": ToyConfig(1.0), "b": ToyConfig(2.0)}, 1, out=tmp_path / "toy")
    return tmp_path


def test_the_page_needs_nothing_else(runs):
    page = report(runs)
    assert "Toys &amp; &lt;things&gt;" in page
    assert page.count("data:image/png;base64,") == 1
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "<script" not in page
    assert 'name="viewport"' in page
    assert "toy-quick" not in page
    assert "scale = 2.0" in page


def test_quick_runs_and_changed_configs_stand_apart(runs):
    run(EXPERIMENT, {"a": replace(ToyConfig(1.0), epochs=4)}, 1, out=runs / "toy")
    run(EXPERIMENT, {"a": ToyConfig(1.0).quick()}, 1, out=runs / "toy-quick")
    page = report(runs)
    assert "<h2>toy-quick</h2>" in page
    assert "Left out: 2 records of older settings." in page
    assert "epochs = 4" in page


def test_the_page_is_written_whole(runs, tmp_path):
    write_report(runs, tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == report(runs)
    with pytest.raises(FileError, match="Expected to write the report"):
        write_report(runs, tmp_path / "new" / "report.html" / "below")


def test_a_folder_without_records_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CATALOG", ())
    with pytest.raises(FileError, match=r"Expected records of experiments in .* without runs"):
        report(tmp_path)
