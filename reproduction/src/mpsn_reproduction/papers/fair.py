"""The protocol of Errica et al. (2020) on the TU sets: ten folds, each with a validation part.

A network is trained on a fold's inner training part; epoch and settings are selected on its
validation part, and only then is it tested, once. The settings to select from are the rows of a
data set and model.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from mpsn.datasets import TU, TU_SETS, TUDataset
from mpsn.errors import ConfigError
from mpsn_reproduction.experiment import DataSets, Job, Measured, Record, Resources, Run
from mpsn_reproduction.papers import tu
from mpsn_reproduction.papers.folds import Folds, fair_folds
from mpsn_reproduction.papers.tu_table import FOLDS, Score
from mpsn_reproduction.table import Cell, Table, quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS = {"sin": "SIN", "gin": "GIN", "agnostic": "structure-agnostic"}
# By Errica et al.: GIN, and their structure-agnostic baseline; with degrees on the last three sets.
PUBLISHED = {
    "PROTEINS": ("73.3 ± 4.0", "75.8 ± 3.7"),
    "NCI1": ("80.0 ± 1.4", "69.8 ± 2.2"),
    "IMDB-BINARY": ("71.2 ± 3.9", "70.8 ± 5.0"),
    "IMDB-MULTI": ("48.5 ± 3.3", "49.1 ± 3.5"),
    "REDDIT-BINARY": ("89.9 ± 1.9", "82.2 ± 3.0"),
}
NOTES = [
    "Test accuracy in percent, mean ± sample standard deviation over the folds, averaged over the "
    "seeds; where there are several, in parentheses that of the seeds' means. Epoch and settings "
    "of each fold and seed are those with the best accuracy on its validation part.",
    "Structure-agnostic: a perceptron on each vertex, the sum over vertices, and a perceptron; "
    "edges are not used.",
    "Published figures are those of Errica et al., who search larger grids and use the degree of a "
    "vertex as its feature on IMDB and REDDIT. Here vertices of IMDB have one-hot degrees, those "
    "of REDDIT-BINARY the constant 1.",
]


def select(datasets: Sequence[str], models: Sequence[str]) -> dict[str, tu.TUConfig]:
    """Return the rows of some data sets and models, or rows named themselves."""
    for name in datasets:
        if name not in PUBLISHED:
            raise ConfigError(f"Expected data sets among {', '.join(PUBLISHED)}, got {name!r}.")
    return tu.select(datasets or [*PUBLISHED], models, experiment="fair", labels=MODELS)


def read(name: str, folder: Path | None) -> tuple[TUDataset, Folds]:
    """Read a data set and its splits."""
    data = TU(name, folder)
    return data, fair_folds(name, data.y, folder)


def work(job: Job, resources: Resources) -> list[Run]:
    """Train on every fold; ``imbalance`` is how far the folds are from stratified, in percent."""
    data, folds = resources.data
    off = 100 * imbalance(folds, data.y)
    runs = tu.work(job, resources)
    return [replace(run, metrics={**run.metrics, "imbalance": off}) for run in runs]


def imbalance(folds: Folds, y: Tensor) -> float:
    """Return how far the share of a class in some part is from that in the whole set, at most."""

    def shares(classes: Tensor) -> Tensor:
        return classes.bincount(minlength=int(y.max()) + 1) / len(classes)

    parts = [rows for split in folds.splits for rows in split.values()]
    return max(float((shares(y[rows]) - shares(y)).abs().max()) for rows in parts)


def selected(records: Sequence[Record]) -> dict[tuple[str, str], Score]:
    """Return the test accuracies by data set and model, of the best settings in validation.

    Seeds that have fewer folds than others are left out: they were interrupted.
    """
    best: dict[tuple[str, str], dict[int, dict[int, Run]]] = defaultdict(dict)
    for record in records:
        config = record.job.config
        of = best[config.dataset, config.model]
        for run in record.runs:
            folds = of.setdefault(run.seed, {})
            other = folds.get(run.fold)
            if other is None or run.metrics["val"] > other.metrics["val"]:
                folds[run.fold] = run
    out = {}
    for key, seeds in best.items():
        most = max(map(len, seeds.values()))
        whole = [seeds[s] for s in sorted(seeds) if len(seeds[s]) == most]
        values = [[100 * folds[k].metrics["honest"] for k in sorted(folds)] for folds in whole]
        out[key] = Score.of(np.array(values))
    return out


def table(records: list[Record]) -> Table:
    """Return our accuracies beside those of Errica et al."""
    scores, lines, notes = selected(records), [], list(NOTES)
    for dataset in (name for name in TU_SETS if any(key[0] == name for key in scores)):
        published = dict(zip(("gin", "agnostic"), PUBLISHED[dataset], strict=True))
        for model, label in MODELS.items():
            score = scores.get((dataset, model))
            ours, seeds = (score.cell(), str(len(score.seeds))) if score else (Cell(), "")
            if score or model in published:
                theirs = quoted(published.get(model, ""))
                lines.append([dataset, label, ours, theirs, seeds])
            if score and len(score.folds) < FOLDS:
                notes.append(f"{dataset}: {label} on {len(score.folds)} of {FOLDS} folds.")
        sin, gin = scores.get((dataset, "sin")), scores.get((dataset, "gin"))
        if sin and gin and (off := sin.minus(gin)):
            lines.append([dataset, "SIN minus GIN", off, "", ""])
        most = next(r.runs[0].metrics["imbalance"] for r in records if r.job.data == dataset)
        notes.append(
            f"{dataset}: the share of a class in a part of a fold is at most {most:.1f} points off "
            f"that in the whole set."
        )
    columns = ["data set", "model", "test accuracy", "published", "seeds"]
    title = "Graph classification on the splits of Errica et al."
    return Table(title, columns, lines, notes, highest=columns[2:4], grouped=True)


def measured(job: Job) -> Measured:
    """Return what a run has: what it has in `mpsn reproduce tu`, and ``imbalance``."""
    metrics, curves = tu.EXPERIMENT.measured(job)
    return Measured((*metrics, "imbalance"), curves)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Return none."""
    return {}


EXPERIMENT = replace(
    tu.EXPERIMENT,
    name="fair",
    read=read,
    work=work,
    table=table,
    figures=figures,
    select=select,
    measured=measured,
)
