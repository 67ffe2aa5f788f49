"""Search for settings: a grid, pruned again and again by validation inside the training data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product, takewhile
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mpsn._files.io import check_writable
from mpsn.errors import ConfigError
from mpsn.training import best_epoch
from mpsn_reproduction.cluster import RayEngine
from mpsn_reproduction.engine import LOCAL, Engine, run
from mpsn_reproduction.experiment import DataSets, Job, Run, by_row
from mpsn_reproduction.papers.tu import EXPERIMENT, TUConfig
from mpsn_reproduction.papers.tu_table import Score, stack
from mpsn_reproduction.store import Store
from mpsn_reproduction.table import Table

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
        return dict(self._points(base))

    def _points(self, base: TUConfig) -> Iterator[tuple[str, TUConfig]]:
        for values in product(*asdict(self).values()):
            v: dict[str, Any] = dict(zip(asdict(self), values, strict=True))
            net = {key: v[key] for key in ("hidden", "dropout", "layers")}
            name = f"l{v['layers']}-h{v['hidden']}-d{v['dropout']}"
            if base.sin and v["dropout"]:
                net["dropout_position"] = v["dropout_position"]
                name += f"-{v['dropout_position']}"
            name += f"-b{v['batch_size']}-lr{v['lr']}-x{v['decay']}-each{v['decay_every']}"
            train = {key: v[key] for key in ("batch_size", "lr", "decay_every", "decay")}
            point = replace(
                base,
                sin=base.sin and base.sin.replace(**net),
                gin=base.gin and base.gin.replace(**net),
                train=base.train and replace(base.train, **train),
                whole=False,
            )
            yield name, point


class Standing(NamedTuple):
    """The last round some settings took part in, and their validation accuracy in percent there."""

    name: str
    config: TUConfig
    epochs: int
    val: Score


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
    asha: bool = False,
) -> list[Standing]:
    """Train all settings for few epochs, the better ones for more, and so on (successive halving).

    They are compared by the accuracy on a tenth of each fold's training part, which the networks
    are not trained on; test folds are not used. Every training is recorded, so an interrupted
    search resumes where it stopped.

    Args:
        base: Data set, folds, and all settings that are not searched.
        grid: Values to try.
        epochs: Number of epochs in each round; ascending.
        keep: One in ``keep`` settings advances to the next round.
        out: Folder of the records.
        device: Device to compute on.
        data: The user's folder of data sets.
        engine: Where jobs run. Defaults to one after another in this process.
        asha: Whether settings advance one by one, as Ray Tune decides, instead of waiting for the
            round to end: each trains once, and stops when it is not among the best. Needs a
            :class:`RayEngine`.

    Returns:
        The settings, those of later rounds first, then by accuracy.
    """
    if not epochs or list(epochs) != sorted({*epochs}) or epochs[0] < 1 or keep < 2:
        raise ConfigError(
            f"Expected ascending numbers of epochs and keep >= 2, got {tuple(epochs)} and {keep}."
        )
    points, data_sets = grid.points(base), DataSets(EXPERIMENT, data)
    rounds = [
        {n: replace(c, train=c.train and replace(c.train, epochs=many)) for n, c in points.items()}
        for many in epochs
    ]
    store = Store(out, EXPERIMENT.config, EXPERIMENT.check)
    if asha:
        _asha(rounds, keep, engine, data_sets, device, store)
    left = list(points)
    done: dict[str, Standing] = {}
    for many, configs in zip(epochs, rounds, strict=True):
        settings = {name: configs[name] for name in left}
        if not asha:
            run(EXPERIMENT, settings, 1, out=out, device=device, data=data_sets, engine=engine)
        found = [
            Standing(name, settings[name], many, _validation(runs))
            for name, runs in _recorded(store, settings).items()
        ]
        done.update({standing.name: standing for standing in found})
        if not asha:
            best = sorted(found, key=lambda s: -s.val.mean)[: -(-len(found) // keep)]
            left = [s.name for s in best]
    return sorted(done.values(), key=lambda s: (-s.epochs, -s.val.mean))


def _job(name: str, config: TUConfig) -> Job:
    return Job(name, config, config.dataset, folds=tuple(range(config.folds)))


def _recorded(store: Store, settings: Mapping[str, TUConfig]) -> dict[str, list[Run]]:
    """Return the runs of the settings that are recorded with all their folds."""
    found = by_row(store.of(_job(*pair) for pair in settings.items()), settings)
    return {name: runs for name, runs in found.items() if len(runs) == settings[name].folds}


def _asha(
    rounds: Sequence[Mapping[str, TUConfig]],
    keep: int,
    engine: Engine,
    data: DataSets,
    device: str,
    store: Store,
) -> None:
    """Let Ray Tune run the rounds; what is recorded is not run again."""
    if not isinstance(engine, RayEngine):
        raise ConfigError("Expected --engine ray for --asha, got local.")
    from mpsn_reproduction.asha import prune

    recorded = [_recorded(store, configs) for configs in rounds]
    known = {
        name: [_validation(r[name]).mean for r in takewhile(lambda r: name in r, recorded)]  # noqa: B023
        for name in rounds[0]
    }
    for configs in rounds:
        for name, config in configs.items():
            check_writable(store.path(_job(name, config)), what="records", parents=True)
    prune(
        {name: [_job(name, configs[name]) for configs in rounds] for name in rounds[0]},
        known,
        _mean,
        keep=keep,
        engine=engine,
        data=data,
        device=device,
        store=store,
    )


def _mean(runs: Sequence[Run]) -> float:
    return _validation(runs).mean


def _validation(runs: Sequence[Run]) -> Score:
    """Return the accuracy over runs at the epoch of the best mean."""
    curves = stack(runs, "val")
    curves = curves.reshape(len(runs), curves.shape[-1])
    best = curves[:, best_epoch(curves.mean(axis=0))]
    return Score(float(best.mean()), float(best.std()))


def ranking(standings: Sequence[Standing]) -> Table:
    """Return the standings as a table."""
    config = standings[0].config
    return Table(
        f"Search for settings of {config.model.upper()} on {config.dataset}",
        ["settings", "epochs", "validation accuracy"],
        [[s.name, str(s.epochs), str(s.val)] for s in standings],
        [
            "Accuracy in percent on a tenth of each fold's training part, mean ± standard "
            "deviation over folds, at the epoch with the best mean. Put the best settings into a "
            "config, then train and test them with `mpsn reproduce tu`."
        ],
    )
