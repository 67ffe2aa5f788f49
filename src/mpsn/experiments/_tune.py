"""Search for settings: a grid, pruned again and again by validation inside the training data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from mpsn.experiments._engine import run
from mpsn.experiments._experiment import DataSets, Record, Table
from mpsn.experiments._rows import rows
from mpsn.experiments._tu import EXPERIMENT, TUConfig
from mpsn.experiments._tu_table import Score, stack
from mpsn.training._config import ConfigError


@dataclass(frozen=True)
class Grid:
    """Values to try, all with all: what the paper tuned (appendix F), around what it settled on."""

    batch_size: tuple[int, ...] = (32, 128)
    """Graphs in a mini-batch."""
    hidden: tuple[int, ...] = (32, 64)
    """Width of the layers."""
    dropout: tuple[float, ...] = (0.0, 0.5)
    """Dropout rate."""
    dropout_position: tuple[Literal["before_sum", "after_sum"], ...] = ("after_sum", "before_sum")
    """Where dropout is; only where there is any, and for SIN."""
    lr: tuple[float, ...] = (0.01, 0.003, 0.001, 0.0005)
    """Learning rate at the start."""
    decay_every: tuple[int, ...] = (20, 50)
    """After how many epochs it drops."""
    decay: tuple[float, ...] = (0.5, 0.9)
    """By what factor."""
    layers: tuple[int, ...] = (3, 4)
    """Number of layers."""

    def points(self, base: TUConfig) -> dict[str, TUConfig]:
        """Return all settings by name; what is not searched stays as in ``base``."""
        return dict(self._points(base))

    def _points(self, base: TUConfig) -> Iterator[tuple[str, TUConfig]]:
        net = base.sin or base.gin
        if net is None or base.train is None:
            raise ConfigError(
                f"Expected sin or gin to tune, got {base.model}; kernels choose from their own "
                f"rounds and costs in every run."
            )
        for values in product(*asdict(self).values()):
            v: dict[str, Any] = dict(zip(asdict(self), values, strict=True))
            changes = {key: v[key] for key in ("hidden", "dropout", "layers")}
            name = f"l{v['layers']}-h{v['hidden']}-d{v['dropout']}"
            if base.sin and v["dropout"]:
                changes["dropout_position"] = v["dropout_position"]
                name += f"-{v['dropout_position']}"
            name += f"-b{v['batch_size']}-lr{v['lr']}-x{v['decay']}-each{v['decay_every']}"
            train = {key: v[key] for key in ("batch_size", "lr", "decay_every", "decay")}
            yield (
                name,
                replace(
                    base,
                    sin=base.sin and replace(base.sin, **changes),
                    gin=base.gin and replace(base.gin, **changes),
                    train=replace(base.train, **train),
                    whole=False,
                ),
            )


@dataclass(frozen=True)
class Standing:
    """How far some settings came.

    Attributes:
        name: The settings in short.
        config: The settings.
        epochs: Epochs of the last round they took part in.
        val: Validation accuracy there, in percent over folds, at the epoch of the best mean.
    """

    name: str
    config: TUConfig
    epochs: int
    val: Score


def tune(
    base: TUConfig,
    grid: Grid | None = None,
    *,
    epochs: Sequence[int] = (10, 40, 160),
    keep: int = 4,
    seeds: int = 1,
    out: Path = Path("runs/tu-tune"),
    device: str = "cpu",
    data: Path | None = None,
    processes: int = 1,
) -> list[Standing]:
    """Train all settings for few epochs, the better ones for more, and so on (successive halving).

    What counts is accuracy on a tenth of each fold's training part, which the networks are not
    trained on; test folds have no say. Every training is recorded like any other, so a search that
    was interrupted goes on where it stopped.

    Args:
        base: Data set, folds, and all settings that are not searched.
        grid: Values to try; those around the paper's unless said.
        epochs: How long to train in each round; ascending.
        keep: One in how many goes on to the next round.
        seeds: How many seeds.
        out: Folder of the records.
        device: Device to compute on.
        data: The user's folder of data sets.
        processes: How many trainings run at a time.

    Returns:
        The settings, those that came farther first, then by accuracy.
    """
    if not epochs or list(epochs) != sorted({*epochs}) or epochs[0] < 1 or keep < 2:
        raise ConfigError(
            f"Expected ascending numbers of epochs and keep >= 2, got {tuple(epochs)} and {keep}."
        )
    alive = (grid or Grid()).points(base)
    data_sets = DataSets(EXPERIMENT, data)
    done: dict[str, Standing] = {}
    for many in epochs:
        settings = {name: _trained_for(config, many) for name, config in alive.items()}
        outcome = run(
            EXPERIMENT,
            settings,
            seeds,
            out=out,
            device=device,
            data=data_sets,
            processes=processes,
        )
        found = _standings(settings, outcome.records, many)
        done.update({standing.name: standing for standing in found})
        best = sorted(found, key=lambda s: -s.val.mean)[: -(-len(found) // keep)]
        alive = {s.name: alive[s.name] for s in best}
    return sorted(done.values(), key=lambda s: (-s.epochs, -s.val.mean))


def _trained_for(config: TUConfig, epochs: int) -> TUConfig:
    return replace(config, train=config.train and replace(config.train, epochs=epochs))


def _standings(
    settings: Mapping[str, TUConfig], records: Sequence[Record], epochs: int
) -> list[Standing]:
    out = []
    for name, config in settings.items():
        runs = [run for record in records if record.job.row == name for run in record.runs]
        curves = stack(runs, "val").reshape(len(runs), epochs)
        at = curves[:, curves.mean(axis=0).argmax()]
        out.append(Standing(name, config, epochs, Score(float(at.mean()), float(at.std()))))
    return out


def row(name: str, folds: int) -> TUConfig:
    """Return the settings a search starts from, by the name of their TOML file."""
    return replace(rows("tu", TUConfig, [name])[name], folds=folds)


def numbers(text: str) -> tuple[int, ...]:
    """Parse comma-separated whole numbers."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError as error:
        raise ConfigError(f"Expected comma-separated numbers, got {text!r}.") from error


def ranking(standings: Sequence[Standing]) -> Table:
    """Return the standings as a table."""
    lines = [[s.name, str(s.epochs), str(s.val)] for s in standings]
    config = standings[0].config
    return Table(
        f"Search for settings of {config.model.upper()} on {config.dataset}",
        ["settings", "epochs", "validation accuracy"],
        lines,
        [
            "Accuracy in percent on a tenth of each fold's training part, mean ± standard "
            "deviation over folds, at the epoch with the best mean. The best goes into a config, "
            "and is then trained and tested with `mpsn reproduce tu`."
        ],
    )
