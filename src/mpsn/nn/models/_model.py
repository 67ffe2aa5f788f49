"""The base class of the models."""

import inspect
from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, get_args, get_origin

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.errors import LayerError
from mpsn.nn._checks import check_least
from mpsn.nn.readout import ComplexReadout

LEAST = {"max_dim": 0, "dim": 0, "pool_dim": 0, "edge_channels": 0}  # other sizes are at least 1


class Model(torch.nn.Module):
    """Base class of the models: checks their keywords, keeps them and prints them.

    Args:
        values: The local variables of ``__init__``, its keywords among them.

    Attributes:
        settings: All keywords by name; ``type(model)(**model.settings)`` is an untrained twin.
        max_dim: Largest dimension of the cells used.

    Example:
        >>> class Sizes(mpsn.nn.models.Model):
        ...     def __init__(self, max_dim: int = 2):
        ...         super().__init__(locals())
        ...         self.max_dim = max_dim
        >>> Sizes(), Sizes(max_dim=3).settings
        (Sizes(max_dim=2; 0 parameters), {'max_dim': 3})
    """

    max_dim: int

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self.settings = self.checked(values)

    @classmethod
    def checked(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all keywords, those left out at their defaults, or raise; others are ignored."""
        parameters = inspect.signature(cls).parameters.items()
        return {
            name: _checked(name, parameter.annotation, values.get(name, parameter.default))
            for name, parameter in parameters
        }

    def features_of(
        self, K: Complex, xs: Sequence[Tensor | None] | None
    ) -> Sequence[Tensor | None]:
        """Return features passed beside a complex, or else its own up to ``max_dim``."""
        return K.x[: self.max_dim + 1] if xs is None else xs

    def new_readout(self, dims: Sequence[int] = (0,), **more: Any) -> ComplexReadout:
        """Return a readout after the layers, twice as wide, by keywords such as those of GIN."""
        of = self.settings
        return ComplexReadout(
            of["hidden"] * (of["layers"] if of["jump"] else 1),
            2 * of["hidden"],
            of["out_channels"],
            dims=dims,
            reduce=of["readout"],
            act=of["act"],
            bias=not of["jump"],
            dropout=of["dropout"],
            **more,
        )

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        parameters = sum(p.numel() for p in self.parameters())
        return f"{type(self).__name__}({settings}; {parameters:,} parameters)"


def _checked(name: str, kind: object, value: Any) -> Any:
    """Return the value of a keyword with a type; numpy's numbers as Python's."""
    if get_origin(kind) is Literal and value not in get_args(kind):
        words = ", ".join(map(repr, get_args(kind)))
        raise LayerError(f"Expected {name} to be one of {words}, got {value!r}.")
    if kind is int or (kind == int | tuple[int, ...] and not isinstance(value, tuple)):
        check_least(LEAST.get(name, 1), **{name: value})
    if kind is bool and not isinstance(value, bool):
        raise LayerError(f"Expected {name} to be True or False, got {value!r}.")
    if kind is float and not (isinstance(value, Real) and isfinite(value)):
        raise LayerError(f"Expected {name} to be a number, got {value!r}.")
    if name == "dropout" and not 0 <= value < 1:
        raise LayerError(f"Expected a dropout rate from 0 to below 1, got {value!r}.")
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)
