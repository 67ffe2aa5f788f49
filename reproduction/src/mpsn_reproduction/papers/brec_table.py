"""The table and the figure of BREC."""

from collections.abc import Sequence
from math import isnan, nan
from statistics import fmean
from typing import TYPE_CHECKING

from mpsn_reproduction.experiment import DataSets, Job, Measured, Record
from mpsn_reproduction.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CATEGORIES = {
    "basic": range(60),
    "simple regular": range(60, 110),
    "strongly regular": range(110, 160),
    "extension": range(160, 260),
    "CFI": range(260, 360),
    "4-vertex condition": range(360, 380),
    "distance regular": range(380, 400),
}


def table(records: list[Record]) -> Table:
    """Return the number of pairs distinguished, by test or network and category."""
    present = [name for name in CATEGORIES if name in {r.job.data for r in records}]
    lines = []
    for row, mine in _by_row(records).items():
        told = [fmean(_told(mine[name])) if name in mine else nan for name in present]
        total = sum(value for value in told if not isnan(value))
        cells = [
            Cell("-" if isnan(value) else f"{value:.1f}".removesuffix(".0")).having(value=value)
            for value in [*told, total]
        ]
        lines.append([row, *cells, _agreement(list(mine.values()))])
    sizes = [f"{name} ({len(CATEGORIES[name])})" for name in present]
    total = sum(len(CATEGORIES[name]) for name in present)
    columns = ["test or network", *sizes, f"total ({total})", "network against test"]
    notes = [
        "Pairs distinguished, for networks the mean over seeds; - is not run, and not in the "
        "total. Rings are chordless cycles, triangles among them. Marks are used on the pairs that "
        "are indistinguishable without, since they can only help."
    ]
    return Table("BREC: pairs distinguished", columns, lines, notes, highest=columns[1:-1])


def measured(job: Job) -> Measured:
    """Return what a run has; of a network, whether it agrees with its test."""
    names = ("pairs", "distinguished")
    return Measured(names if job.config.exact else (*names, "as_test", "against_test"))


def _by_row(records: list[Record]) -> dict[str, dict[str, Record]]:
    """Return the records by row and category; tests by their strength, then networks."""
    found: dict[str, dict[str, Record]] = {}
    for record in records:
        found.setdefault(record.job.row, {})[record.job.data] = record

    def key(row: str) -> tuple[bool, float, str]:
        mine = found[row].values()
        total = sum(fmean(_told(record)) for record in mine)
        return any("as_test" in r.runs[0].metrics for r in mine), total, row

    return {row: found[row] for row in sorted(found, key=key)}


def _told(record: Record) -> list[float]:
    return [run.metrics["distinguished"] for run in record.runs]


def _agreement(records: Sequence[Record]) -> str:
    metrics = [run.metrics for record in records for run in record.runs]
    if "as_test" not in metrics[0]:
        return ""
    if all(m["as_test"] == 1 for m in metrics):
        return "the test's pairs in all runs"
    finer = sum(m["against_test"] for m in metrics)
    same = sum(m["as_test"] == 1 for m in metrics)
    return f"the test's pairs in {same} of {len(metrics)} runs, {finer:g} pairs against it"


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the pairs of each category that each test or network distinguishes."""
    from matplotlib import pyplot as plt

    rows = _by_row(records)
    figure, ax = plt.subplots(figsize=(9, 0.4 * len(rows) + 1.5))
    left = [0.0] * len(rows)
    for name in CATEGORIES:
        wide = [fmean(_told(mine[name])) if name in mine else 0.0 for mine in rows.values()]
        if any(name in mine for mine in rows.values()):
            ax.barh(list(rows), wide, left=left, label=f"{name} ({len(CATEGORIES[name])})")
        left = [a + b for a, b in zip(left, wide, strict=True)]
    ax.set_xlabel("pairs distinguished")
    ax.set_xlim(0, sum(map(len, CATEGORIES.values())))
    ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    figure.set_label("Pairs of each category that a test or a network distinguishes.")
    return {"brec": figure}
