"""What README and docs/results.md say is what the records give, and what the configs ask for."""

from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from mpsn_reproduction import Store
from mpsn_reproduction.catalog import CATALOG
from mpsn_reproduction.rows import find, rows
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
def test_tables_in_the_docs_follow_from_the_records(name):
    experiment = find(name)
    store = Store(ROOT / "reproduction/results" / name, experiment.config, experiment.check)
    records, older, bad = store.newest()
    assert records
    assert older == 0
    assert not bad
    current = rows(name, experiment.config)
    assert all(record.job.config == current[record.job.row] for record in records)
    assert all(store.path(record.job).exists() for record in records)  # so none would run again
    assert experiment.table(records).markdown() in (ROOT / "docs" / "results.md").read_text()


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


def test_the_table_of_precisions_follows_from_the_records():
    found = [cells(name, kind) for name in ("flow", "ocean") for kind in ("", "-bf16")]
    models = [row for _, row, column in found[0] if column == "runs"]
    lines = [[row, *(of.get(("", row, "test"), "") for of in found)] for row in models]
    sets = ("synthetic flows", "ocean drifters")
    columns = ["model", *(f"{name}, {kind}" for name in sets for kind in ("float32", "bf16"))]
    table = Table("Test accuracy by precision", columns, lines)
    assert table.markdown() in (ROOT / "docs" / "results.md").read_text()
    for name in ("flow", "ocean"):
        for record in recorded(name, "-bf16")[1]:
            assert record.job.config.training.precision == "bf16"


def test_the_table_of_sin_by_precision_follows_from_the_records():
    found, protocols = [cells("tu"), cells("tu", "-tf32")], ("paper's protocol", "honest")
    sets = list(dict.fromkeys(group for group, _, _ in found[0]))
    lines = [
        [name, *(of[name, "SIN", column] for column in protocols for of in found)] for name in sets
    ]
    columns = [
        "set",
        *(f"{column}, {kind}" for column in protocols for kind in ("float32", "TF32")),
    ]
    table = Table("SIN by precision", columns, lines)
    assert table.markdown() in (ROOT / "docs" / "results.md").read_text()
    for record in recorded("tu", "-tf32")[1]:
        assert record.job.config.train.precision == "tf32"


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
