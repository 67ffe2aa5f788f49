"""The table and the figure of the next steps of drifters."""

from statistics import fmean, stdev
from typing import TYPE_CHECKING

from mpsn.experiments._experiment import DataSets, Job, Measured, Record, Table, by_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIRECTIONS = ("forward", "reversed")
ORDER = ("markov-1", "markov-2", "scone", "scone-prefixes")


def measured(job: Job) -> Measured:
    """Return what a run has."""
    return Measured(DIRECTIONS)


def table(records: list[Record]) -> Table:
    """Return accuracies forward and reversed."""
    lines = []
    for row, runs in by_row(records, ORDER).items():
        cells = []
        for name in DIRECTIONS:
            values = [run.metrics[name] for run in runs]
            cells.append(f"{fmean(values):.1f} ± {stdev(values) if len(values) > 1 else 0:.1f}")
        lines.append([row, *cells, str(len(runs))])
    notes = [
        "Accuracy in percent on test paths, mean ± sample standard deviation over splits; 18 % is "
        "chance."
    ]
    return Table("Ocean drifters: the next step", ["model", *DIRECTIONS, "runs"], lines, notes)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the accuracies, every split a dot."""
    from matplotlib import pyplot as plt

    found = by_row(records, ORDER)
    figure, axes = plt.subplots(1, 2, figsize=(9, 0.4 * len(found) + 1.2), sharey=True)
    for ax, name in zip(axes, DIRECTIONS, strict=True):
        for i, runs in enumerate(found.values()):
            values = [run.metrics[name] for run in runs]
            ax.plot(values, [i] * len(values), "o", color=f"C{i}", alpha=0.4)
            ax.plot(fmean(values), i, "|", color=f"C{i}", markersize=18)
        ax.set(title=name, xlabel="accuracy, %", yticks=range(len(found)), yticklabels=list(found))
        ax.axvline(18, color="0.7", linestyle=":")
    axes[0].invert_yaxis()
    return {"next": figure}
