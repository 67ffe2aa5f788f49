"""How a Trainer trains, as a value."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any

import torch

from mpsn.errors import MPSNError, did_you_mean
from mpsn.training._device import Precision, check_precision
from mpsn.training._losses import LOSSES, Loss, Metric, loss_of, metric_of
from mpsn.training._schedules import SCHEDULES, Schedule

OPTIMIZERS: Mapping[str, Any] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}
Callback = Callable[[Any], object]


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """The keyword arguments of :class:`Trainer`, which describes them, as an immutable value."""

    loss: str | Loss = "cross_entropy"
    optimizer: str | Callable[..., torch.optim.Optimizer] = "adamw"
    lr: float = 0.001
    weight_decay: float = 0.0
    schedule: Schedule = "constant"
    warmup: int = 0
    average: float = 0.0
    clip: float | None = None
    epochs: int = 100
    patience: int | None = None
    batch_size: int = 128
    precision: Precision = "float32"
    device: str = "auto"
    seed: int | Sequence[int] = 0
    class_weight: Sequence[Any] | None = None
    metrics: Sequence[str] | Mapping[str, Metric] = ()
    callbacks: Sequence[Callback] = field(default=(), repr=False)
    cells: int | None = None
    capture: bool = True
    sync_norms: bool = False
    progress: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("warmup", 0)):
            _check_whole(name, getattr(self, name), least)
        for seed in self.seed if isinstance(self.seed, Sequence) else [self.seed]:
            _check_whole("seed", seed, 0)
        if self.patience is not None:
            _check_whole("patience", self.patience, 1)
        if self.cells is not None:
            _check_whole("cells", self.cells, 0)
        _check_number("lr", self.lr, lambda rate: 0 < rate < math.inf, "above 0")
        _check_number("weight_decay", self.weight_decay, lambda x: 0 <= x < math.inf, ">= 0")
        _check_number("average", self.average, lambda x: 0 <= x < 1, "from 0 to below 1")
        if self.clip is not None:
            _check_number("clip", self.clip, lambda norm: 0 < norm < math.inf, "above 0")
        _check_word("optimizer", self.optimizer, OPTIMIZERS)
        _check_word("schedule", self.schedule, SCHEDULES)
        _check_word("loss", self.loss, LOSSES)
        check_precision(self.precision)
        loss_of(self.loss, self.class_weight)
        self.metric_functions()

    def asdict(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def seeds(self, networks: int) -> list[int]:
        """Return the seed of each network."""
        if not isinstance(self.seed, Sequence):
            return [self.seed + i for i in range(networks)]
        if len(self.seed) != networks:
            raise MPSNError(
                f"Expected a seed, or one for each of {networks} networks, got {len(self.seed)}."
            )
        return list(self.seed)

    def metric_functions(self) -> Mapping[str, Metric]:
        """Return the metrics by name."""
        if isinstance(self.metrics, Mapping):
            return self.metrics
        return {name: metric_of(name) for name in self.metrics}

    def make_optimizer(
        self, weights: Iterable[torch.nn.Parameter], lr: Any, capturable: bool
    ) -> torch.optim.Optimizer:
        """Return the optimizer of some weights."""
        if not isinstance(self.optimizer, str):
            return self.optimizer(weights, lr=lr)
        options: dict[str, Any] = {"weight_decay": self.weight_decay}
        if self.optimizer != "sgd":
            options |= {"fused": True, "capturable": capturable}
        made: torch.optim.Optimizer = OPTIMIZERS[self.optimizer](weights, lr=lr, **options)
        return made


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise MPSNError(f"Expected {name} as an integer >= {least}, got {value!r:.60}.")


def _check_number(name: str, value: object, fits: Callable[[float], bool], words: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not fits(float(value)):
        raise MPSNError(f"Expected {name} as a number {words}, got {value!r:.60}.")


def _check_word(name: str, value: object, words: Iterable[str]) -> None:
    if not callable(value) and value not in tuple(words):
        suggestion = did_you_mean(value, words) if isinstance(value, str) else ""
        raise MPSNError(
            f"Expected {name} among {', '.join(words)}, or a function, got {value!r:.60}."
            f"{suggestion}"
        )
