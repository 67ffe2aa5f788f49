"""mpsn reproduce sr, flow and ocean, as a user meets them: small versions, odd input."""

import json
import sys

import pytest

from mpsn_reproduction import local as _local
from mpsn_reproduction.catalog import CATALOG


def test_sr_prints_a_table_and_leaves_figures_and_records(mpsn, tmp_path, monkeypatch):
    monkeypatch.delenv("MPSN_DATA", raising=False)
    status, out, err = mpsn(
        *("reproduce", "sr", "--quick", "--seeds", 1, "--model", "swl,gin", "--out", tmp_path)
    )
    assert status == 0, err
    assert "SR(25,12,5,6)" in out.replace("\n", "")
    assert f"records: {tmp_path / 'sr-quick'}" in out
    assert (tmp_path / "sr-quick" / "figures" / "sr.png").exists()
    assert (tmp_path / "sr-quick" / "figures" / "sr.svg").exists()
    page = tmp_path / "report.html"
    status, out, err = mpsn("report", tmp_path, "-o", page)
    assert status == 0, err
    assert "(quick)</h2>" in page.read_text(encoding="utf-8")


def test_json_is_for_programs(mpsn, tmp_path):
    status, out, _ = mpsn(
        *("reproduce", "sr", "--quick", "--model", "swl", "--json", "--out", tmp_path)
    )
    assert status == 0
    found = json.loads(out)
    assert {run["data"]: run["failed"] for run in found["runs"]} == {
        "SR(16,6,2,2)": 0,
        "SR(25,12,5,6)": 0,
        "SR(28,12,6,4)": 0,
    }


def test_the_help_has_all_descriptions_whole(mpsn):
    out = "".join(mpsn("reproduce", "--help")[1].split())
    assert all(entry.help.splitlines()[0].replace(" ", "") in out for entry in CATALOG.values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sr", "--model", "transformer"], "Expected a row of experiment sr"),
        (["sr", "--quick", "--family", "SR(5,2,0,1)"], "Expected data among SR(16,6,2,2)"),
        (["brec", "--quick", "--category", "simple regular, nice"], "regular, got 'nice'"),
        (["flow", "--model", "mpsn"], "Expected a row of experiment flow"),
        (["flow", "--quick", "--device", "toaster"], "Expected a device such as cpu or cuda"),
        (["sr", "--precision", "bf16"], "No such option"),
        (["flow", "--precision", "half"], "'half' is not one of"),
        (["sr", "--address", "auto"], "Expected --engine local without --address"),
        (["sr", "--engine", "ray", "--jobs", "2"], "Expected --engine ray without --jobs"),
        (["sr", "--engine", "ray", "--gpus", "1.5"], "Expected a fraction of a GPU for each job"),
    ],
)
def test_unknown_names_are_said_in_one_line(mpsn, tmp_path, arguments, said):
    status, _, err = mpsn("reproduce", *arguments, "--out", tmp_path)
    assert status == 2
    assert said in err.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_without_ray_the_remedy_is_said(mpsn, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    status, _, err = mpsn("reproduce", "sr", "--engine", "ray", "--out", tmp_path)
    assert status == 2
    assert 'pip install "mpsn-reproduction[ray]"' in err.replace("\n", " ")


def test_missing_and_damaged_data_are_said(mpsn, tmp_path, monkeypatch):
    monkeypatch.delenv("MPSN_DATA", raising=False)
    (tmp_path / "ocean").mkdir()
    (tmp_path / "ocean" / "dataBuoys.jld2").write_bytes(b"no HDF5")
    status, _, err = mpsn(
        *("reproduce", "ocean", "--quick", "--data", tmp_path, "--out", tmp_path / "runs")
    )
    assert status == 2
    assert "dataBuoys.jld2" in err


def test_an_interruption_says_how_to_go_on(mpsn, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_local, "perform", interrupt)
    status, _, err = mpsn(
        *("reproduce", "sr", "--quick", "--model", "gin", "--out", tmp_path / "runs")
    )
    assert status == 130
    assert "run the same command again" in err
