"""The base classes of configs and models."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn._checks import check_least
from mpsn.nn.readout import ComplexReadout

LEAST = {"max_dim": 0, "dim": 0, "pool_dim": 0}  # other sizes are at least 1


@dataclass(frozen=True)
class Config:
    """Settings of a model, validated on construction."""

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if get_origin(kind) is Literal and value not in get_args(kind):
                words = ", ".join(map(repr, get_args(kind)))
                raise LayerError(f"Expected {name} to be one of {words}, got {value!r}.")
            if kind is int or (kind == int | tuple[int, ...] and not isinstance(value, tuple)):
                check_least(LEAST.get(name, 1), **{name: value})
                object.__setattr__(self, name, int(value))  # numpy's integers, for example
            if kind is bool and not isinstance(value, bool):
                raise LayerError(f"Expected {name} to be True or False, got {value!r}.")
            if kind is float:
                if not isinstance(value, int | float | np.floating) or not isfinite(value):
                    raise LayerError(f"Expected {name} to be a number, got {value!r}.")
                if isinstance(value, np.floating):
                    object.__setattr__(self, name, float(value))
            if name == "dropout" and not 0 <= value < 1:
                raise LayerError(f"Expected a dropout rate from 0 to below 1, got {value!r}.")


class Model(torch.nn.Module):
    """Base class of the models: holds the config and prints it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config: Any = config

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in asdict(self.config).items())
        parameters = sum(p.numel() for p in self.parameters())
        return f"{type(self).__name__}({settings}; {parameters:,} parameters)"


def features_of(
    K: Complex, xs: Sequence[Tensor | None] | None, max_dim: int
) -> Sequence[Tensor | None]:
    """Return the given features, or those of the complex up to dimension ``max_dim``."""
    return K.x[: max_dim + 1] if xs is None else xs


def readout_of(config: Any, dims: Sequence[int] = (0,), **more: Any) -> ComplexReadout:
    """Return the readout of a network with settings such as those of GIN, twice as wide as it."""
    return ComplexReadout(
        config.hidden * (config.layers if config.jump else 1),
        2 * config.hidden,
        config.out_channels,
        dims=dims,
        reduce=config.readout,
        act=config.act,
        bias=not config.jump,
        dropout=config.dropout,
        **more,
    )
