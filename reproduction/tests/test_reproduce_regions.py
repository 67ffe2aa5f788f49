"""Linear regions: exact counts beside the theorems', recorded like every other experiment."""

import json

import numpy as np

from mpsn_reproduction import reproduce
from mpsn_reproduction.papers import regions


def test_the_table_of_an_edge(mpsn, tmp_path):
    code, out, _ = mpsn("reproduce", "regions", "--quick", "--json", "--out", tmp_path)
    assert code == 0
    result = json.loads(out)
    lines = {(d, m): cells for _, d, m, *cells in result["table"]["rows"]}
    assert lines["1", "3"] == ["4 (4)", "8 (8)", "68 (74)"]
    assert lines["2", "4"] == ["64 (64)", "512 (512)", "2000 (2048)"]
    assert len(result["runs"]) == 3 * 2 * 2
    assert result["figures"] == []


def test_figures_are_drawn_for_the_triangle(tmp_path, monkeypatch):
    small = regions.INPUTS["triangle, d = 1"]._replace(widths=(1,))
    monkeypatch.setitem(regions.INPUTS, "triangle, d = 1", small)
    monkeypatch.setattr(regions, "count", lambda W: len(W))
    assert regions.area(np.array([[1, 1], [3, 1], [3, 2], [1, 2]])) == 2
    result = reproduce("regions", only=["triangle, d = 1"], seeds=1, out=tmp_path)
    assert [path.name for path in result.figures] == [
        f"{name}.{kind}" for name in ("regions", "regions_populated") for kind in ("png", "svg")
    ]
