"""Search for settings with Optuna: all of a grid, pruned by validation inside the training data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import optuna
from tqdm import tqdm

from mpsn.errors import ConfigError
from mpsn.training import best_epoch
from mpsn_reproduction.engine import LOCAL, Engine, run
from mpsn_reproduction.experiment import DataSets, Job, Run
from mpsn_reproduction.papers.tu import EXPERIMENT, TUConfig
from mpsn_reproduction.table import Table, score

MOST = 10_000  # combinations, and values of settings that are counts


@dataclass(frozen=True)
class Grid:
    """Values to try in all combinations: those the paper tuned over (appendix F), and near ones."""

    batch_size: tuple[int, ...] = (32, 128)
    """Graphs in a mini-batch."""
    hidden: tuple[int, ...] = (32, 64)
    """Width of the layers."""
    dropout: tuple[float, ...] = (0.0, 0.5)
    """Dropout rate."""
    dropout_position: tuple[Literal["before_sum", "after_sum"], ...] = ("after_sum", "before_sum")
    """Position of dropout; only for SIN, and if the rate is not 0."""
    lr: tuple[float, ...] = (0.01, 0.003, 0.001, 0.0005)
    """Initial learning rate."""
    decay_every: tuple[int, ...] = (20, 50)
    """Number of epochs after which the learning rate drops."""
    decay: tuple[float, ...] = (0.5, 0.9)
    """Factor by which it drops."""
    layers: tuple[int, ...] = (3, 4)
    """Number of layers."""

    def __post_init__(self) -> None:
        sizes = {name: len(values) for name, values in asdict(self).items()}
        if not 0 < prod(sizes.values()) <= MOST:
            raise ConfigError(
                f"Expected some values for all settings, in at most {MOST:,} combinations, got "
                f"{sizes}."
            )
        for name in ("batch_size", "hidden", "decay_every", "layers"):
            if (largest := max(getattr(self, name))) > MOST:
                raise ConfigError(f"Expected {name} up to {MOST:,}, got {largest:.3g}.")

    def points(self, base: TUConfig) -> dict[str, TUConfig]:
        """Return all settings by name; what is not searched stays as in ``base``."""
        if base.train is None:
            raise ConfigError(
                f"Expected sin or gin to tune, got {base.model}; kernels select from their own "
                f"rounds and costs in every run."
            )
        points = {}
        for values in product(*asdict(self).values()):
            v: dict[str, Any] = dict(zip(asdict(self), values, strict=True))
            net = {key: v[key] for key in ("hidden", "dropout", "layers")}
            name = f"l{v['layers']}-h{v['hidden']}-d{v['dropout']}"
            if base.sin and v["dropout"]:
                net["dropout_position"] = v["dropout_position"]
                name += f"-{v['dropout_position']}"
            name += f"-b{v['batch_size']}-lr{v['lr']}-x{v['decay']}-each{v['decay_every']}"
            train = {key: v[key] for key in ("batch_size", "lr", "decay_every", "decay")}
            points[name] = replace(
                base,
                sin=base.sin and base.sin.replace(**net),
                gin=base.gin and base.gin.replace(**net),
                train=base.train and replace(base.train, **train),
                whole=False,
            )
        return points


class Standing(NamedTuple):
    """The last round that some settings took part in, and their accuracy in percent there.

    Attributes:
        name: The settings in words.
        config: The settings.
        epochs: The number of epochs of the round.
        mean: The mean accuracy in validation over the folds, at the epoch where it is best.
        accuracies: The accuracy of each fold there.
    """

    name: str
    config: TUConfig
    epochs: int
    mean: float
    accuracies: list[float]


def tune(
    base: TUConfig,
    grid: Grid,
    *,
    epochs: Sequence[int] = (10, 40, 160),
    keep: int = 4,
    out: Path = Path("runs/tu-tune"),
    device: str = "cpu",
    data: Path | None = None,
    engine: Engine = LOCAL,
) -> list[Standing]:
    """Train settings for few epochs, then for more as long as they are among the best so far.

    Optuna goes through the grid in random order, and prunes by successive halving: after each round
    settings go on if they are among the best of those that took part in it so far. They are
    compared by the accuracy on a tenth of each fold's training part, which the networks are not
    trained on; test folds are not used. Every training is recorded, so an interrupted search
    resumes where it stopped.

    Args:
        base: Data set, folds, and all settings that are not searched.
        grid: Values to try.
        epochs: Number of epochs in each round; ascending.
        keep: One in ``keep`` settings advances to the next round.
        out: Folder of the records.
        device: Device to compute on.
        data: The user's folder of data sets.
        engine: Where jobs run. Defaults to this process, all folds of a training together; others
            run the folds side by side.

    Returns:
        The settings, those of later rounds first, then by accuracy.
    """
    if not epochs or list(epochs) != sorted({*epochs}) or epochs[0] < 1 or keep < 2:
        raise ConfigError(
            f"Expected ascending numbers of epochs and keep >= 2, got {tuple(epochs)} and {keep}."
        )
    experiment = EXPERIMENT if engine == LOCAL else replace(EXPERIMENT, jobs=_fold_by_fold)
    points, data_sets = grid.points(base), DataSets(experiment, data)
    done: dict[str, Standing] = {}

    def objective(trial: optuna.Trial) -> float:
        name = trial.suggest_categorical("settings", list(points))
        point = points[name]
        for i, most in enumerate(epochs):
            config = replace(point, train=point.train and replace(point.train, epochs=most))
            outcome = run(
                experiment,
                {name: config},
                1,
                out=out,
                device=device,
                data=data_sets,
                engine=engine,
                progress=False,
            )
            accuracies = _accuracies([r for record in outcome.records for r in record.runs])
            done[name] = Standing(name, config, most, float(np.mean(accuracies)), accuracies)
            trial.report(done[name].mean, keep**i)  # where successive halving compares
            if most != epochs[-1] and trial.should_prune():
                raise optuna.TrialPruned
        return done[name].mean

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.GridSampler({"settings": list(points)}, seed=0),
        pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=keep),
    )
    with tqdm(total=len(points), desc="tune", unit="setting", disable=None) as bar:

        def tick(*_: object) -> None:
            bar.update()

        study.optimize(objective, callbacks=[tick])
    return sorted(done.values(), key=lambda s: (-s.epochs, -s.mean))


def _fold_by_fold(row: str, config: TUConfig, seeds: tuple[int, ...]) -> list[Job]:
    return [Job(row, config, config.dataset, seeds, (fold,)) for fold in range(config.folds)]


def _accuracies(runs: Sequence[Run]) -> list[float]:
    """Return the accuracy in validation of each run, in percent, at the epoch of the best mean."""
    curves = 100 * np.array([run.curve["val"] for run in runs])
    accuracies: list[float] = curves[:, best_epoch(curves.mean(axis=0))].tolist()
    return accuracies


def ranking(standings: Sequence[Standing]) -> Table:
    """Return the standings as a table."""
    config = standings[0].config
    return Table(
        f"Search for settings of {config.model.upper()} on {config.dataset}",
        ["settings", "epochs", "validation accuracy"],
        [[s.name, str(s.epochs), score(s.accuracies)] for s in standings],
        [
            "Accuracy in percent on a tenth of each fold's training part, mean ± sample standard "
            "deviation over folds, at the epoch with the best mean. Put the best settings into a "
            "config, then train and test them with `mpsn reproduce tu`."
        ],
    )
