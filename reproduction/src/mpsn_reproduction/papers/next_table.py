"""The table and the figure of the next steps of drifters."""

from statistics import fmean
from typing import TYPE_CHECKING

from mpsn_reproduction.experiment import DataSets, Job, Measured, Record, by_row, differences
from mpsn_reproduction.table import Table, score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIRECTIONS = ("forward", "reversed")
ORDER = ("markov-1", "markov-2", "scone", "scone-prefixes")
COMPARED = ("oriented", "scone-prefixes")  # the second is taken from the first


def measured(job: Job) -> Measured:
    """Return what a run has."""
    return Measured(DIRECTIONS)


def table(records: list[Record]) -> Table:
    """Return accuracies forward and reversed."""
    found = by_row(records, ORDER)
    lines = [
        [row, *(score([run.metrics[d] for run in runs]) for d in DIRECTIONS), str(len(runs))]
        for row, runs in found.items()
    ]
    notes = [
        "Accuracy in percent on test paths, mean ± sample standard deviation over splits; 18 % is "
        "chance."
    ]
    if apart := differences(found, *COMPARED, DIRECTIONS):
        lines.append([" minus ".join(COMPARED), *apart, str(apart[0].runs)])
    columns = ["model", *DIRECTIONS, "runs"]
    return Table("Ocean drifters: the next step", columns, lines, notes, highest=DIRECTIONS)


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
    figure.set_label("Accuracy in each split (dots) and on average (bars); dotted is chance.")
    return {"next": figure}
