"""The table and the figures that the experiments on edge flows share."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mpsn.datasets import FlowDataset
from mpsn_reproduction.experiment import Job, Measured, Record, by_row, differences
from mpsn_reproduction.table import Cell, Table, quoted, score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = ("train", "test")
COMPARED = ("mpsn-tanh", "gnn-l0-inv")  # the second is taken from the first
COLORS = ("#1f77b4", "#d95f02")  # of class 0 and class 1


class Row(NamedTuple):
    """The label of a row, and train / test accuracies in percent to compare with.

    ``paper`` is from the paper's table on trajectories; ``rerun`` from a re-run of its models with
    five seeds on one H200, without this package, on newly generated walks.
    """

    label: str
    paper: str = ""
    rerun: str = ""


def measured(job: Job) -> Measured:
    """Return what a run has: accuracies, and those of a network over the epochs with its loss."""
    return Measured(
        ("train", "test"), dict.fromkeys(("loss", "train", "test"), job.config.training.epochs)
    )


def accuracy_table(
    title: str, rows: Mapping[str, Row], records: list[Record], *, quick: bool
) -> Table:
    """Return one line per row that has records, ours beside the paper's and a re-run's."""
    lines: list[list[str]] = []
    found = by_row(records, rows)
    for name, runs in found.items():
        row = rows.get(name, Row(name))
        ours = [score([run.metrics[part] for run in runs]) for part in PARTS]
        theirs = [_quoted(given, i) for given in (row.paper, row.rerun) for i in range(2)]
        lines.append([row.label, *ours, *theirs, str(len(runs))])
    notes = [
        "Accuracy in percent at the end of training, mean ± sample standard deviation over runs. "
        "Training flows share one orientation of the edges, each test flow has its own."
    ]
    if apart := differences(found, *COMPARED, PARTS):
        name = " minus ".join(rows[row].label for row in COMPARED)
        lines.append([name, *apart, "", "", "", "", str(apart[0].runs)])
    if quick:
        notes.append("A small version (--quick): do not compare it with the paper's figures.")
    columns = [f"{of}{part}" for of in ("", "paper: ", "re-run: ") for part in PARTS]
    return Table(title, ["model", *columns, "runs"], lines, notes, highest=columns[1::2])


def _quoted(given: str, i: int) -> Cell:
    return quoted((given or "/").split("/")[i].strip())


def flow_figures(
    name: str, rows: Mapping[str, Row], records: list[Record], data: FlowDataset | None
) -> "dict[str, Figure]":
    """Draw the complex and the harmonic coordinates, if there is data, and training curves."""
    from matplotlib import pyplot as plt

    figures = {}
    if data is not None:
        figure, ax = plt.subplots(figsize=(5, 5))
        draw_walks(data, ax)
        figure.set_label("The complex, and a path of each class.")
        figures[f"{name}_complex"] = figure
        figure, ax = plt.subplots(figsize=(5, 4))
        draw_harmonic(data, ax)
        angle = harmonic_angle(data)
        figure.set_label(
            "Every path, projected onto the harmonic flows: the mean directions of the classes are "
            f"at an angle of {angle:.0f} degrees."
        )
        figures[f"{name}_harmonic"] = figure
    curves = {
        rows.get(row, Row(row)).label: [run.curve for run in runs if run.curve]
        for row, runs in by_row(records, rows).items()
    }
    curves = {label: found for label, found in curves.items() if found}
    if curves:
        figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
        for ax, part in zip(axes, ("loss", "train", "test"), strict=True):
            draw_curves(curves, part, ax)
        figure.legend(
            *axes[2].get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False
        )
        figure.set_label("Training loss, training accuracy and test accuracy by epoch.")
        figures[f"{name}_curves"] = figure
    return figures


def draw_walks(data: FlowDataset, ax: "Axes") -> "Axes":
    """Draw the complex and the first test walk of each class."""
    points = data.positions.numpy()
    ax.triplot(*points.T, data.complex.simplices(2).numpy(), color="0.75", linewidth=0.5)
    for label, color in enumerate(COLORS):
        first = int(((data.y == label) & ~data.train).nonzero()[0])
        walk = points[data.paths[first]]
        ax.plot(*walk.T, color=color, linewidth=2, label=f"class {label}")
        ax.plot(*walk[0], "o", color=color)
        ax.plot(*walk[-1], "s", color=color)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title("A walk of each class, from the circle to the square")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False)
    return ax


def draw_harmonic(data: FlowDataset, ax: "Axes") -> "Axes":
    """Draw each flow at its coordinates in the harmonic space, the kernel of L₁."""
    places = harmonic_coordinates(data)
    for label, color in enumerate(COLORS):
        for train, marker in ((True, "."), (False, "x")):
            which = ((data.y == label) & (data.train == train)).numpy()
            name = f"class {label}, {'train' if train else 'test'}"
            ax.plot(*places[which].T[:2], marker, color=color, label=name, alpha=0.6)
    ax.set(xlabel="first harmonic coordinate", ylabel="second", title="Flows in the kernel of L₁")
    ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    return ax


def harmonic_coordinates(data: FlowDataset) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """Return the inner products of each flow with an orthonormal basis of ker L₁, (N, b_1)."""
    return np.asarray((data.complex.harmonic_basis(1).T @ data.x.double()).T)


def harmonic_angle(data: FlowDataset) -> float:
    """Return the angle between the mean harmonic coordinates of the classes, in degrees."""
    places = harmonic_coordinates(data)
    one, two = (places[(data.y == label).numpy()].mean(axis=0) for label in (0, 1))
    cosine = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    return float(np.degrees(np.arccos(cosine)))


def draw_curves(
    curves: Mapping[str, list[dict[str, list[float]]]], part: str, ax: "Axes"
) -> "Axes":
    """Draw the mean over runs and their range, by epoch."""
    for i, (label, runs) in enumerate(curves.items()):
        values = np.array([run[part] for run in runs])
        epochs = np.arange(1, values.shape[1] + 1)
        ax.plot(epochs, values.mean(axis=0), color=f"C{i}", label=label)
        ax.fill_between(epochs, values.min(axis=0), values.max(axis=0), color=f"C{i}", alpha=0.2)
    if part == "loss":
        ax.set(yscale="log", ylabel="training loss", xlabel="epoch")
    else:
        ax.set(ylabel=f"{part} accuracy, %", xlabel="epoch")
    return ax
