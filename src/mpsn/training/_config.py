"""Settings as typed objects, made from the plain values of TOML and JSON files."""

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import signature
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mpsn.errors import ConfigError, did_you_mean

T = TypeVar("T")


def from_plain(kind: Callable[..., T], values: object, where: str) -> T:
    """Make a dataclass, or another class with type hints, from plain values by name.

    Names and types are checked. Where a type hint names a generic class ``Kind[Inner]``, the values
    are those that ``Inner`` takes, and what is made is ``Kind(Inner, **values)``.

    Args:
        kind: The class.
        values: Its arguments by name, as ``tomllib`` or ``json`` read them.
        where: Where they come from, for error messages.

    Example:
        >>> from mpsn.training import TrainerSettings, from_plain
        >>> from_plain(TrainerSettings, {"epochs": 5, "lr": 1}, "trainer.toml").lr
        1.0
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
    generic = _generic(kind)
    return generic(*get_args(kind), **made) if generic else kind(**made)


@cache
def _arguments(kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the types of all arguments of a class, and the names of those without a default."""
    kind = get_args(kind)[0] if _generic(kind) else kind
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
            return from_plain(kind, value, where)
        if origin in (dict, Mapping):
            return {name: _value(inner[1], v, where) for name, v in value.items()}
    if isinstance(value, list) and origin in (tuple, list, Sequence):
        made = [_value(inner[0], v, where) for v in value]
        return tuple(made) if origin is tuple else made
    expected = getattr(kind, "__name__", kind) if origin is None else kind
    raise ConfigError(f"Expected {where} of type {expected}, got {value!r:.60}.")


def _has_names(kind: object) -> bool:
    return dataclasses.is_dataclass(kind) or _generic(kind) is not None


def _generic(kind: object) -> Any:
    """Return the generic class of such a type as ``Kind[Inner]``; None for other types."""
    origin = get_origin(kind)
    return origin if isinstance(origin, type) and issubclass(origin, Generic) else None


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
