"""The table and the figure of the strongly regular graphs, and the figures to compare with."""

from math import floor, hypot, log10, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from mpsn_reproduction.experiment import DataSets, Job, Measured, Record
from mpsn_reproduction.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Mean failure rates over seeds 0 to 9 of the authors' public code (twitter-research/cwn, 2023-06),
# run on torch 2.13, and their population standard deviations / √10; the paper shows them only as a
# figure. GIN fails on every pair, as the paper says too.
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
SEEDS = 10  # of the authors
MARKERS = "osD^vPX*"


def summary(record: Record) -> tuple[float, float]:
    """Return the mean failure rate over seeds and its standard error."""
    rates = [run.metrics["rate"] for run in record.runs]
    return fmean(rates), stdev(rates) / sqrt(len(rates)) if len(rates) > 1 else 0.0


def authors(record: Record) -> tuple[float, float] | None:
    """Return what the authors' code gives for a record's family and network, if that is known."""
    config = record.job.config
    if config.distance == "rounding" or config.exact or (config.sin and config.sin.final_act):
        return None
    if config.gin is not None:
        return None if config.baseline else (1.0, 0.0)
    mean, error = AUTHORS[record.job.data]["sin" if config.sin is not None else "mlp_sum"]
    return mean, error * sqrt(SEEDS / (SEEDS - 1))


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
                _rate(*summary(record), len(record.runs)),
                "" if theirs is None else _rate(*theirs, SEEDS).having(kind="quoted"),
                _pairs(record),
                str(len(record.runs)),
            ]
        )
    columns = ["family", "network", "failure rate", "authors' code", "pairs failed", "runs"]
    title, notes = "Strongly regular graphs: indistinguishable pairs", _notes(records)
    return Table(title, columns, lines, notes, lowest=["failure rate"], grouped=True)


def _ordered(records: list[Record]) -> list[str]:
    """Return the names of the rows, exact SWL first, then SIN."""

    def key(record: Record) -> tuple[bool, bool, bool, str]:
        config = record.job.config
        return not config.exact, config.sin is None, config.gin is not None, record.job.row

    return list(dict.fromkeys(r.job.row for r in sorted(records, key=key)))


def _pairs(record: Record) -> str:
    runs = record.runs
    failed = f"{fmean(run.metrics['failed'] for run in runs):,.1f}".removesuffix(".0")
    text = f"{failed} of {runs[0].metrics['pairs']:,.0f}"
    if "as_swl" in measured(record.job).metrics:
        equal = sum(run.metrics["as_swl"] == 1 for run in runs)
        text += ", SWL's" if equal == len(runs) else f", SWL's in {equal} runs only"
    return text


def _rate(mean: float, error: float, runs: int) -> Cell:
    """Return a mean ± the standard deviation over runs, given its standard error."""
    text, spread = f"{mean:.4g}", error * sqrt(runs)
    if error:
        digits = max(0, 1 - floor(log10(error)))  # two of the error's
        text = f"{mean:.{digits}f} ± {spread:.{digits}f}"
    return Cell(text).having(value=float(text.split(" ± ")[0]), spread=spread)


def _notes(records: list[Record]) -> list[str]:
    notes = [
        "Mean failure rate ± sample standard deviation over seeds. No network on cliques can fail "
        "on fewer pairs than exact SWL (boundary and upper adjacencies)."
    ]
    compared = [(r, theirs) for r in records if (theirs := authors(r)) is not None]
    off = [str(r.job) for r, theirs in compared if not agrees(summary(r), theirs)]
    if off:
        notes.append(f"Not within two standard errors of the authors' code: {', '.join(off)}.")
    elif compared:
        notes.append("All rates are within two standard errors of the authors' code.")
    return notes


def measured(job: Job) -> Measured:
    """Return what a run has; if compared with exact SWL, whether it agrees."""
    names = ("pairs", "failed", "rate")
    compared = job.config.distance == "rounding" and not job.config.baseline
    return Measured((*names, "as_swl") if compared else names)


def figures(records: list[Record], data: DataSets | None) -> "dict[str, Figure]":
    """Draw the paper's figure: failure rates of each family on a logarithmic scale.

    Filled are the authors' networks, hollow are others, and lines are exact tests.
    """
    from matplotlib import pyplot as plt

    present = {r.job.data for r in records}
    families = [name for name in AUTHORS if name in present]
    exact = {r.job.row for r in records if r.job.config.exact}
    names = sorted(_ordered(records), key=exact.__contains__)  # networks, then tests
    many = len(names) - len(exact)
    figure, ax = plt.subplots(figsize=(10, 5))
    for i, row in enumerate(names):
        mine = {families.index(r.job.data): r for r in records if r.job.row == row}
        rates, errors = zip(*map(summary, mine.values()), strict=True)
        one, color = next(iter(mine.values())), f"C{i}"
        if row in exact:
            left, right = [j - 0.45 for j in mine], [j + 0.45 for j in mine]
            lines = ax.hlines(rates, left, right, color, label=f"{row}, exact", lw=2)
            lines.set_linestyle("dashed" if i % 2 else "solid")
            continue
        x = [j + 0.8 * ((i + 0.5) / many - 0.5) for j in mine]
        inside = "none" if authors(one) is None else color
        mark = MARKERS[i % len(MARKERS)]
        ax.errorbar(x, rates, errors, None, mark, color=color, mfc=inside, capsize=3, label=row)
    for j in range(1, len(families)):
        ax.axvline(j - 0.5, color="0.85", linewidth=0.8, zorder=0)
    ax.set_yscale("symlog", linthresh=1e-5)
    ax.set_ylim(-2e-6, 2)
    ax.set_xlim(-0.5, len(families) - 0.5)
    ax.set_xticks(range(len(families)), families, rotation=20, ha="right")
    ax.set_ylabel("failure rate: indistinguishable pairs")
    ax.grid(axis="y", alpha=0.3)
    ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    figure.set_label(
        "Failure rate by family, mean ± standard error over seeds, on a logarithmic axis that ends "
        "in 0. Filled markers are the authors' networks, hollow ones others; lines are exact tests."
    )
    return {"sr": figure}
