"""What each table reports, computed once more in a few lines from the runs of its records."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import floor, log10
from statistics import fmean, stdev

import numpy as np
import pytest

from mpsn_reproduction.catalog import CATALOG, find
from mpsn_reproduction.experiment import Record, Run
from mpsn_reproduction.settings import rows

Text = Callable[..., str]  # from the runs of one row, or of two, to a cell


def values(runs, metric):
    return [run.metrics[metric] for run in runs]


def by_fold(runs, of):
    """Return a number of each run in percent, (seeds, folds)."""
    seeds = sorted({run.seed for run in runs})
    return 100 * np.array([[of(run) for run in runs if run.seed == seed] for seed in seeds])


def over_runs(metric, digits=1, scale=1):
    def text(runs):
        numbers = [scale * value for value in values(runs, metric)]
        return f"{fmean(numbers):.{digits}f} ± {stdev(numbers):.{digits}f}"

    return text


def mean(metric):
    return lambda runs: f"{100 * fmean(values(runs, metric)):.1f}"


def minus(metric, digits=1, scale=1):
    def text(ours, theirs):
        other = {(run.seed, run.fold): run.metrics[metric] for run in theirs}
        apart = [scale * (run.metrics[metric] - other[run.seed, run.fold]) for run in ours]
        return f"{fmean(apart):+z.{digits}f} ± {stdev(apart) / len(apart) ** 0.5:.{digits}f}"

    return text


def honest(run):
    return run.metrics["honest"]


def of_peak(runs):
    """Return the test accuracies at the epoch of each seed that is best on average, in percent."""
    epochs = len(runs[0].curve["test"])
    by_epoch = [by_fold(runs, lambda run, e=e: run.curve["test"][e]) for e in range(epochs)]
    return np.array(
        [max((now[s] for now in by_epoch), key=np.mean) for s in range(len(by_epoch[0]))]
    )


def rising(runs):
    """Return the mark of networks whose best epoch on average is among the last tenth."""
    means = np.mean([run.curve["test"] for run in runs], axis=0)
    return " †" if means[: -len(means) // 10].max() < means.max() else ""


def over_folds(table):
    spread, seeds = np.mean([stdev(folds) for folds in table]), [np.mean(row) for row in table]
    return f"{np.mean(table):.1f} ± {spread:.1f} (± {stdev(seeds):.1f})"


def minus_over_folds(ours, theirs):
    apart = (ours - theirs).mean(axis=0)
    return f"{np.mean(apart):+z.1f} ± {stdev(apart) / len(apart) ** 0.5:.1f}"


def score_of(run):
    return run.metrics["score"]


def balanced_and_mcc(task):
    parts = [over_runs(f"test_{task}_{measure}", 3) for measure in ("balanced", "mcc")]
    return lambda runs: " / ".join(part(runs) for part in parts)


def rate(runs):
    """As many digits as the standard error has with two."""
    spread = stdev(values(runs, "rate"))
    digits = 1 - floor(log10(spread / len(runs) ** 0.5))
    return f"{fmean(values(runs, 'rate')):.{digits}f} ± {spread:.{digits}f}"


def failed(runs):
    return f"{fmean(values(runs, 'failed')):.1f} of {runs[0].metrics['pairs']:.0f}"


def lift(runs):
    """How much more precise than chance."""
    chances = [run.metrics["closed"] / run.metrics["triples"] for run in runs]
    return f"{np.mean(np.array(values(runs, 'precision')) / chances):.1f}"


def distinguished(runs):
    return f"{fmean(values(runs, 'distinguished')):.1f}".removesuffix(".0")


def regions_of_width_1(runs):
    return f"{' '.join(map(str, sorted({int(m) for m in values(runs, 'm1')})))} (4)"


@dataclass(frozen=True)
class Reported:
    """What the table of an experiment has to show for two rows, or one.

    Attributes:
        name: The experiment.
        labels: What the rows are called in the table, by the name of their config.
        columns: The cells of a row, from its runs.
        data: The data set. Defaults to the first one.
        apart: The label of the difference of the first row and the second, and its cells.
    """

    name: str
    labels: dict[str, str]
    columns: dict[str, Text]
    data: str = ""
    apart: tuple[str, dict[str, Text]] = field(default=("", {}))


def graph_level(name, others=()):
    columns = {"validation": "val", "test": "test", **{f"test, {x}": f"test_{x}" for x in others}}
    return Reported(
        name,
        {"cin": "cin", "gin": "gin"},
        {column: over_runs(metric, 4) for column, metric in columns.items()},
        apart=("cin minus gin", {column: minus(m, 4) for column, m in columns.items()}),
    )


def flows(name):
    return Reported(
        name,
        {"mpsn-tanh": "MPSN Tanh", "gnn-l0-inv": "GNN L₀-inv"},
        {part: over_runs(part) for part in ("train", "test")},
        apart=("MPSN Tanh minus GNN L₀-inv", {part: minus(part) for part in ("train", "test")}),
    )


REPORTED = [
    Reported(
        "regions",
        {"gnn": "edge"},
        {
            "GNN (theorem)": regions_of_width_1,
        },
    ),
    Reported(
        "tu",
        {"proteins-sin": "SIN", "proteins-gin": "GIN"},
        {
            "paper's protocol": lambda runs: over_folds(of_peak(runs)) + rising(runs),
            "honest": lambda runs: over_folds(by_fold(runs, honest)),
        },
        apart=(
            "SIN minus GIN",
            {
                "paper's protocol": lambda a, b: minus_over_folds(of_peak(a), of_peak(b)),
                "honest": lambda a, b: minus_over_folds(by_fold(a, honest), by_fold(b, honest)),
            },
        ),
    ),
    Reported(
        "fair",
        {"proteins-sin": "SIN", "proteins-gin": "GIN"},
        {"test accuracy": lambda runs: over_folds(by_fold(runs, honest))},
        apart=(
            "SIN minus GIN",
            {
                "test accuracy": lambda a, b: minus_over_folds(
                    by_fold(a, honest), by_fold(b, honest)
                )
            },
        ),
    ),
    Reported(
        "imdb",
        {"sin": "sin", "gin": "gin"},
        {"accuracy": mean("score"), "at the end": mean("last"), "in training": mean("fit")},
        apart=(
            "sin",
            {
                "against GIN": lambda a, b: minus_over_folds(
                    by_fold(a, score_of), by_fold(b, score_of)
                )
            },
        ),
    ),
    Reported(
        "shapes",
        {"sin": "SIN", "gin": "GIN, on the graph"},
        {"accuracy": over_runs("accuracy", scale=100)},
        apart=("SIN minus GIN", {"accuracy": minus("accuracy", scale=100)}),
    ),
    graph_level("zinc"),
    graph_level("molhiv"),
    graph_level("moleculenet"),
    graph_level("counting", ("3-cycles", "chordal 4-cycles")),
    flows("flow"),
    flows("ocean"),
    Reported(
        "next",
        {"oriented": "oriented", "scone-prefixes": "scone-prefixes"},
        {way: over_runs(way) for way in ("forward", "reversed")},
        apart=(
            "oriented minus scone-prefixes",
            {way: minus(way) for way in ("forward", "reversed")},
        ),
    ),
    Reported(
        "coauthor",
        {"mpsn": "mpsn", "snn": "snn"},
        {
            **{f"dim {k}": over_runs(f"error_{k}", 3) for k in range(6)},
            "within 10 %": lambda runs: " ".join(mean(f"within_{k}")(runs) for k in range(6)),
        },
    ),
    Reported(
        "closure",
        {"network": "network", "logistic": "logistic"},
        {"AUC": over_runs("auc", 4), "AUC, overlapping split": over_runs("auc_overlapping", 4)},
        "coauthor",
        ("network minus logistic", {"AUC": minus("auc", 4)}),
    ),
    Reported(
        "closure",
        {"network": "network"},
        {
            "AUC": over_runs("auc", 3),
            "average precision": over_runs("precision", 3),
            "lift": lift,
        },
        "email-Enron",
    ),
    Reported(
        "surfaces",
        {"sin": "sin", "majority": "majority"},
        {
            column: balanced_and_mcc(task)
            for task, column in {"type": "type", "genus": "genus", "b1": "b₁"}.items()
        },
    ),
    Reported(
        "sr",
        {"sin": "sin", "gin": "gin"},
        {"failure rate": rate, "pairs failed": failed},
    ),
    Reported(
        "brec",
        {"cin": "cin", "wl": "wl"},
        {"basic (60)": distinguished, "total (60)": distinguished},
        "basic",
    ),
]


def random_runs(experiment, job, rng):
    """Return runs with all that is measured in them, any numbers."""
    metrics, curves = experiment.measured(job)
    return [
        Run(
            seed,
            fold,
            {name: rng.uniform(10, 90) for name in metrics},
            {name: rng.uniform(10, 90, length).tolist() for name, length in curves.items()},
        )
        for seed in job.seeds
        for fold in job.folds
    ]


@pytest.mark.parametrize("reported", REPORTED, ids=lambda reported: reported.name)
def test_tables_show_what_runs_have(reported):
    experiment, rng = find(reported.name), np.random.default_rng(0)
    records, runs = [], {}
    for row, config in rows(reported.name, experiment.config, list(reported.labels)).items():
        jobs = experiment.jobs(row, config, (0, 1, 2))
        for job in (job for job in jobs if job.data == (reported.data or jobs[0].data)):
            drawn = random_runs(experiment, job, rng)
            records.append(Record(job, drawn, 1.0, 1, {}))
            runs.setdefault(row, []).extend(drawn)
    table = experiment.table(records)
    lines = {}
    for line in reversed(table.rows):  # the first of each name
        lines[line[int(table.grouped)]] = dict(zip(table.columns, line, strict=True))
    for row, label in reported.labels.items():
        for column, text in reported.columns.items():
            assert lines[label][column] == text(runs[row])
    label, cells = reported.apart
    for column, text in cells.items():
        assert lines[label][column] == text(*(runs[row] for row in reported.labels))


def test_no_table_is_forgotten():
    assert {reported.name for reported in REPORTED} == CATALOG.keys()
