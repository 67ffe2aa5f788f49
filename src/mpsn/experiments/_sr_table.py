"""The table and the figure of the strongly regular graphs, and the figures to compare with."""

from math import floor, hypot, log10
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from mpsn.experiments._experiment import DataSets, Job, Measured, Record, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Mean failure rates and standard errors over seeds 0 to 9 of the authors' public code
# (twitter-research/cwn, 2023-06), run on torch 2.13; the paper shows them only as a figure. GIN
# fails on every pair, as the paper says too.
AUTHORS: dict[str, dict[str, tuple[float, float]]] = {
    "SR(16,6,2,2)": {"sin": (0, 0), "mlp_sum": (0, 0)},
    "SR(25,12,5,6)": {"sin": (0.0362, 0.0040), "mlp_sum": (0.0952, 0)},
    "SR(26,10,3,4)": {"sin": (0.0667, 0), "mlp_sum": (0.0667, 0)},
    "SR(28,12,6,4)": {"sin": (0, 0), "mlp_sum": (0, 0)},
    "SR(29,14,6,7)": {"sin": (0.0121, 0.0026), "mlp_sum": (0.1902, 0)},
    "SR(35,16,6,8)": {"sin": (0.00039, 0.00005), "mlp_sum": (0.00428, 0)},
    "SR(35,18,9,9)": {"sin": (0, 0), "mlp_sum": (0.0012865, 0)},
    "SR(36,14,4,6)": {"sin": (0.0720, 0.0026), "mlp_sum": (0.0816, 0)},
    "SR(40,12,2,4)": {"sin": (0.0820, 0), "mlp_sum": (0.0820, 0)},
}


def summary(record: Record) -> tuple[float, float]:
    """Return the mean failure rate over seeds and its standard error, std / √runs."""
    rates = [run.metrics["rate"] for run in record.runs]
    return fmean(rates), pstdev(rates) / len(rates) ** 0.5


def authors(record: Record) -> tuple[float, float] | None:
    """Return what the authors' code gives for a record's family and network, if that is known."""
    config = record.job.config
    if config.distance == "rounding" or config.exact or (config.sin and config.sin.final_act):
        return None
    if config.gin is not None:
        return None if config.baseline else (1.0, 0.0)
    return AUTHORS[record.job.data]["sin" if config.sin is not None else "mlp_sum"]


def agrees(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    """Return whether two means are within two standard errors, or equal to the digits quoted."""
    apart = abs(ours[0] - theirs[0])
    digits = 5e-5 if theirs[0] >= 0.01 else 5e-6
    return apart <= max(2 * hypot(ours[1], theirs[1]), digits)


def table(records: list[Record]) -> Table:
    """Return failure rates, ours beside those of the authors' code, and the pairs behind them."""
    order = {row: i for i, row in enumerate(_ordered(records))}
    families = list(AUTHORS)
    lines = []
    for record in sorted(records, key=lambda r: (families.index(r.job.data), order[r.job.row])):
        theirs = authors(record)
        lines.append(
            [
                record.job.data,
                record.job.row,
                _rate(*summary(record)),
                "" if theirs is None else _rate(*theirs),
                _pairs(record),
                str(len(record.runs)),
            ]
        )
    columns = ["family", "network", "failure rate", "authors' code", "pairs failed", "runs"]
    return Table(
        "Strongly regular graphs: indistinguishable pairs", columns, lines, _notes(records)
    )


def _ordered(records: list[Record]) -> list[str]:
    """Return the names of the rows, exact SWL first, then SIN."""

    def key(record: Record) -> tuple[bool, bool, bool, str]:
        config = record.job.config
        return not config.exact, config.sin is None, config.gin is not None, record.job.row

    return list(dict.fromkeys(r.job.row for r in sorted(records, key=key)))


def _pairs(record: Record) -> str:
    runs = record.runs
    failed = f"{fmean(run.metrics['failed'] for run in runs):.1f}".removesuffix(".0")
    text = f"{failed} of {runs[0].metrics['pairs']:.0f}"
    if "as_swl" in measured(record.job).metrics:
        equal = sum(run.metrics["as_swl"] == 1 for run in runs)
        text += ", SWL's" if equal == len(runs) else f", SWL's in {equal} runs only"
    return text


def _rate(mean: float, error: float) -> str:
    if error == 0:
        return f"{mean:.4g}"
    digits = max(0, 1 - floor(log10(error)))  # two of the error's
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _notes(records: list[Record]) -> list[str]:
    notes = [
        "Mean failure rate over seeds ± standard error. No network on cliques can fail on fewer "
        "pairs than exact SWL (boundary and upper adjacencies)."
    ]
    compared = [(r, theirs) for r in records if (theirs := authors(r)) is not None]
    off = [str(r.job) for r, theirs in compared if not agrees(summary(r), theirs)]
    if off:
        notes.append(f"Not within two standard errors of the authors' code: {', '.join(off)}.")
    elif compared:
        notes.append("All rates are within two standard errors of the authors' code.")
    absent = [name for name in AUTHORS if name not in {r.job.data for r in records}]
    if absent:
        notes.append(
            f"Not run: {', '.join(absent)}. All families but the three that are constructed need "
            "their graph6 files: --data DIR with DIR/sr/*.g6, or a network connection."
        )
    return notes


def measured(job: Job) -> Measured:
    """Return what a run has; if compared with exact SWL, whether it agrees."""
    names = ("pairs", "failed", "rate")
    compared = job.config.distance == "rounding" and not job.config.baseline
    return Measured((*names, "as_swl") if compared else names)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the paper's figure: failure rates of each family on a logarithmic scale."""
    from matplotlib import pyplot as plt

    present = {r.job.data for r in records}
    families = [name for name in AUTHORS if name in present]
    figure, ax = plt.subplots(figsize=(9, 4.5))
    names = _ordered(records)
    for i, row in enumerate(names):
        mine = {r.job.data: r for r in records if r.job.row == row}
        shift = 0.08 * (i - (len(names) - 1) / 2)
        at = [j for j, family in enumerate(families) if family in mine]
        rates, errors = zip(*(summary(mine[families[j]]) for j in at), strict=True)
        x = [j + shift for j in at]
        ax.errorbar(x, rates, yerr=errors, fmt="o", markersize=5, capsize=3, label=row)
    ax.set_yscale("symlog", linthresh=1e-5)
    ax.set_ylim(-2e-6, 2)
    ax.set_xticks(range(len(families)), families, rotation=30, ha="right")
    ax.set_ylabel("failure rate")
    ax.grid(axis="y", alpha=0.3)
    ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    figure.set_label("Fraction of the pairs of each family that are indistinguishable to a model.")
    return {"sr": figure}
