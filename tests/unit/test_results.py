"""What docs/results.md says is what the records in results/ give, and what the configs ask for."""

from pathlib import Path

import pytest

from mpsn.experiments import Store
from mpsn.experiments._catalog import CATALOG
from mpsn.experiments._rows import find, rows

ROOT = Path(__file__).parents[2]


LACKING = dict.fromkeys(
    ["zinc", "fair"], pytest.mark.xfail(strict=True, reason="its runs are not recorded yet")
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=LACKING.get(name, ())) for name in CATALOG]
)
def test_tables_in_the_docs_follow_from_the_records(name):
    experiment = find(name)
    folder = ROOT / "results" / name
    records, older, bad = Store(folder, experiment.config, experiment.check).newest()
    assert records
    assert older == 0
    assert not bad
    current = rows(name, experiment.config)
    assert all(record.job.config == current[record.job.row] for record in records)
    assert experiment.table(records).markdown() in (ROOT / "docs" / "results.md").read_text()


@pytest.mark.parametrize("name", ["brec", "ocean", "sr"])
def test_pictures_of_the_report_have_captions(name):
    experiment = find(name)
    records = Store(ROOT / "results" / name, experiment.config, experiment.check).newest()[0]
    figures = experiment.figures(records, None)
    assert figures
    for figure in figures.values():
        assert figure.get_label().endswith(".")
        for ax in figure.axes:  # legends stand beside the curves
            assert ax.get_legend() is None or ax.get_legend().get_window_extent().y0 >= ax.bbox.y1
