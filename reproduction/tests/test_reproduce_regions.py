"""`mpsn reproduce regions` as a user runs it."""

import json
import sys

import pytest

from mpsn_reproduction.papers import regions

SMALL = [row for row in regions.SWEEP if row[0] == "edge"]


def test_table(mpsn, monkeypatch):
    monkeypatch.setattr(regions, "SWEEP", SMALL)
    code, out, _ = mpsn("reproduce", "regions", "--seeds", 2)
    assert code == 0
    assert "regions, 2 seeds" in out
    assert "≤ 2048" in out  # MPSN, d=2, m=4
    assert "= 512" in out  # SCNN, d=2, m=4


def test_json_and_figures(mpsn, monkeypatch, tmp_path):
    monkeypatch.setattr(regions, "SWEEP", SMALL[:1])
    code, out, _ = mpsn("reproduce", "regions", "--json", "--plot", tmp_path / "figures")
    found = json.loads(out)
    assert code == 0
    models = {row["model"]: row for row in found["rows"] if row["m"] == 3}
    assert models["GNN"]["regions"] == [4, 4, 4]
    assert models["SCNN"]["regions"] == [8, 8, 8]
    assert models["MPSN"]["regions"] == [68, 68, 68]
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [
        "regions.png",
        "regions.svg",
        "regions_populated.png",
        "regions_populated.svg",
    ]
    assert sorted(path.rsplit("/", 1)[1] for path in found["figures"]) == names


@pytest.mark.parametrize("arguments", [("--seeds", 0), ("--plot",)])
def test_bad_arguments(mpsn, arguments):
    assert mpsn("reproduce", "regions", *arguments)[0] == 2


def test_a_picture_that_cannot_be_drawn_is_one_line(mpsn, monkeypatch, tmp_path):
    monkeypatch.setattr(regions, "SWEEP", SMALL[:1])
    file = tmp_path / "taken"
    file.touch()
    for place in (file, file / "inside"):
        code, out, err = mpsn("reproduce", "regions", "--plot", place)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"error: Expected to write a picture to {place}/regions.png, got" in err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = mpsn("reproduce", "regions", "--plot", tmp_path / "figures")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "error: Expected matplotlib for --plot, got none; pip install matplotlib." in err
