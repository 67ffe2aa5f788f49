"""The scores of the surfaces, and the table and the figure that show them."""

from statistics import fmean, stdev
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from mpsn_reproduction.experiment import DataSets, Job, Measured, Record, Run, by_row
from mpsn_reproduction.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = {"type": "type", "orientable": "orientable", "genus": "genus", "b1": "b₁"}
PARTS = {  # of the test surfaces
    "test": "all",
    "n8": "≤ 8 vertices",
    "n9": "9 vertices",
    "n10": "10 vertices",
    "once": "subdivided once",
    "twice": "subdivided twice",
}
RULES = ("majority", "euler", "betti")
ROWS = (*RULES, "gin", "sin", "harmonic", "oriented", "diffusion-fixed", "diffusion")


def scores(part: str, y: Tensor, guess: Tensor) -> dict[str, int | float]:
    """Return the scores of all tasks, from classes and predictions (surfaces, tasks), by name."""
    out: dict[str, int | float] = {}
    for i, task in enumerate(TASKS):
        out |= dict(
            zip(
                (f"{part}_{task}_balanced", f"{part}_{task}_mcc"),
                balanced_accuracy_and_mcc(y[:, i], guess[:, i]),
                strict=True,
            )
        )
    return out


def balanced_accuracy_and_mcc(y: Tensor, guess: Tensor) -> tuple[float, float]:
    """Return the mean recall of the classes present, and Matthews' correlation coefficient.

    The latter is 0 if there is only one class, or only one is predicted.
    """
    n = int(torch.maximum(y.max(), guess.max())) + 1
    table = torch.bincount(y * n + guess, minlength=n * n).view(n, n).double()
    truth, said, total = table.sum(1), table.sum(0), table.sum()
    recall = table.diagonal()[truth > 0] / truth[truth > 0]
    spread = (total**2 - (truth**2).sum()) * (total**2 - (said**2).sum())
    mcc = (table.trace() * total - truth @ said) / spread.sqrt() if spread > 0 else spread
    return float(recall.mean()), float(mcc)


def table(records: list[Record]) -> Table:
    """Return balanced accuracies and correlation coefficients, by part, model and task."""
    rows = by_row(records, ROWS)
    lines = [
        [label, row, *(_cell(runs, part, task) for task in TASKS), str(len(runs))]
        for part, label in PARTS.items()
        for row, runs in rows.items()
        if _has(runs, part)
    ]
    notes = [
        "Balanced accuracy / Matthews' correlation coefficient, mean over seeds, each with a split "
        "of its own; ± is the standard deviation. Twice subdivided are at most 50 test surfaces of "
        "each type. "
        "majority, euler and betti are rules: the most frequent class of training surfaces, of "
        "those with the same Euler number, and of those with the same Betti numbers. Bold are the "
        "best balanced accuracies."
    ]
    columns = ["test surfaces", "model", *TASKS.values(), "runs"]
    title, best = "Surfaces with up to 10 vertices", list(TASKS.values())
    return Table(title, columns, lines, notes, highest=best, grouped=True)


def measured(job: Job) -> Measured:
    """Return what a run has."""
    parts = ("test", "once", "twice")[: 1 + job.config.subdivisions]
    return Measured(
        tuple(f"{p}_{t}_{m}" for p in parts for t in TASKS for m in ("balanced", "mcc"))
    )


def _has(runs: list[Run], part: str) -> bool:
    return any(f"{part}_type_balanced" in run.metrics for run in runs)


def _values(runs: list[Run], name: str) -> list[float]:
    return [run.metrics[name] for run in runs if name in run.metrics]


def _cell(runs: list[Run], part: str, task: str) -> Cell:
    shown = []
    for measure in ("balanced", "mcc"):
        values = _values(runs, f"{part}_{task}_{measure}")
        if not values:  # an incomplete record
            return Cell("-")
        spread = stdev(values) if len(values) > 1 else 0.0
        shown.append(f"{fmean(values):.3f}" + f" ± {spread:.3f}" * (spread >= 0.0005))
    value = float(shown[0].split(" ± ")[0])
    return Cell(" / ".join(shown)).having(value=value, runs=len(runs))


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the scores by number of vertices, and after subdivisions."""
    from matplotlib import pyplot as plt

    rows = by_row(records, ROWS)
    parts = [part for part in list(PARTS)[1:] if any(_has(runs, part) for runs in rows.values())]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    shown = (("type_balanced", "type: balanced accuracy"), ("orientable_mcc", "orientable: MCC"))
    for ax, (name, title) in zip(axes, shown, strict=True):
        for i, (row, runs) in enumerate(rows.items()):
            points = [(j, _values(runs, f"{part}_{name}")) for j, part in enumerate(parts)]
            x = [j + (i - len(rows) / 2) * 0.07 for j, values in points if values]
            y = [fmean(values) for _, values in points if values]
            rule = row in RULES
            ax.plot(x, y, "x" if rule else "o", color=f"C{i}", label=row, ms=6)
            ax.plot(x, y, ":" if rule else "-", color=f"C{i}", lw=0.8, alpha=0.6)
        ax.set_title(title)
        ax.set_xticks(range(len(parts)), [PARTS[part] for part in parts], rotation=20)
        ax.grid(axis="y", alpha=0.3)
        ax.set_ylim(-0.3, 1.05)
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.set_label("Scores by the number of vertices, and after subdivisions, mean over seeds.")
    return {"surfaces": figure}
