"""The report: one page, whole, of everything that is recorded, and what a browser makes of it."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import toy_experiment
from browser import CHROMIUM, Browser
from mpsn.errors import FileError
from mpsn_reproduction import page as module
from mpsn_reproduction.catalog import Entry
from mpsn_reproduction.engine import run
from mpsn_reproduction.page import report, write_report
from toy_experiment import EXPERIMENT, ToyConfig


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CATALOG", {"toy": Entry("Toys.")})
    monkeypatch.setitem(sys.modules, "mpsn_reproduction.papers.toy", toy_experiment)
    run(EXPERIMENT, {"a": ToyConfig(1.0), "b": ToyConfig(2.0)}, 1, out=tmp_path / "toy")
    return tmp_path


def test_the_page_needs_nothing_else(runs):
    page = report(runs)
    assert "<h2>Toys &amp; &lt;things&gt;</h2>" in page
    assert page.count("data:image/png;base64,") == page.count("<img ") == 1
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "<script" not in page
    assert 'name="viewport"' in page
    assert "(quick)" not in page
    assert "mpsn reproduce toy --model a,b --seeds 1 --data DIR --out RUNS" in page
    assert "Seeds 0, folds 0 to 1" in page


def test_quick_runs_and_changed_configs_stand_apart(runs):
    run(EXPERIMENT, {"a": replace(ToyConfig(1.0), epochs=4)}, 1, out=runs / "toy")
    run(EXPERIMENT, {"a": ToyConfig(1.0).quick()}, 1, out=runs / "toy-quick")
    page = report(runs)
    assert "things&gt; (quick)</h2>" in page
    assert "mpsn reproduce toy --model a --seeds 1 --quick" in page
    assert "Left out: 2 records of older settings." in page


def test_the_page_is_written_whole(runs, tmp_path):
    write_report(runs, tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == report(runs)
    with pytest.raises(FileError, match="Expected to write the report"):
        write_report(runs, tmp_path / "new" / "report.html" / "below")


def test_a_folder_without_records_is_said(tmp_path):
    (tmp_path / "sr").mkdir()
    (tmp_path / "sr" / "swl.txt").write_text("no record")
    with pytest.raises(FileError, match=r"Expected records of experiments in .* without runs"):
        report(tmp_path)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return a page of real records: a wide table, many groups, quoted figures and differences."""
    folder = tmp_path_factory.mktemp("records")
    for name in ("sr", "flow", "coauthor"):
        (folder / name).symlink_to(Path(__file__).parents[1] / "results" / name)
    write_report(folder, folder / "report.html")
    return folder / "report.html"


def test_figures_tables_and_notes_are_marked(page):
    text = page.read_text(encoding="utf-8")
    assert "<td><strong>96.7 ± 1.5</strong></td>" in text
    assert "<td><em><strong>95.2 ± 1.8</strong></em></td>" in text
    assert "<td>+31.2 ± 2.7</td>" in text
    assert text.count("<img ") == 3
    assert "mpsn reproduce flow --device cuda --out RUNS" in text
    assert "mpsn reproduce sr --data DIR --out RUNS" in text
    assert "NVIDIA H200" in text


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_in_a_browser(page, tmp_path):
    browser = Browser(tmp_path / "profile", 1280, 900)
    try:
        browser.open(page)
        asked = [event["request"]["url"] for event in browser.seen("Network.requestWillBeSent")]
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert browser.run("[...document.images].every(image => image.naturalWidth > 300)")
        for width in (1280, 390):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.call("Emulation.setDeviceMetricsOverride", **size)
            wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            assert browser.run(wide)
        inside = "[...document.querySelectorAll('table')].some(e => e.scrollWidth > e.clientWidth)"
        assert browser.run(inside)  # tables scroll
    finally:
        browser.close()
