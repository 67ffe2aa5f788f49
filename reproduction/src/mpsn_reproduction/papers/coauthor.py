"""Imputing missing citations in a complex of co-authors, the experiment of Ebli et al. (2020).

A share of the citations is hidden in every dimension, and to be found from the others.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor

from mpsn.errors import ConfigError
from mpsn.training import seeded
from mpsn.training._device import one_thread
from mpsn.training._loop import EarlyStopping, fit
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
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
from mpsn_reproduction.papers.coauthor_table import GIVEN, SHARES, figures, measured, table

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
    """Return the number of epochs; a rule is one step."""
    return 1 if isinstance(job.config.model, Rule) else int(job.config.training.epochs)


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
    remask = training.remask
    unit = torch.cat([v[m] for v, m in zip(known.values, known.mask, strict=True)]).median()
    scaled = [(v / unit).log() if remask else v for v in known.values]
    known = known._replace(values=scaled)

    def draw(mask: Values, rate: float) -> Values:
        """Return a random part of a mask, with at least one entry."""
        parts = [m & (torch.rand(len(m), device=device) >= rate) for m in mask]
        return [torch.where(part.any(), part, m) for part, m in zip(parts, mask, strict=True)]

    with seeded(seed, device), one_thread(device):
        kept = draw(known.mask, HELD_OUT) if remask else known.mask
        asked = [m & ~k for m, k in zip(known.mask, kept, strict=True)]
        kind = SNN if isinstance(config.model, SNNConfig) else MPSN
        net = kind(config.model, known.K, 1 + remask).to(device)  # type: ignore[arg-type]
        optimizer = torch.optim.Adam(net.parameters(), training.lr)
        stopping = EarlyStopping(net, optimizer, training.patience)

        def predict(mask: Values) -> Values:
            seen = known._replace(mask=mask)
            xs = [v[:, None] for v in seen.filled(known.medians())]
            if remask:
                xs = [torch.cat([x, m[:, None]], 1) for x, m in zip(xs, mask, strict=True)]
            out: Values = net(seen, xs)
            return out

        def loss(found: Values, of: Values) -> Tensor:
            triples = zip(found, scaled, of, strict=True)
            return torch.stack([(p - v)[m].abs().sum() / len(v) for p, v, m in triples]).sum()

        def step(_: None) -> None:
            mask = draw(kept, share) if remask else kept
            targets = [k & ~m if remask else k for k, m in zip(kept, mask, strict=True)]
            optimizer.zero_grad()
            loss(predict(mask), targets).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        @torch.no_grad()
        def validate() -> float:
            return float(loss(predict(kept), asked)) if remask else 0.0

        fit(
            net,
            training.epochs,
            lambda epoch: [None],
            step,
            validate,
            stop=stopping if remask else lambda result: False,
            tick=resources.tick,
        )
        if remask:
            stopping.restore()
        with torch.no_grad():
            found = predict(known.mask)
    return [(unit * p.exp()).round() for p in found] if remask else found


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
