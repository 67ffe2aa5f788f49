"""The table and the figure of the experiment on closure."""

from statistics import fmean
from typing import TYPE_CHECKING

from mpsn_reproduction.experiment import DataSets, Job, Measured, Record, differences
from mpsn_reproduction.table import Table, score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COAUTHOR = "coauthor"
BEST = ("AUC", "AUC, overlapping split", "average precision")


def measured(job: Job) -> Measured:
    """Return what a run has."""
    names = ("triples", "closed", "auc", "precision")
    return Measured((*names, "auc_overlapping") if job.data == COAUTHOR else names)


def table(records: list[Record]) -> Table:
    """Return AUC and average precision by data set and score."""
    lines: list[list[str]] = []
    found = _by_row(records)
    for name in _sets(records):
        mine = {row: of[name] for row, of in found.items() if name in of}
        digits = 4 if name == COAUTHOR else 3
        for row, record in mine.items():
            cells = [
                score([run.metrics[metric] for run in record.runs], digits)
                if metric in record.runs[0].metrics
                else ""
                for metric in ("auc", "auc_overlapping")
            ]
            if name != COAUTHOR:
                cells += [score([run.metrics["precision"] for run in record.runs], 3)]
                cells += [f"{_lift(record):.1f}"]
            lines.append([name, row, *cells, *[""] * (4 - len(cells)), str(len(record.runs))])
        runs = {row: record.runs for row, record in mine.items()}
        lines += [
            [name, "network minus logistic", apart, "", "", "", str(apart.runs)]
            for apart in differences(runs, "network", "logistic", ["auc"], digits)
        ]
    columns = ["data set", "score", *BEST, "lift", "runs"]
    title = "Closure: which triples become triangles"
    return Table(title, columns, lines, _notes(records), highest=BEST, grouped=True)


def _notes(records: list[Record]) -> list[str]:
    notes = [
        "Means ± sample standard deviations: over ten splits of the co-author complex, and over "
        "seeds of the network on temporal sets, which have one split. Lift is the ratio of average "
        "precision to the share of triples that close."
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
    figure.set_label("AUC of each score on each data set, a dot for every split or seed.")
    return {"closure": figure}
