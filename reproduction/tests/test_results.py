"""What README and docs/results.md say is what the records give, and what the configs ask for."""

from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from mpsn_reproduction import Store
from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.page import ABOUT
from mpsn_reproduction.settings import rows
from mpsn_reproduction.store import words
from mpsn_reproduction.table import Table

ROOT = Path(__file__).parents[2]
SHORT = {  # rows of README's table of graph classification: model and column
    "SIN, paper's protocol": ("SIN", "paper's protocol"),
    "SIN in the paper": ("SIN", "quoted"),
    "GIN, paper's protocol": ("GIN", "paper's protocol"),
    "GIN in the paper": ("GIN", "quoted"),
    "SIN, honest": ("SIN", "honest"),
    "GIN, honest": ("GIN", "honest"),
    "SIN minus GIN, honest": ("SIN minus GIN", "honest"),
}


@pytest.mark.parametrize("name", CATALOG)
def test_records_are_of_the_documented_settings(name):
    experiment = find(name)
    store = Store(ROOT / "reproduction/results" / name, experiment.config, experiment.check)
    records, older, bad = store.newest()
    assert records
    assert older == 0
    assert not bad
    current = rows(name, experiment.config)
    assert all(record.job.config == current[record.job.row] for record in records)
    assert all(store.path(record.job).exists() for record in records)  # so none would run again


def test_the_page_of_results_follows_from_the_records(mpsn, tmp_path):
    """If not: mpsn report reproduction/results --docs docs."""
    assert mpsn("report", ROOT / "reproduction/results", "--docs", tmp_path)[0] == 0
    docs = ROOT / "docs"
    assert (tmp_path / "results.md").read_text() == (docs / "results.md").read_text()
    drawn, shown = ({path.name for path in (d / "img/results").iterdir()} for d in (tmp_path, docs))
    assert drawn == shown


def test_the_page_of_results_has_few_words_by_hand():
    papers = (ROOT / "reproduction/src/mpsn_reproduction/papers").glob("*.md")
    texts = {path.stem: path.read_text() for path in papers}
    assert texts.keys() == CATALOG.keys()
    assert len(" ".join([ABOUT, *texts.values()]).split()) <= 2500


@pytest.mark.parametrize("name", CATALOG)
def test_tables_say_what_is_beside_their_figures(name):
    experiment, records = recorded(name)
    table = experiment.table(records)
    measured = [c for row in table.rows for c in row if getattr(c, "kind", "") == "measured"]
    if any(" ± " in cell for cell in measured):
        said = "standard error" if name == "imdb" else "sample standard deviation"
        assert said in " ".join(table.notes)


@pytest.mark.parametrize(("name", "kind"), [("flow", "bf16"), ("ocean", "bf16"), ("tu", "tf32")])
def test_records_in_another_precision_say_so(name, kind):
    _, records = recorded(name, f"-{kind}")
    assert records
    assert all(f'"precision": "{kind}"' in words(record.job.config) for record in records)


def recorded(name, kind=""):
    """Return an experiment and its records."""
    experiment = find(name)
    store = Store(
        ROOT / "reproduction/results" / (name + kind), experiment.config, experiment.check
    )
    return experiment, store.newest()[0]


def cells(name, kind=""):
    """Return the cells of a table by group, row and column."""
    experiment, records = recorded(name, kind)
    table = experiment.table(records)
    return {
        (row[0] if table.grouped else "", row[int(table.grouped)], column): cell
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
    }


def test_the_tables_in_the_readme_follow_from_the_records():
    flow, ocean = cells("flow"), cells("ocean")
    models = [row for _, row, column in flow if column == "runs"]
    lines = [
        [
            row,
            *(
                of.get(("", row, column), "")
                for of in (flow, ocean)
                for column in ("test", "paper: test")
            ),
        ]
        for row in models
    ]
    columns = ["model", "synthetic flows", "paper: synthetic", "ocean drifters", "paper: ocean"]
    flows = Table("Edge flows in unseen orientations", columns, lines, highest=columns[1:])
    tu = cells("tu")
    sets = list(dict.fromkeys(group for group, _, _ in tu))
    lines = [
        [name, *(tu[data, row, column] for data in sets)] for name, (row, column) in SHORT.items()
    ]
    graphs = Table("Graph classification", ["model", *sets], lines)
    readme = (ROOT / "README.md").read_text()
    assert flows.markdown() in readme
    assert graphs.markdown() in readme


@pytest.mark.parametrize("name", [name for name in CATALOG if name != "zinc"])
def test_pictures_of_the_report_have_captions(name):
    experiment, records = recorded(name)
    figures = experiment.figures(records, None)
    if name in ("fair", "imdb") and not figures:
        pytest.skip("nothing to draw yet")
    assert figures
    for figure in figures.values():
        assert figure.get_label().endswith(".")
        for ax in figure.axes:  # legends stand beside the curves
            legend = ax.get_legend() and ax.get_legend().get_window_extent()
            assert legend is None or legend.y0 >= ax.bbox.y1 or legend.x0 >= ax.bbox.x1
        plt.close(figure)
