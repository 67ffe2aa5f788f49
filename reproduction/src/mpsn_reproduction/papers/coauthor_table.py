"""The table and the figure of the experiment on missing citations."""

from statistics import fmean
from typing import TYPE_CHECKING

from mpsn_reproduction.experiment import DataSets, Job, Measured, Record, Run
from mpsn_reproduction.table import Table, score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIVEN, SHARES = "given", ("10", "20", "30", "40", "50")
DIMS = range(6)
ORDER = ("median", "mean-incident", "mean-adjacent", "bounds")


def measured(job: Job) -> Measured:
    """Return what a run has."""
    return Measured(tuple(f"{name}_{k}" for name in ("error", "within") for k in DIMS))


def table(records: list[Record]) -> Table:
    """Return the mean absolute error per dimension by share and row, and Ebli et al.'s accuracy."""
    lines = []
    for (share, row), runs in _runs(records).items():
        cells = [score([run.metrics[f"error_{k}"] for run in runs], 3) for k in DIMS]
        within = [100 * fmean(run.metrics[f"within_{k}"] for run in runs) for k in DIMS]
        text = " ".join(f"{value:.1f}" for value in within)
        lines.append([_name(share), row, *cells, text, str(len(runs))])
    columns = ["missing", "imputed by", *(f"dim {k}" for k in DIMS), "within 10 %", "runs"]
    notes = [
        "Mean absolute error in citations on the missing simplices of each dimension, mean ± "
        "sample standard deviation over random patterns; on the given pattern over seeds of the "
        "network. "
        "Within 10 %: percentage of the missing values, in dimensions 0 to 5.",
    ]
    dims = columns[2:-2]
    return Table("Missing citations", columns, lines, notes, lowest=dims, grouped=True)


def _name(share: str) -> str:
    return "30 %, given" if share == GIVEN else f"{share} %"


def _runs(records: list[Record]) -> dict[tuple[str, str], list[Run]]:
    """Return the runs by share and row."""
    found: dict[tuple[str, str], list[Run]] = {}
    for record in records:
        found.setdefault((record.job.data, record.job.row), []).extend(record.runs)

    def key(pair: tuple[str, str]) -> tuple[int, int, str]:
        share, row = pair
        place = ORDER.index(row) if row in ORDER else len(ORDER)
        return (GIVEN, *SHARES).index(share), place, row

    return {pair: found[pair] for pair in sorted(found, key=key)}


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the error in each dimension over the share of missing values, or by row if but one."""
    from matplotlib import pyplot as plt

    found = _runs(records)
    shares = [s for s in SHARES if any(s == share for share, _ in found)] or [GIVEN]
    rows = list(dict.fromkeys(row for share, row in found if share in shares))
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), sharex=True)
    for k, ax in zip(DIMS, axes.ravel(), strict=True):
        for i, row in enumerate(rows):
            mine = [(s, found[s, row]) for s in shares if (s, row) in found]
            means = [fmean(run.metrics[f"error_{k}"] for run in runs) for _, runs in mine]
            ax.plot([_name(s) for s, _ in mine], means, "o-", color=f"C{i}", label=row)
        ax.set_title(f"dimension {k}")
        ax.set_yscale("symlog", linthresh=0.01)
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.3)
    for ax in axes[:, 0]:
        ax.set_ylabel("mean absolute error")
    for ax in axes[1]:
        ax.set_xlabel("missing")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(rows),
        frameon=False,
    )
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.set_label("Mean absolute error in each dimension, by the share of missing citations.")
    return {"coauthor": figure}
