"""Cells and tables: what is best, what is a difference, and the same text everywhere."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem, ttest_rel

from mpsn_reproduction.experiment import Run, differences
from mpsn_reproduction.table import DIFFERENCE, Cell, Table, difference, plus_minus, quoted, score

VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=6)


@given(VALUES)
def test_scores_are_means_and_sample_deviations(values):
    cell = score(values, 2)
    mean, deviation = map(float, cell.split(" ± "))
    assert (mean, deviation) == pytest.approx((np.mean(values), np.std(values, ddof=1)), abs=0.0051)
    assert cell.runs == len(values)
    assert score(values[:1]) == f"{values[0]:z.1f}"


@given(VALUES, st.integers(0, 9))
def test_differences_are_those_of_the_paired_test(values, seed):
    other = np.random.default_rng(seed).normal(size=len(values))
    cell = difference(dict(enumerate(values)), {**dict(enumerate(other)), "alone": 5.0})
    apart = np.array(values) - other
    assert cell.value == pytest.approx(apart.mean(), abs=0.051)
    assert cell.spread == pytest.approx(sem(apart))
    if cell.spread > 1e-6:
        assert apart.mean() / cell.spread == pytest.approx(ttest_rel(values, other).statistic)
    assert cell.startswith(("+", "-"))
    assert cell.kind == "difference"
    assert cell.runs == len(values)


def test_differences_need_runs_in_common():
    found = {
        "a": [Run(0, 0, {"m": 3.0}), Run(1, 0, {"m": 5.0}), Run(1, 1, {"m": 9.0})],
        "b": [Run(0, 0, {"m": 1.0}), Run(1, 0, {"m": 1.0})],
        "c": [Run(2, 0, {"m": 1.0}), Run(1, 1, {"m": 1.0})],
    }
    assert differences(found, "a", "b", ["m"]) == ["+3.0 ± 1.0"]
    assert differences(found, "a", "c", ["m"]) == []
    assert differences(found, "a", "d", ["m"]) == []


@pytest.mark.parametrize(
    ("text", "value", "spread"),
    [
        ("54.3 ± 3.3", 54.3, 3.3),
        ("71.4 ± 0.31", 71.4, 0.31),
        ("0.8208", 0.8208, math.nan),
        ("> 3 days", math.nan, math.nan),
        ("", math.nan, math.nan),
    ],
)
def test_quoted_figures_keep_their_text(text, value, spread):
    cell = quoted(text)
    assert cell == text
    assert cell.kind == "quoted"
    assert (cell.value, cell.spread) == pytest.approx((value, spread), nan_ok=True)


def made(values):
    """Return a table of two groups: each row has a figure, the same in the other order, a text."""
    rows = [
        [f"set {i % 2}", f"row {i}", plus_minus(v), quoted(f"{-v:.1f}"), "", "-"]
        for i, v in enumerate(values)
    ]
    rows.append(["set 0", "apart", difference({0: 900.0, 1: 901.0}, {0: 0.0, 1: 0.0}), "", "", ""])
    columns = ["data set", "model", "most", "least", "nothing", "text"]
    notes = ["All of it.", "set 1: about one.", "set 10: about none."]
    return Table("T", columns, rows, notes, ["most", "text"], ["least"], grouped=True)


@given(st.lists(st.floats(0, 3), min_size=2, max_size=9))
def test_the_best_are_marked_by_group_and_as_shown(values):
    table = made(values)
    groups = table.groups()
    assert [group.name for group in groups] == ["set 0", "set 1"]
    assert [group.notes for group in groups] == [[], ["About one."]]
    assert table.remarks == ["All of it.", "set 10: about none.", DIFFERENCE]
    for i, group in enumerate(groups):
        assert group.columns == ["model", "most", "least", "text"]
        shown = [float(f"{v:.1f}") for v in values[i::2]]
        expected = [v == max(shown) and len({*shown}) > 1 for v in shown]
        rows = [row for row in group.rows if row[0] != "apart"]
        assert [row[1].best for row in rows] == [row[2].best for row in rows] == expected
        assert not any(row[3].best for row in rows)
    assert not any(cell.best for row in table.rows for cell in row if isinstance(cell, Cell))


def test_one_text_everywhere():
    table = made([1.0, 2.0, 3.0, 2.5])
    assert json.loads(json.dumps(asdict(table)))["rows"] == [list(row) for row in table.rows]
    assert table.markdown().split("\n\n") == [
        "**T**",
        "All of it.",
        "set 10: about none.",
        DIFFERENCE,
        "**set 0**",
        "| model | most | least | text |\n| --- | --- | --- | --- |\n| row 0 | 1.0 | *-1.0* | - |\n"
        "| row 2 | **3.0** | ***-3.0*** | - |\n| apart | +900.5 ± 0.5 |  |  |",
        "**set 1**",
        "| model | most | least | text |\n| --- | --- | --- | --- |\n| row 1 | 2.0 | *-2.0* | - |\n"
        "| row 3 | **2.5** | ***-2.5*** | - |",
        "About one.",
    ]
    bars = Table("T", ["a"], [["|x|"]])
    assert bars.markdown() == "**T**\n\n| a |\n| --- |\n| \\|x\\| |"
    assert [group.rows for group in Table("T", ["a"], []).groups()] == [[]]
