"""Configs: typed dataclasses, kept as TOML files, one for each row of a table."""

import dataclasses
import hashlib
import json
import tomllib
import types
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mpsn.errors import FileError, MPSNError

T = TypeVar("T")


class ConfigError(MPSNError):
    """Settings that an experiment does not have, or values it cannot take."""


def folder(experiment: str) -> Path:
    """Return the folder of an experiment's TOML files, in an installation or a checkout."""
    installed = Path(str(resources.files("mpsn"))) / "configs"
    checkout = Path(__file__).parents[3] / "configs"
    return (installed if installed.is_dir() else checkout) / experiment


def rows(experiment: str, kind: type[T], names: Sequence[str] = ()) -> dict[str, T]:
    """Load the configs of an experiment by name; all of them unless some are named."""
    found = {path.stem: path for path in sorted(folder(experiment).glob("*.toml"))}
    for name in names:
        if name not in found:
            raise ConfigError(
                f"Expected a row of experiment {experiment} ({', '.join(found)}), got {name!r}."
            )
    return {name: load(kind, found[name]) for name in names or found}


def load(kind: type[T], path: Path) -> T:
    """Read a config from a TOML file.

    Args:
        kind: The dataclass it is to be.
        path: The file. Settings it leaves out keep their defaults; unknown ones are refused.
    """
    try:
        values = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise FileError(f"Expected a TOML file at {path}, got {error}.") from error
    return build(kind, values, str(path))


def build(kind: type[T], values: dict[str, Any], where: str) -> T:
    """Make a config from plain values, as TOML and JSON have them, checking names and types."""
    hints = get_type_hints(kind)
    unknown = sorted(values.keys() - hints.keys())
    if unknown:
        raise ConfigError(
            f"Expected settings among {', '.join(hints)} in {where}, got {', '.join(unknown)}."
        )
    try:
        return kind(
            **{name: _value(hints[name], v, f"{where}: {name}") for name, v in values.items()}
        )
    except TypeError as error:
        raise ConfigError(f"Expected all settings in {where}, got {error}.") from error


def _value(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        return _one_of(get_args(kind), value, where)
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return build(kind, value, where)  # type: ignore[arg-type]
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_value(get_args(kind)[0], v, where) for v in value)
    if get_origin(kind) is Literal and value in get_args(kind):
        return value
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise ConfigError(f"Expected {where} of type {getattr(kind, '__name__', kind)}, got {value!r}.")


def _one_of(kinds: Sequence[Any], value: Any, where: str) -> Any:
    """Make a value of the first type that takes it; settings of that which knows most of them."""
    if isinstance(value, dict):
        known = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
        kinds = [max(known, key=lambda kind: len(get_type_hints(kind).keys() & value.keys()))]
    refused = []
    for kind in kinds:
        try:
            return _value(kind, value, where)
        except ConfigError as error:
            refused.append(error)
    raise refused[0]


def plain(config: Any) -> dict[str, Any]:
    """Return a config as plain values, the way JSON will give them back."""
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    return values


def digest(config: Any) -> str:
    """Return twelve hexadecimal digits that differ when any setting does."""
    text = json.dumps(plain(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
