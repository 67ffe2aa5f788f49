"""Settings as typed dataclasses, made from the plain values of TOML and JSON files."""

import dataclasses
import json
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mpsn.errors import FileError, MPSNError, did_you_mean
from mpsn.nn.models import Model

T = TypeVar("T")
M = TypeVar("M", bound=Model)


class ConfigError(MPSNError):
    """Settings that do not exist, or values they cannot take."""


class Network(Mapping[str, Any], Generic[M]):
    """A model that is not built yet: its class and all its keywords, as an immutable value.

    Args:
        model: The class.
        settings: Keywords; those left out have their defaults.

    Example:
        >>> from mpsn.training._config import Network
        >>> sin = Network(mpsn.nn.models.SIN, hidden=8)
        >>> sin.hidden, sin.layers, sin.replace(layers=2).layers
        (8, 5, 2)
        >>> sin(in_channels=3)
        SIN(in_channels=3, hidden=8, ...
    """

    __slots__ = ("_settings", "model")
    _settings: dict[str, Any]
    model: type[M]

    def __init__(self, model: type[M], /, **settings: Any) -> None:
        bound = signature(model).bind(**settings)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "_settings", model.checked(bound.arguments))

    def __call__(self, **changes: Any) -> M:
        """Build the model, with some keywords changed."""
        return self.model(**{**self, **changes})

    def replace(self, **changes: Any) -> "Network[M]":
        """Return the same with some keywords changed."""
        return Network(self.model, **{**self, **changes})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self[name]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Expected {name} to stay as it is; use replace({name}=...).")

    def __getitem__(self, name: str) -> Any:
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self.model is other.model and self._settings == other._settings

    def __hash__(self) -> int:
        return hash((self.model, *self._settings.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Network, self.model, **self._settings), ()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"Network({self.model.__name__}, {settings})"


def load(kind: Callable[..., T], path: Path) -> T:
    """Read settings from a TOML file; those left out keep their defaults."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"Expected a TOML file at {path}, got {error}.") from error
    return build(kind, values, str(path))


def build(kind: Callable[..., T], values: object, where: str) -> T:
    """Make a dataclass, or another class with type hints, from plain values by name.

    Names and types are checked; ``where`` the values come from is for error messages.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"Expected settings by name in {where}, got {values!r:.40}.")
    hints, needed = _arguments(kind)
    for name in values:
        if name not in hints:
            raise ConfigError(
                f"Expected known settings in {where}, got {name!s:.40};{did_you_mean(name, hints)} "
                f"The settings are {', '.join(hints)}."
            )
    missing = [name for name in needed if name not in values]
    if missing:
        raise ConfigError(f"Expected all settings in {where}, got none for {missing[0]}.")
    made = {name: _value(hints[name], v, f"{where}: {name}") for name, v in values.items()}
    if get_origin(kind) is Network:
        return Network(*get_args(kind), **made)  # type: ignore[return-value]
    return kind(**made)


@cache
def _arguments(kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the types of all arguments of a class, and the names of those without a default."""
    kind = get_args(kind)[0] if get_origin(kind) is Network else kind
    hints = get_type_hints(kind.__init__)
    arguments = signature(kind).parameters
    needed = [name for name, argument in arguments.items() if argument.default is argument.empty]
    return {name: hints[name] for name in arguments}, needed


def _value(kind: Any, value: Any, where: str) -> Any:
    if type(value) is kind or kind is Any:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(inner, value, where)
    if origin is Literal and value in inner:
        return value
    if kind is float and type(value) is int and abs(value) < 1e300:
        return float(value)
    if isinstance(value, dict):
        if _has_names(kind):
            return build(kind, value, where)
        if origin in (dict, Mapping):
            return {name: _value(inner[1], v, where) for name, v in value.items()}
    if isinstance(value, list) and origin in (tuple, list, Sequence):
        made = [_value(inner[0], v, where) for v in value]
        return tuple(made) if origin is tuple else made
    expected = getattr(kind, "__name__", kind) if origin is None else kind
    raise ConfigError(f"Expected {where} of type {expected}, got {value!r:.60}.")


def _has_names(kind: object) -> bool:
    return dataclasses.is_dataclass(kind) or get_origin(kind) is Network


def _one_of(kinds: Sequence[Any], value: Any, where: str) -> Any:
    """Make a value of the first type that takes it; settings by name of the type that fits best."""
    known = [kind for kind in kinds if _has_names(kind)]
    if known and isinstance(value, dict):
        kinds = [max(known, key=lambda kind: len(_arguments(kind)[0].keys() & value.keys()))]
    refused = []
    for kind in kinds:
        try:
            return _value(kind, value, where)
        except ConfigError as error:
            refused.append(error)
    raise refused[0]


def plain(config: Any) -> dict[str, Any]:
    """Return settings as plain values, as JSON will give them back."""
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config), default=dict))
    return values


def override(config: T, name: str, value: Any) -> T:
    """Return settings with one of them, given by name, replaced in every part that has it.

    Example:
        >>> from dataclasses import dataclass
        >>> from mpsn.training._config import override
        >>> @dataclass
        ... class Training:
        ...     precision: str = "float32"
        >>> override({"IMDB-BINARY": Training()}, "precision", "bf16")
        {'IMDB-BINARY': Training(precision='bf16')}
    """
    if isinstance(config, Network):
        return config.replace(**{name: value}) if name in config else config  # type: ignore
    if isinstance(config, Mapping):
        return {key: override(part, name, value) for key, part in config.items()}  # type: ignore
    if not dataclasses.is_dataclass(config):
        return config
    parts = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    new = {
        key: value if key == name else override(part, name, value) for key, part in parts.items()
    }
    return dataclasses.replace(config, **new)  # type: ignore[type-var]
