"""Accuracies on the TU sets under two protocols, beside what the paper quotes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpsn.datasets import TU_SETS
from mpsn.training import best_epoch
from mpsn_reproduction.experiment import DataSets, Job, Measured, Record, Run, by_row
from mpsn_reproduction.table import Cell, Table, difference, plus_minus
from mpsn_reproduction.table import quoted as as_quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDS = 10  # of each set
MODELS = {
    "sin": "SIN",
    "hierarchical": "SIN with pooling",
    "gin": "GIN",
    "dcnn": "DCNN",
    "dgcnn": "DGCNN",
    "ign": "IGN",
    "ppgn": "PPGN",
    "ngn": "Natural GN",
    "gsn": "GSN",
    "swl-kernel": "SWL kernel",
    "wl-kernel": "WL kernel",
    "walk-kernel": "RWK",
    "graphlet-kernel": "GK (k=3)",
    "propagation-kernel": "PK",
}
# Table "Graph classification results" of the paper: PROTEINS, NCI1, IMDB-B, IMDB-M, RDT-B, RDT-M5K.
QUOTED = {
    "SIN": "76.5 ± 3.4, 82.8 ± 2.2, 75.6 ± 3.2, 52.5 ± 3.0, 92.2 ± 1.0, 57.3 ± 1.6",
    "RWK": "59.6 ± 0.1, > 3 days, , , , ",
    "GK (k=3)": "71.4 ± 0.31, 62.5 ± 0.3, , , , ",
    "PK": "73.7 ± 0.7, 82.5 ± 0.5, , , , ",
    "WL kernel": "75.0 ± 3.1, 86.0 ± 1.8, 73.8 ± 3.9, 50.9 ± 3.8, 81.0 ± 3.1, 52.5 ± 2.1",
    "DCNN": "61.3 ± 1.6, 56.6 ± 1.0, 49.1 ± 1.4, 33.5 ± 1.4, , ",
    "DGCNN": "75.5 ± 0.9, 74.4 ± 0.5, 70.0 ± 0.9, 47.8 ± 0.9, , ",
    "IGN": "76.6 ± 5.5, 74.3 ± 2.7, 72.0 ± 5.5, 48.7 ± 3.4, , ",
    "GIN": "76.2 ± 2.8, 82.7 ± 1.7, 75.1 ± 5.1, 52.3 ± 2.8, 92.4 ± 2.5, 57.5 ± 1.5",
    "PPGN": "77.2 ± 4.7, 83.2 ± 1.1, 73.0 ± 5.8, 50.5 ± 3.6, , ",
    "Natural GN": "71.7 ± 1.0, 82.4 ± 1.3, 73.5 ± 2.0, 51.3 ± 1.5, , ",
    "GSN": "76.6 ± 5.0, 83.5 ± 2.0, 77.8 ± 3.3, 54.3 ± 3.3, , ",
}
NOTES = [
    "Accuracy in percent, mean ± sample standard deviation over the folds, averaged over the "
    "seeds; where there are several, in parentheses that of the seeds' means. The paper divides by "
    "n, not n - 1, which makes its deviations 5 % smaller.",
    "Paper's protocol: the epoch (of a kernel: rounds and C) with the best mean over the test "
    "folds, of models trained on all of a fold's training part. It is chosen on test data.",
    "Honest: chosen fold by fold on a tenth of the training part that the model was not trained "
    "on (of a kernel: by cross-validation inside the training part).",
    "Quoted are the numbers of the paper's table, under the paper's protocol; Avg △ and Med △ are "
    "mean and median number of triangles in a graph, which the data read here have, too.",
]
RISING = "†: not converged; the best epoch under the paper's protocol is among the last tenth."


class Score(NamedTuple):
    """Accuracies in percent: their mean, and their sample standard deviation over folds.

    With several seeds, these are means over seeds.
    """

    mean: float
    std: float
    folds: tuple[float, ...] = ()
    """Mean of each fold, over seeds."""
    seeds: tuple[float, ...] = ()
    """Mean of each seed, over folds."""

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "Score":
        """Make a score of accuracies in percent, (seeds, folds)."""
        folds, seeds = (tuple(values.mean(axis=axis).tolist()) for axis in (0, 1))
        spread = values.std(axis=1, ddof=1).mean() if values.shape[1] > 1 else np.nan
        return cls(float(values.mean()), float(spread), folds, seeds)

    def cell(self) -> Cell:
        """Return mean ± deviation over folds (± deviation of the seeds' means)."""
        text = plus_minus(self.mean, self.std, runs=len(self.folds) * len(self.seeds))
        over = f" (± {np.std(self.seeds, ddof=1):.1f})" if len(self.seeds) > 1 else ""
        return Cell(text + over).having(**vars(text))

    def minus(self, other: "Score") -> Cell:
        """Return the difference of the means ± its standard error, paired over folds."""
        if len(self.folds) != len(other.folds):
            return Cell()
        return difference(dict(enumerate(self.folds)), dict(enumerate(other.folds)))


class Row(NamedTuple):
    """The results of a row: its runs, scores under both protocols, and validation accuracy."""

    dataset: str
    model: str
    name: str
    runs: list[Run]
    paper: Score | None
    honest: Score
    val: float

    @property
    def converged(self) -> bool:
        """Whether the best epoch on test folds is before the last tenth of the epochs."""
        if self.paper is None or "kernel" in self.model:
            return True
        means = stack(self.runs, "test").mean(axis=(0, 1))
        return best_epoch(means) < 0.9 * len(means)


def quoted(method: str, dataset: str) -> str:
    """Return the paper's result of a method, such as 54.3 ± 3.3, or an empty string."""
    return QUOTED[method].split(",")[_place(dataset)].strip() if dataset in TU_SETS else ""


def _place(dataset: str) -> int:
    return list(TU_SETS).index(dataset) if dataset in TU_SETS else len(TU_SETS)


def stack(runs: Sequence[Run], name: str) -> NDArray[np.float64]:
    """Return a curve of all runs in percent, (seeds, folds, epochs)."""
    seeds = sorted({run.seed for run in runs})
    ordered = [[r.curve[name] for r in runs if r.seed == seed] for seed in seeds]
    return 100 * np.array(ordered)


def paper_protocol(runs: Sequence[Run]) -> Score:
    """Return the accuracy at the epoch of the best mean over test folds, averaged over seeds."""
    curves = stack(runs, "test")
    best = [best_epoch(curve) for curve in curves.mean(axis=1)]  # of each seed
    return Score.of(curves[np.arange(len(best)), :, best])


def honest_protocol(runs: Sequence[Run]) -> Score:
    """Return the accuracy at the epochs chosen on validation data, averaged over seeds."""
    seeds = sorted({run.seed for run in runs})
    values = [[100 * r.metrics["honest"] for r in runs if r.seed == s] for s in seeds]
    return Score.of(np.array(values))


def at_the_end(runs: Sequence[Run]) -> Score:
    """Return the mean test accuracy over the last fifth of the epochs, of the honest networks."""
    curves = stack(runs, "val_test")
    return Score.of(curves[:, :, -max(1, curves.shape[2] // 5) :].mean(axis=2))


def rows(records: Sequence[Record]) -> list[Row]:
    """Return the scores of all rows of the configs, by data set and model."""
    configs = {record.job.row: record.job.config for record in records}
    out = []
    for name, every in by_row(records).items():
        config, runs = configs[name], _whole_seeds(every)
        paper = paper_protocol(runs) if config.whole else None
        val = float(np.mean([run.metrics["val"] for run in runs]))
        out.append(
            Row(config.dataset, config.model, name, runs, paper, honest_protocol(runs), 100 * val)
        )
    return sorted(out, key=lambda r: (_place(r.dataset), r.dataset, list(MODELS).index(r.model)))


def _whole_seeds(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of the seeds that have the most folds; others were interrupted."""
    folds = Counter(run.seed for run in runs)
    most = max(folds.values())
    kept = [run for run in runs if folds[run.seed] == most]
    return sorted(kept, key=lambda run: (run.seed, run.fold))


def chosen(every: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """Return the row of each model and data set with the best validation accuracy."""
    best: dict[tuple[str, str], Row] = {}
    for row in every:
        key = (row.dataset, row.model)
        if key not in best or row.val > best[key].val:
            best[key] = row
    return best


def table(records: list[Record]) -> Table:
    """Return our accuracies on each data set, then those the paper quotes."""
    every = rows(records)
    best = chosen(every)
    lines = []
    for dataset in dict.fromkeys(row.dataset for row in every):
        mine = {MODELS[model]: row for (of, model), row in best.items() if of == dataset}
        if dataset in TU_SETS:
            mean, median = (
                Cell(float(n)).having(kind="quoted") for n in TU_SETS[dataset].triangles
            )
            lines += [[dataset, "Avg △", "", mean, "", ""], [dataset, "Med △", "", median, "", ""]]
        for name in dict.fromkeys([*mine, *QUOTED]):
            theirs = quoted(name, dataset) if name in QUOTED else ""
            if row := mine.get(name):
                paper = row.paper.cell() if row.paper else Cell()
                if not row.converged:
                    paper = Cell(f"{paper} †").having(**vars(paper))
                seeds = str(len({run.seed for run in row.runs}))
                lines.append([dataset, name, paper, as_quoted(theirs), row.honest.cell(), seeds])
            elif theirs:
                lines.append([dataset, name, "", as_quoted(theirs), "", ""])
        if {"SIN", "GIN"} <= {*mine}:
            sin, gin = mine["SIN"], mine["GIN"]
            paper = sin.paper.minus(gin.paper) if sin.paper and gin.paper else Cell()
            honest = sin.honest.minus(gin.honest)
            if paper or honest:
                lines.append([dataset, "SIN minus GIN", paper, "", honest, ""])
    columns = ["data set", "model", "paper's protocol", "quoted", "honest", "seeds"]
    title, notes = "Graph classification on the TU data sets", [*NOTES, *_notes(every, best)]
    return Table(title, columns, lines, notes, highest=columns[2:5], grouped=True)


def _notes(every: Sequence[Row], best: dict[tuple[str, str], Row]) -> Iterator[str]:
    if not all(row.converged for row in best.values()):
        yield RISING
    present = {row.dataset for row in every}
    absent = [name for name in TU_SETS if name not in present]
    if absent and present & TU_SETS.keys():
        yield f"Not run: {', '.join(absent)}."
    for key, row in best.items():
        rivals = [other for other in every if other[:2] == key and other.name != row.name]
        for other in rivals:
            yield (
                f"{row.dataset}: of {row.name} and {other.name} the first is shown; its validation "
                f"accuracy is {row.val:.1f}, the other's {other.val:.1f}."
            )
    for dataset in dict.fromkeys(row.dataset for row in every):
        run = next(row for row in every if row.dataset == dataset).runs[0]
        kind = "those of Xu et al. 2019" if run.metrics["given"] else "stratified ones"
        over = f"; {run.metrics['untested']:g} graphs are in no test fold"
        yield f"{dataset}: the folds are {kind}{over * (run.metrics['untested'] > 0)}."
        for (of, model), row in best.items():
            folds = len({run.fold for run in row.runs})
            if of == dataset and folds < FOLDS:
                yield f"{dataset}: {MODELS[model]} on {folds} of {FOLDS} folds."
        sin, gin = (best.get((dataset, model)) for model in ("sin", "gin"))
        if not run.metrics.get("classes", 1):
            yield f"{dataset}: regression; instead of accuracies these are R² in percent."
        if sin and sin.paper and quoted("SIN", dataset):
            mean, std = map(float, quoted("SIN", dataset).split("±"))
            off = sin.paper.mean - mean
            verdict = "within" if abs(off) <= std else "not within"
            yield (
                f"{dataset}: SIN is {off:+z.1f} from the paper's {mean} ± {std}, {verdict} one "
                f"standard deviation."
            )
        if sin and gin and (apart := at_the_end(sin.runs).minus(at_the_end(gin.runs))):
            yield (
                f"{dataset}: SIN minus GIN, of the honest networks on average over the last fifth "
                f"of the epochs, where none is chosen: {apart}."
            )


def measured(job: Job) -> Measured:
    """Return what a run has: metrics, and curves over the epochs, or over rounds and costs."""
    config = job.config
    names = ("val", "val_test", "test", "loss", "train")
    if config.kernel:
        curves = dict.fromkeys(names[:3], len(config.kernel.rounds) * len(config.kernel.costs))
    else:
        curves = dict.fromkeys(names if config.whole else names[:2], config.train.epochs)
    return Measured(("honest", "val", "given", "untested"), curves)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw accuracy against the number of triangles, and the curves of the networks."""
    best = chosen(rows(records))
    of_paper = {key: row for key, row in best.items() if key[0] in TU_SETS}
    drawn = {"tu_triangles": _triangles(of_paper)} if of_paper else {}
    networks = {key: row for key, row in best.items() if "kernel" not in key[1] and row.paper}
    if networks:
        drawn["tu_curves"] = _curves(networks)
    return drawn


def _triangles(best: dict[tuple[str, str], Row]) -> "Figure":
    from matplotlib import pyplot as plt

    datasets = sorted({dataset for dataset, _ in best}, key=lambda name: TU_SETS[name].triangles[0])
    figure, ax = plt.subplots(figsize=(2 + 1.5 * len(datasets), 4.5))
    models = [name for name in MODELS if any(row.model == name for row in best.values())]
    for i, name in enumerate(models):
        own = [row for row in best.values() if row.model == name]
        shift = 0.6 * ((i + 0.5) / len(models) - 0.5)
        x = [datasets.index(row.dataset) + shift for row in own]
        y, spread = zip(*(row.honest[:2] for row in own), strict=True)
        mark, color = "s" if "kernel" in name else "o", _color(name)
        ax.errorbar(x, y, spread, fmt=mark, ms=4, capsize=2, label=MODELS[name], color=color)
        paper = [row.paper.mean if row.paper else np.nan for row in own]
        ax.plot(x, paper, mark, ms=4, mfc="none", color=color)
    theirs = [float(quoted("SIN", dataset).split("±")[0]) for dataset in datasets]
    places = np.arange(len(datasets))
    ax.hlines(theirs, places - 0.3, places + 0.3, "k", label="SIN in the paper (its protocol)")
    names = [f"{dataset}\n{TU_SETS[dataset].triangles[0]:g}" for dataset in datasets]
    ax.set_xticks(places, names, fontsize=8)
    ax.set(
        xlim=(-0.5, len(datasets) - 0.5),
        xlabel="data sets by their mean number of triangles in a graph",
        ylabel="accuracy in percent",
    )
    ax.legend(fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    figure.set_label(
        "Accuracy, and the mean number of triangles in a graph. Filled markers with bars are "
        "honest; hollow ones, and the paper's line, have the epoch chosen on test data."
    )
    return figure


def _color(model: str) -> str:
    """Return the color of a model, the same in all pictures."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return to_hex(colormaps["tab20"](list(MODELS).index(model)))


def _curves(best: dict[tuple[str, str], Row]) -> "Figure":
    from matplotlib import pyplot as plt

    datasets = list(dict.fromkeys(dataset for dataset, _ in best))
    wide, high = min(3, len(datasets)), -(-len(datasets) // 3)
    figure, axes = plt.subplots(
        high, wide, figsize=(3.6 * wide, 3 * high + 0.5), squeeze=False, layout="constrained"
    )
    for ax in axes.flat[len(datasets) :]:
        ax.axis("off")
    lines = {}
    for ax, dataset in zip(axes.flat, datasets, strict=False):
        for model in (name for name in MODELS if (dataset, name) in best):
            row = best[dataset, model]
            curves = stack(row.runs, "test")  # (seeds, folds, epochs)
            mean, std = curves.mean((0, 1)), curves.std(1, ddof=min(1, curves.shape[1] - 1)).mean(0)
            epochs, color = np.arange(1, len(mean) + 1), _color(model)
            lines[MODELS[model]] = ax.plot(epochs, mean, lw=1, color=color)[0]
            if model in ("sin", "gin"):
                ax.fill_between(epochs, mean - std, mean + std, alpha=0.2, lw=0, color=color)
        ax.set(title=dataset, xlabel="epoch")
    figure.legend(
        lines.values(), lines, loc="outside upper center", ncols=min(9, len(lines)), frameon=False
    )
    figure.supylabel("test accuracy, mean over folds and seeds")
    figure.set_label(
        "Test accuracy by epoch, mean over folds and seeds; of SIN and GIN also the standard "
        "deviation over folds."
    )
    return figure
