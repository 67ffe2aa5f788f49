"""Imputing missing citations in a complex of co-authors, the experiment of Ebli et al. (2020).

A share of the citations is hidden in every dimension, and to be found from the others.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import torch
from torch import Tensor

from mpsn.errors import ConfigError
from mpsn.training import one_thread, seeded
from mpsn_reproduction.experiment import (
    DataSets,
    Experiment,
    Job,
    Measured,
    Record,
    Resources,
    Run,
)
from mpsn_reproduction.papers.coauthor_data import Coauthors, coauthors
from mpsn_reproduction.papers.coauthor_models import (
    MPSN,
    SNN,
    Known,
    MPSNConfig,
    SNNConfig,
    Values,
    by_bounds,
    neighbor_mean,
)
from mpsn_reproduction.table import Table, score
from mpsn_reproduction.train import train_networks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIVEN, SHARES = "given", ("10", "20", "30", "40", "50")
DIMS = range(6)
ORDER = ("median", "mean-incident", "mean-adjacent", "bounds")
HELD_OUT = 0.1  # share of the known citations that training is stopped by


@dataclass(frozen=True)
class Rule:
    """A way to impute that is not trained."""

    rule: Literal["median", "incident", "adjacent", "bounds"]
    """The median, the mean over faces and co-faces or over neighbors, or the bounds."""


@dataclass(frozen=True)
class Training:
    """How a network is trained."""

    remask: bool = True
    """Whether to hide other known values in every epoch and to predict those, on a logarithmic
    scale, rounded; else all known values are input and target, as in Ebli et al."""
    epochs: int = 150
    """Number of epochs, with ``remask`` the largest."""
    lr: float = 0.01
    """Learning rate of Adam."""
    patience: int = 30
    """With ``remask``: epochs without a smaller error on known values held out before a stop."""


@dataclass(frozen=True)
class CoauthorConfig:
    """A way to impute citations."""

    model: Rule | SNNConfig | MPSNConfig = field(default_factory=MPSNConfig)
    """The rule or network."""
    training: Training = field(default_factory=Training)
    """How a network is trained."""
    shares: tuple[str, ...] = (GIVEN, *SHARES)
    """Percentages of missing values; ``given`` are the 30 % of Ebli et al."""

    def __post_init__(self) -> None:
        for name in {*self.shares} - {GIVEN, *SHARES}:
            raise ConfigError(f"Expected shares among {(GIVEN, *SHARES)}, got {name!r}.")

    def quick(self) -> Self:
        """Return the small version: the pattern of Ebli et al., few epochs."""
        return replace(self, training=replace(self.training, epochs=15), shares=(GIVEN,))


def jobs(row: str, config: CoauthorConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return one job per share and seed; of a rule, which is fast, one per share."""
    if isinstance(config.model, Rule):
        return [Job(row, config, s, seeds[:1] if s == GIVEN else seeds) for s in config.shares]
    return [Job(row, config, share, (seed,)) for share in config.shares for seed in seeds]


def source(job: Job) -> str:
    """Return what all jobs have in common."""
    return "coauthor"


def read(source: str, folder: Path | None) -> Coauthors:
    """Read the complex."""
    return coauthors(folder)


def steps(job: Job) -> int:
    """Return the number of epochs of all seeds; a rule is one step."""
    epochs = 1 if isinstance(job.config.model, Rule) else int(job.config.training.epochs)
    return len(job.seeds) * epochs


def work(job: Job, resources: Resources) -> list[Run]:
    """Impute what is missing for each seed; return the errors per dimension."""
    config: CoauthorConfig = job.config
    K = resources.data.complex.to(resources.device)
    values = [x[:, 0] for x in K.x]
    runs = []
    for seed in job.seeds:
        missing = [m.to(resources.device) for m in hidden(resources.data, job.data, seed)]
        known = Known(K.bare(), values, [~m for m in missing])
        if isinstance(config.model, Rule):
            found = rules()[config.model.rule](known)
            resources.tick(1)
        else:
            share = float(np.mean([m.float().mean().item() for m in missing]))
            found = impute(config, known, share, seed, resources)
        runs.append(Run(seed, 0, errors(found, values, missing)))
    return runs


def hidden(data: Coauthors, share: str, seed: int) -> tuple[Tensor, ...]:
    """Return masks (n_k,) of the missing values: given, or drawn in every dimension."""
    if share == GIVEN:
        return data.missing
    rng, masks = np.random.default_rng([seed, int(share)]), []
    for n in data.complex.counts:
        mask = np.zeros(n, dtype=bool)
        mask[rng.permutation(n)[: min(n - 1, round(n * int(share) / 100))]] = True
        masks.append(torch.from_numpy(mask))
    return tuple(masks)


