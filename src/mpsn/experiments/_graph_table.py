"""Tables and figures of predictions on whole complexes."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from mpsn.experiments._experiment import DataSets, Record, Run, Table, by_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table(
    title: str,
    published: Mapping[str, str],
    notes: Sequence[str],
    names: Sequence[str],
    records: list[Record],
) -> Table:
    """Return the metric of each row in validation and testing, and of each target if several."""
    lines = []
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record.job.row, record.job.data), []).append(record)
    for (row, data), some in found.items():
        runs = [run for record in some for run in record.runs]
        seconds = sum(record.seconds for record in some) / len(runs)
        size = runs[0].metrics.get("parameters")
        each = [_mean(runs, f"test_{name}") for name in names]
        lines.append(
            [
                f"{row} {data}".strip(),
                f"{size:,}" if size else "",
                _mean(runs, "val"),
                _mean(runs, "test"),
                *each,
                *([published.get(row, "")] if published else []),
                f"{seconds:.0f}",
                str(len(runs)),
            ]
        )
    each = [f"test, {name}" for name in names]
    columns = ["model", "parameters", "validation", "test", *each]
    columns += ["published"] * bool(published) + ["s per run", "runs"]
    said = (
        "Mean ± standard deviation over seeds, which differ in weights and in the order of "
        "training; at the epoch that is best in validation. Settings of CIN were chosen in "
        "validation; the other rows and the numbers of epochs were not compared. Seeds are "
        "trained in one pass; seconds are those of the pass divided by their number."
    )
    return Table(title, columns, lines, [said, *notes])


def _mean(runs: Sequence[Run], name: str) -> str:
    values = [run.metrics[name] for run in runs]
    spread = f" ± {stdev(values):.4f}" if len(values) > 1 else ""
    return f"{fmean(values):.4f}{spread}"


def figures(
    name: str, metric: str, records: list[Record], data: DataSets | None
) -> "dict[str, Figure]":
    """Draw the metric in validation over the epochs, one line for each run."""
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4))
    for i, (row, runs) in enumerate(by_row(records).items()):
        for run in runs:
            label = row if run is runs[0] else None
            if "val" in run.curve:
                ax.plot(run.curve["val"], color=f"C{i}", label=label, lw=1)
    ax.set(xlabel="epoch", ylabel=f"{metric} in validation", yscale="log")
    if ax.lines:
        ax.legend(frameon=False)
    return {name: figure}
