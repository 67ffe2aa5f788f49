"""Tables and figures of predictions on whole complexes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mpsn_reproduction.experiment import DataSets, Record, differences
from mpsn_reproduction.table import Table, quoted, score

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table(
    title: str,
    high: bool,
    published: Mapping[str, str],
    notes: Sequence[str],
    names: Sequence[str],
    records: list[Record],
) -> Table:
    """Return the metric of each data set and row in validation and testing, by target if several.

    Whether ``high`` values are good is said by bold ones. The column of others' figures is left out
    where there are none.
    """
    lines: list[list[str]] = []
    by_data: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        by_data.setdefault(record.job.data, {}).setdefault(record.job.row, []).append(record)
    metrics = ["val", "test", *(f"test_{name}" for name in names)]
    for data, rows in by_data.items():
        mine = {row: [run for record in own for run in record.runs] for row, own in rows.items()}
        for row, runs in mine.items():
            seconds = sum(record.seconds for record in rows[row]) / len(runs)
            size = runs[0].metrics.get("parameters")
            means = [score([run.metrics[metric] for run in runs], 4) for metric in metrics]
            theirs = quoted(published.get(row, ""))
            parameters = f"{size:,}" if size else ""
            lines.append([data, row, parameters, *means, theirs, f"{seconds:.0f}", str(len(runs))])
        if apart := differences(mine, "cin", "gin", metrics, 4):
            lines.append([data, "cin minus gin", "", *apart, "", "", str(apart[0].runs)])
    measured = ["validation", "test", *(f"test, {name}" for name in names)]
    columns = ["data set", "model", "parameters", *measured, "published", "s per run", "runs"]
    said = (
        "Mean ± sample standard deviation over seeds, which differ in weights and in the order "
        "of training; at the epoch that is best in validation. Settings of CIN were chosen in "
        "validation; the other rows and the numbers of epochs were not compared. Seeds are "
        "trained in one pass; seconds are those of the pass divided by their number."
    )
    best = [*measured[1:], "published"]
    highest, lowest = (best, []) if high else ([], best)
    return Table(title, columns, lines, [said, *notes], highest, lowest, grouped=True)


def figures(
    name: str, metric: str, records: list[Record], data: DataSets | None
) -> "dict[str, Figure]":
    """Draw the metric in validation over the epochs, one line for each run."""
    from matplotlib import pyplot as plt

    sets, rows = (
        list(dict.fromkeys(names))
        for names in zip(*((r.job.data, r.job.row) for r in records), strict=True)
    )
    figure, axes = plt.subplots(
        1, len(sets), figsize=(2 + 4 * len(sets), 4), squeeze=False, layout="constrained"
    )
    for record in records:
        ax = axes[0, sets.index(record.job.data)]
        for curve in (run.curve["val"] for run in record.runs if "val" in run.curve):
            ax.plot(curve, color=f"C{rows.index(record.job.row)}", label=record.job.row, lw=1)
    for ax, title in zip(axes[0], sets, strict=True):
        low, high = ax.get_ylim()
        ax.set(title=title, xlabel="epoch", yscale="log" if 0 < 3 * low < high else "linear")
    axes[0, 0].set_ylabel(f"{metric} in validation")
    lines = {line.get_label(): line for ax in axes[0] for line in ax.lines}
    if lines:
        figure.legend(
            lines.values(), lines, loc="outside upper center", ncols=len(lines), frameon=False
        )
    said = f"{metric[0].upper()}{metric[1:]} in validation by epoch, a line for each run."
    figure.set_label(said)
    return {name: figure}
