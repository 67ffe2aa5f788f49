"""Graph classification on the TU sets: SIN, other networks, and kernels (section 6)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from torch import Tensor

from mpsn.datasets import TU, TU_SETS, TUDataset
from mpsn.errors import ConfigError, FileError, did_you_mean
from mpsn.nn.models import GIN, SIN, Hierarchical, Model
from mpsn.training import hold_out
from mpsn.training import select as select_epoch
from mpsn_reproduction.baselines import BASELINES, make_baseline
from mpsn_reproduction.experiment import Experiment, Job, Resources, Run
from mpsn_reproduction.papers.folds import Folds, strata, tu_folds
from mpsn_reproduction.papers.tu_kernels import KernelConfig, kernel_runs
from mpsn_reproduction.papers.tu_table import FOLDS, MODELS, figures, measured, table
from mpsn_reproduction.settings import Network, rows
from mpsn_reproduction.train import Curves, StepTraining, accuracies, train_classifiers, used

SIDE_BY_SIDE = ("sin", "gin", "agnostic")  # models whose steps can be captured on a GPU


@dataclass(frozen=True)
class Baseline:
    """Another graph network, not built yet, and its keywords: those of GIN."""

    network: str
    """Its name."""
    in_channels: int = 1
    hidden: int = 16
    out_channels: int = 16
    layers: int = 5
    act: Literal["elu", "relu", "tanh"] = "elu"
    norm: bool = False
    train_eps: bool = False
    jump: bool = False
    readout: Literal["sum", "mean"] = "sum"
    dropout: float = 0.0
    limit: int | None = None
    """Largest number of graphs in each part of a fold. Defaults to no limit."""

    def __post_init__(self) -> None:
        GIN.checked(vars(self))
        if self.network not in BASELINES:
            raise ConfigError(
                f"Expected a network among {', '.join(BASELINES)}, got {self.network!r:.40}."
                f"{did_you_mean(self.network, BASELINES)}"
            )

    def __call__(self, **changes: Any) -> Model:
        """Build it, with some keywords changed."""
        settings = GIN.checked({**vars(self), **changes})
        return make_baseline(self.network, settings)

    def replace(self, **changes: Any) -> Self:
        """Return the same with some settings changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class TUConfig:
    """A model on a data set: one of ``sin``, ``gin`` and ``kernel``, and how to train a network."""

    dataset: str
    """Name of the data set: one of the paper's six, or any that is at hand in TU layout."""
    sin: Network[SIN] | Network[Hierarchical] | None = None
    """Settings of SIN, or, with a ``ratio``, of Hierarchical; the widths of input and output are
    the data's."""
    gin: Network[GIN] | Baseline | None = None
    """Settings of GIN, or, with a ``network``, of another graph network; the widths of input and
    output are the data's."""
    kernel: KernelConfig | None = None
    """Settings of a kernel with a support vector machine."""
    train: StepTraining | None = None
    """How to train a network."""
    folds: int = 10
    """How many of the ten folds to run."""
    whole: bool = True
    """Whether to train a second network on the whole training part, for the paper's protocol."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w.+-]{0,60}", self.dataset):
            raise ConfigError(f"Expected the name of a data set, got {self.dataset!r:.80}.")
        networks = [part for part in (self.sin, self.gin) if part is not None]
        if len(networks) + (self.kernel is not None) != 1 or bool(networks) != bool(self.train):
            raise ConfigError(
                "Expected settings of one of sin, gin and kernel, and of train with the first two."
            )
        if not 1 <= self.folds <= FOLDS:
            raise ConfigError(f"Expected from 1 to {FOLDS} folds, got {self.folds}.")

    @property
    def model(self) -> str:
        """Which model it is: one of :data:`MODELS`."""
        if self.kernel is not None:
            return f"{self.kernel.test}-kernel"
        if isinstance(self.gin, Baseline):
            return self.gin.network
        if self.sin and self.sin.model is Hierarchical:
            return "hierarchical"
        if self.sin:
            return "sin" if self.sin.max_dim else "agnostic"  # vertices alone see no structure
        return "gin"

    def quick(self) -> Self:
        """Return a small version: one fold; two epochs of a small network, or few kernels."""
        few: dict[str, Any] = {"limit": 30} if isinstance(self.gin, Baseline) else {}
        return replace(
            self,
            folds=1,
            sin=self.sin and self.sin.replace(hidden=16, layers=2),
            gin=self.gin and self.gin.replace(hidden=16, layers=2, **few),
            train=self.train and replace(self.train, epochs=2),
            kernel=self.kernel
            and replace(self.kernel, rounds=self.kernel.rounds[:2], costs=(1.0,), parts=2),
        )


def select(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    experiment: str = "tu",
    labels: Mapping[str, str] = MODELS,
) -> dict[str, TUConfig]:
    """Return the rows of some data sets and models, or rows named themselves; all without names.

    Data sets beyond the paper's six take the settings of PROTEINS.
    """
    every = rows(experiment, TUConfig)
    for name in models:
        if name not in every and name not in labels:
            raise ConfigError(
                f"Expected names among {', '.join(labels)}, got {name!r}."
                f"{did_you_mean(name, labels)}"
            )
    like = [config for config in every.values() if config.dataset == "PROTEINS"]
    for name in datasets:
        if name not in TU_SETS:
            made = [replace(config, dataset=name) for config in like]
            every |= {f"{name.lower()}-{config.model}": config for config in made}
    return {
        row: config
        for row, config in every.items()
        if config.dataset in (datasets or TU_SETS)
        and (not models or row in models or config.model in models)
    }


def jobs(row: str, config: TUConfig, seeds: tuple[int, ...]) -> list[Job]:
    """Return the jobs of a row: networks of all folds side by side, kernels one per fold.

    SIN has one job per seed, as memory grows with the number of networks; GIN has one for all
    seeds. Other networks are trained alone, so it is one job per fold. Only SIN, GIN and the
    structure-agnostic baseline have several seeds; in kernels nothing is random.
    """
    side_by_side = config.model in SIDE_BY_SIDE
    passes = [seeds[:1]]
    if side_by_side:
        passes = [(seed,) for seed in seeds] if config.model == "sin" else [seeds]
    folds = tuple(range(config.folds))
    parts = [folds] if side_by_side else [(fold,) for fold in folds]
    return [Job(row, config, config.dataset, own, part) for own in passes for part in parts]


def steps(job: Job) -> int:
    """Return the number of epochs over all networks, or of support vector machines to fit."""
    config: TUConfig = job.config
    runs = len(job.seeds) * len(job.folds)
    if config.train:
        return runs * config.train.epochs * (1 + config.whole)
    assert config.kernel is not None
    return runs * len(config.kernel.rounds)


def read(name: str, folder: Path | None) -> tuple[TUDataset, Folds]:
    """Read a data set and its folds; targets of a regression are standardized."""
    data = TU(name, folder)
    if data.y.dim() > 1:
        raise FileError(
            f"Expected one target per graph of {name}, got {data.y.shape[1]}; keep one column of "
            f"{name}_graph_attributes.txt."
        )
    if not data.num_classes:
        data = replace(data, y=(data.y - data.y.mean()) / data.y.std(correction=0).clamp(min=1e-12))
    return data, tu_folds(name, data.y, folder)


def work(job: Job, resources: Resources) -> list[Run]:
    """Train or fit on every fold.

    The metrics of a run: ``honest``, the test accuracy where the validation accuracy is best for
    the first time, at index ``chosen`` of the curves; ``val``, that validation accuracy; whether
    the folds were ``given``, how many graphs are ``untested``, and the number of ``classes``: 0 for
    regression, where accuracies are R².
    """
    config: TUConfig = job.config
    data, folds = resources.data
    if config.kernel is None:
        curves = _train(job, resources)
    else:
        fitted = kernel_runs(config.kernel, data, folds, job.folds, resources.tick)
        curves = fitted * len(job.seeds)
    keys = [(seed, fold) for seed in job.seeds for fold in job.folds]
    runs = []
    for (seed, fold), curve in zip(keys, curves, strict=True):
        selected = select_epoch(curve["val"], curve["val_test"])
        metrics = {
            "honest": selected.test,
            "val": selected.validation,
            "chosen": selected.epoch,
            "given": float(folds.from_files),
            "untested": len(folds.untested),
            "classes": data.num_classes,
        }
        runs.append(Run(seed, fold, metrics, curve))
    return runs


def _train(job: Job, resources: Resources) -> list[Curves]:
    """Train two networks per fold: on its training part less a tenth, and on all of it.

    Curves over the epochs: ``val`` and ``val_test`` of the first, and, for the paper's protocol,
    ``loss``, ``train`` and ``test`` of the second.
    """
    config: TUConfig = job.config
    data, folds = resources.data
    network = config.sin or config.gin
    assert network is not None
    assert config.train is not None
    held, whole, seeds = [], [], []
    for seed in job.seeds:
        for fold in job.folds:
            parts = folds.splits[fold]
            held.append(parts if "val" in parts else with_validation(parts, data.y, seed))
            whole.append({name: parts[name] for name in ("train", "test")})
            seeds.append(seed * FOLDS + fold)
    splits = held + whole * config.whole
    if isinstance(network, Baseline) and (most := network.limit):
        splits = [
            {name: part[:: -(-len(part) // most) or 1] for name, part in split.items()}
            for split in splits
        ]
    trained = train_classifiers(
        partial(network, in_channels=data.num_features, out_channels=max(data.num_classes, 1)),
        data.complexes if isinstance(network, Baseline) else used(data.complexes, network),
        data.y,
        splits,
        seeds * (1 + config.whole),
        config.train,
        resources,
        capture=config.model in SIDE_BY_SIDE,
    )
    each = [accuracies(history) for history in trained.histories]
    curves = [{"val": own["val"], "val_test": own["test"]} for own in each[: len(held)]]
    for curve, own in zip(curves, each[len(held) :], strict=False):
        curve.update({name: own[name] for name in ("loss", "train", "test")})
    return curves


def with_validation(parts: Mapping[str, Tensor], y: Tensor, seed: int) -> dict[str, Tensor]:
    """Return the parts of a fold with a tenth of its training part held out for validation."""
    stay, val = hold_out(strata(y[parts["train"]]), 0.1, seed)
    return {"train": parts["train"][stay], "val": parts["train"][val], "test": parts["test"]}


EXPERIMENT = Experiment(
    "tu",
    TUConfig,
    jobs,
    read,
    work,
    steps,
    table,
    figures,
    seeds=3,
    select=select,
    measured=measured,
    parallel=True,
)
