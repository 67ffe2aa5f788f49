"""The table and the figure of the experiment on closure."""

from statistics import fmean, stdev
from typing import TYPE_CHECKING

from mpsn.experiments._experiment import DataSets, Job, Measured, Record, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COAUTHOR = "coauthor"


def measured(job: Job) -> Measured:
    """Return what a run has."""
    names = ("triples", "closed", "auc", "precision")
    return Measured((*names, "auc_overlapping") if job.data == COAUTHOR else names)


def table(records: list[Record]) -> Table:
    """Return AUC and average precision by score, one block of columns per data set."""
    found, columns, lines = _by_row(records), ["score"], []
    for name in _sets(records):
        if name == COAUTHOR:
            columns += [f"{name}: AUC", "AUC, overlapping split"]
        else:
            columns += [f"{name}: AUC", "precision", "lift"]
    for row, mine in found.items():
        cells = []
        for name in _sets(records):
            if name not in mine:
                cells += ["-"] * (2 if name == COAUTHOR else 3)
                continue
            cells.append(_spread(mine[name], "auc", 4 if name == COAUTHOR else 3))
            if name == COAUTHOR:
                cells.append(_spread(mine[name], "auc_overlapping", 4))
            else:
                cells += [_spread(mine[name], "precision", 3), f"{_lift(mine[name]):.1f}"]
        lines.append([row, *cells])
    return Table("Closure: which triples become triangles", columns, lines, _notes(records))


def _notes(records: list[Record]) -> list[str]:
    notes = [
        "Means ± sample standard deviations: over ten splits of the co-author complex, and over "
        "seeds of the network on temporal sets, which have one split. Precision is average "
        "precision, lift its ratio to the share of triples that close."
    ]
    for name in _sets(records):
        run = next(r.runs[0].metrics for r in records if r.job.data == name)
        notes.append(f"{name}: {run['closed']:,} of {run['triples']:,} test triples are positive.")
    return notes


def _sets(records: list[Record]) -> list[str]:
    return sorted(
        {record.job.data for record in records}, key=lambda name: (name != COAUTHOR, name)
    )


def _by_row(records: list[Record]) -> dict[str, dict[str, Record]]:
    """Return the records by row and set; fixed scores, then regression and network."""
    found: dict[str, dict[str, Record]] = {}
    for record in records:
        found.setdefault(record.job.row, {})[record.job.data] = record
    learned = ("logistic", "network")

    def key(row: str) -> tuple[int, str]:
        score = next(iter(found[row].values())).job.config.score
        return learned.index(score) if score in learned else -1, row

    return {row: found[row] for row in sorted(found, key=key)}


def _spread(record: Record, metric: str, digits: int) -> str:
    values = [run.metrics[metric] for run in record.runs]
    mean = f"{fmean(values):.{digits}f}"
    return f"{mean} ± {stdev(values):.{digits}f}" if len(values) > 1 else mean


def _lift(record: Record) -> float:
    return fmean(
        run.metrics["precision"] * run.metrics["triples"] / max(1, run.metrics["closed"])
        for run in record.runs
    )


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the AUC of each score on each data set, every run a dot."""
    from matplotlib import pyplot as plt

    names, found = _sets(records), _by_row(records)
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.5 * len(names), 0.35 * len(found) + 1), sharey=True, squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        for i, mine in enumerate(found.values()):
            values = [run.metrics["auc"] for run in mine[name].runs] if name in mine else []
            ax.plot(values, [i] * len(values), "o", alpha=0.5, color=f"C{i}")
        ax.set(title=name, xlabel="AUC", yticks=range(len(found)), yticklabels=list(found))
        ax.grid(axis="x", alpha=0.3)
    axes[0, 0].invert_yaxis()
    return {"closure": figure}
