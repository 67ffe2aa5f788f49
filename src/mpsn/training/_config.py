"""Settings as typed dataclasses, made from the plain values of TOML and JSON files."""

import dataclasses
import hashlib
import json
import tomllib
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mpsn.errors import FileError, MPSNError, did_you_mean

T = TypeVar("T")

# Metadata of a field that was added later: at its default, it leaves digests, by which records are
# found, as they were.
LATER = {"later": True}


class ConfigError(MPSNError):
    """Settings that do not exist, or values they cannot take."""


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
    return kind(**{name: _value(hints[name], v, f"{where}: {name}") for name, v in values.items()})


@cache
def _arguments(kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the types of all arguments of a class, and the names of those without a default."""
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
        if dataclasses.is_dataclass(kind):
            return build(kind, value, where)  # type: ignore[arg-type]
        if origin in (dict, Mapping):
            return {name: _value(inner[1], v, where) for name, v in value.items()}
    if isinstance(value, list) and origin in (tuple, list, Sequence):
        made = [_value(inner[0], v, where) for v in value]
        return tuple(made) if origin is tuple else made
    expected = getattr(kind, "__name__", kind) if origin is None else kind
    raise ConfigError(f"Expected {where} of type {expected}, got {value!r:.60}.")


def _one_of(kinds: Sequence[Any], value: Any, where: str) -> Any:
    """Make a value of the first type that takes it; a dataclass of the type that fits best."""
    known: list[Any] = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
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
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
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
    if isinstance(config, Mapping):
        return {key: override(part, name, value) for key, part in config.items()}  # type: ignore
    if not dataclasses.is_dataclass(config):
        return config
    parts = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    new = {
        key: value if key == name else override(part, name, value) for key, part in parts.items()
    }
    return dataclasses.replace(config, **new)  # type: ignore[type-var]


def digest(config: Any) -> str:
    """Return twelve hexadecimal digits that differ when any setting does."""
    text = json.dumps(_told(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _told(value: Any) -> Any:
    """Return settings as plain values, without those that were added later and are at defaults."""
    if dataclasses.is_dataclass(value):
        pairs = [(field, getattr(value, field.name)) for field in dataclasses.fields(value)]
        return {
            f.name: _told(v) for f, v in pairs if not ("later" in f.metadata and v == f.default)
        }
    if isinstance(value, Mapping):
        return {name: _told(each) for name, each in value.items()}
    return [_told(each) for each in value] if isinstance(value, (list, tuple)) else value
