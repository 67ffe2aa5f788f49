"""The table and the figure of the study on the IMDB sets: differences to GIN, paired over folds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mpsn_reproduction.experiment import DataSets, Job, Measured, Record, Run
from mpsn_reproduction.papers.tu_table import FOLDS
from mpsn_reproduction.table import Table, plus_minus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASE = "gin"
NOTES = [
    "Accuracy in percent on a tenth of each fold's training part, at the epoch that is best on "
    "another tenth; networks are trained on the other eight. Rows that end in -test are scored on "
    "the test folds.",
    "Against GIN: difference of the accuracies of the same seeds and folds, averaged over seeds, ± "
    "its standard error over folds. Folds share training graphs, so errors are a little too small, "
    "and among many rows some differ by two of them by chance.",
    "At the end: the same accuracy as a mean over the last fifth of the epochs, without any choice "
    "of an epoch. In training: accuracy in the last epoch, with dropout.",
    "A lookup answers with the most frequent class of the training graphs that have equal numbers "
    "of vertices, edges and triangles (sizes), equal degrees, or equal colors under SWL.",
]


class Row(NamedTuple):
    """The runs of a row on a data set, by seed and fold."""

    data: str
    name: str
    runs: dict[tuple[int, int], Run]

    def mean(self, metric: str) -> str:
        """Return the mean of a metric in percent, or nothing where runs lack it."""
        values = [run.metrics.get(metric, np.nan) for run in self.runs.values()]
        return "" if np.isnan(values).any() else f"{100 * np.mean(values):.1f}"


def rows(records: Sequence[Record]) -> list[Row]:
    """Return what the records have, by data set and then by row."""
    by_name: dict[tuple[str, str], Row] = {}
    for record in records:
        key = (record.job.data, record.job.row)
        row = by_name.setdefault(key, Row(*key, {}))
        row.runs.update({(run.seed, run.fold): run for run in record.runs})
    return [by_name[key] for key in sorted(by_name)]


def against(row: Row, base: Row) -> tuple[float, float] | None:
    """Return the mean difference of two rows in percent, and its standard error over folds.

    It is nothing without common runs; the error of one fold is nan.
    """
    common = row.runs.keys() & base.runs.keys()
    off = {k: row.runs[k].metrics["score"] - base.runs[k].metrics["score"] for k in common}
    folds = sorted({fold for _, fold in common})
    by_fold = [np.mean([off[k] for k in common if k[1] == fold]) for fold in folds]
    if not by_fold:
        return None
    error = np.std(by_fold, ddof=1) / len(by_fold) ** 0.5 if len(by_fold) > 1 else np.nan
    return 100 * float(np.mean(by_fold)), 100 * float(error)


def _base(row: Row, every: Sequence[Row]) -> Row | None:
    """Return the row that a row is compared with: GIN, scored on the same graphs."""
    name = f"{BASE}-test" if row.name.endswith("-test") else BASE
    if row.name == name:
        return None
    return next((other for other in every if other[:2] == (row.data, name)), None)


def table(records: list[Record]) -> Table:
    """Return the accuracies of all rows, and their differences to GIN."""
    every, lines, notes = rows(records), [], list(NOTES)
    for row in every:
        first = next(iter(row.runs.values())).metrics
        base = _base(row, every)
        off = against(row, base) if base else None
        lines.append(
            [
                row.data,
                row.name,
                f"{first['parameters']:g}" if "parameters" in first else "",
                row.mean("score"),
                plus_minus(*off, sign="+") if off else "",
                row.mean("last"),
                row.mean("fit"),
                str(len({seed for seed, _ in row.runs})),
            ]
        )
        if "classes" in first:
            notes.append(
                f"{row.data}: {row.name} distinguishes {first['classes']:g} classes of graphs; "
                f"nothing that distinguishes no more exceeds {100 * first['ceiling']:.1f} on the "
                f"whole set."
            )
        folds = len({fold for _, fold in row.runs})
        if folds < FOLDS:
            notes.append(f"{row.data}: {row.name} on {folds} of {FOLDS} folds.")
    columns = [
        "data set",
        "row",
        "parameters",
        "accuracy",
        "against GIN",
        "at the end",
        "in training",
        "seeds",
    ]
    title = "SIN and GIN on the IMDB sets, one change at a time"
    return Table(title, columns, lines, notes, grouped=True)


def measured(job: Job) -> Measured:
    """Return the metrics of a run."""
    if job.config.lookup:
        return Measured(("score", "classes", "ceiling"))
    return Measured(("score", "last", "fit", "parameters"))


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the differences to GIN with two standard errors, one panel for each data set."""
    every = rows(records)
    differences = {
        (row.data, row.name): off
        for row in every
        if (base := _base(row, every)) and (off := against(row, base))
    }
    if not differences:
        return {}
    from matplotlib import pyplot as plt

    names = sorted({name for _, name in differences}, reverse=True)
    sets = sorted({name for name, _ in differences})
    figure, axes = plt.subplots(
        1,
        len(sets),
        figsize=(2 + 3.2 * len(sets), 1 + 0.25 * len(names)),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for ax, dataset in zip(axes[0], sets, strict=True):
        places = [i for i, name in enumerate(names) if (dataset, name) in differences]
        off, error = zip(*(differences[dataset, names[i]] for i in places), strict=True)
        ax.axvline(0, color="gray", lw=1)
        ax.errorbar(off, places, xerr=2 * np.nan_to_num(error), fmt="o", capsize=2)
        ax.set_yticks(range(len(names)), names, fontsize=8)
        ax.set_title(dataset)
        ax.set_xlabel("points against GIN")
    figure.set_label("Differences to GIN with two standard errors, inside the training parts.")
    return {"imdb": figure}