def rules() -> dict[str, Callable[[Known], Values]]:
    """Return the ways to impute that are not trained, by name."""
    return {
        "median": lambda known: known.filled(known.medians()),
        "incident": lambda known: neighbor_mean(known, "incident"),
        "adjacent": lambda known: neighbor_mean(known, "adjacent"),
        "bounds": by_bounds,
    }


def errors(found: Values, values: Values, missing: list[Tensor]) -> dict[str, int | float]:
    """Return per dimension the mean absolute error on missing values, and the share within 10 %."""
    metrics: dict[str, int | float] = {}
    for k, (p, v, m) in enumerate(zip(found, values, missing, strict=True)):
        off = (p - v)[m].abs()
        if len(off):
            metrics[f"error_{k}"] = float(off.mean())
            metrics[f"within_{k}"] = float((off <= 0.1 * v[m]).float().mean())
    return metrics


def impute(
    config: CoauthorConfig, known: Known, share: float, seed: int, resources: Resources
) -> Values:
    """Train a network on known values; return its values of all simplices."""
    training, device = config.training, resources.device
    unit = torch.cat([v[m] for v, m in zip(known.values, known.mask, strict=True)]).median()
    if training.remask:
        known = known._replace(values=[(v / unit).log() for v in known.values])
    kept = known.mask
    if training.remask:
        with seeded(seed, device):
            kept = draw(known.mask, HELD_OUT)
    masks = torch.cat(known.mask), torch.cat(kept)
    parts = {"train": masks[1].nonzero()[:, 0], "val": (masks[0] & ~masks[1]).nonzero()[:, 0]}
    kind = SNN if isinstance(config.model, SNNConfig) else MPSN
    trainer = train_networks(
        lambda: Imputer(
            kind(config.model, known.K, 1 + training.remask),  # type: ignore[arg-type]
            known._replace(mask=kept),
            share if training.remask else None,
        ),
        Positions(len(masks[0])),
        torch.cat(known.filled([0.0] * len(kept))),
        [{name: part.cpu() for name, part in parts.items()}],
        [seed],
        resources,
        loss=weighted_errors,
        optimizer="adam",
        lr=training.lr,
        schedule="plateau",
        epochs=training.epochs,
        patience=training.patience if training.remask else None,
        batch_size=len(masks[0]),
    )
    (imputer,) = trainer.networks
    assert isinstance(imputer, Imputer)
    with torch.no_grad(), one_thread(device):
        found = imputer.values_by(known.mask)
    return [(unit * p.exp()).round() for p in found] if training.remask else found


class Positions:
    """Simplices of all dimensions as a trainer takes them: by their positions, one after another.

    Args:
        number: How many there are.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    def __len__(self) -> int:
        return self.number

    def batch(self, index: Tensor) -> tuple[Tensor]:
        """Return the argument of a network."""
        return (index,)


class Imputer(torch.nn.Module):
    """A network that is asked for values of some simplices.

    Args:
        network: From known values, and features of all simplices, to values of all simplices.
        known: The values that may be read.
        share: Share of these that are hidden in a step of training, to be predicted; the others do
            not count then. Defaults to None: all are read and predicted.
    """

    def __init__(self, network: torch.nn.Module, known: Known, share: float | None) -> None:
        super().__init__()
        self.network, self.known, self.share = network, known, share

    def forward(self, index: Tensor) -> Tensor:
        """Return values, and what errors of them weigh, (B, 2), for positions (B,)."""
        mask, asked = self.known.mask, [torch.ones_like(m) for m in self.known.mask]
        if self.training and self.share is not None:
            mask = draw(mask, self.share)
            asked = [~m for m in mask]
        values = torch.cat(self.values_by(mask))
        weights = torch.cat([m.to(values) / len(m) for m in asked])
        return torch.stack([values, weights], dim=1)[index]

    def values_by(self, mask: Values) -> Values:
        """Return the values of all simplices, by those in a mask."""
        seen = self.known._replace(mask=mask)
        xs = [v[:, None] for v in seen.filled(self.known.medians())]
        if self.share is not None:
            xs = [torch.cat([x, m[:, None]], 1) for x, m in zip(xs, mask, strict=True)]
        out: Values = self.network(seen, xs)
        return out


def weighted_errors(outputs: Tensor, y: Tensor) -> Tensor:
    """Return absolute errors, weighted, (B,); their mean is the sum over the simplices."""
    return len(y) * outputs[:, 1] * (outputs[:, 0] - y).abs()


def draw(mask: Values, rate: float) -> Values:
    """Return a random part of a mask, with at least one entry."""
    parts = [m & (torch.rand(len(m), device=m.device) >= rate) for m in mask]
    return [torch.where(part.any(), part, m) for part, m in zip(parts, mask, strict=True)]


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


EXPERIMENT = Experiment(
    "coauthor",
    CoauthorConfig,
    jobs,
    read,
    work,
    steps,
    table,
    figures,
    seeds=3,
    source=source,
    measured=measured,
)
