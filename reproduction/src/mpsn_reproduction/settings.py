"""Settings: typed values of one TOML file an experiment, ``papers/NAME.toml``.

``[rows.sin]`` has what is special about row ``sin``; ``[base]`` has what rows share. A table in
``[base]``, such as ``[base.train]``, completes the rows that have such a table, even an empty one.
"""

import dataclasses
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import resources
from inspect import signature
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from mpsn.errors import ConfigError, FileError, did_you_mean
from mpsn.nn.models import Model
from mpsn.training import from_plain

T = TypeVar("T")
M = TypeVar("M", bound=Model)
Precision = Literal["float32", "tf32", "bf16"]


class Network(Mapping[str, Any], Generic[M]):
    """A model that is not built yet: its class and all its keywords, as an immutable value.

    Args:
        model: The class.
        settings: Keywords; those left out have their defaults.

    Example:
        >>> from mpsn_reproduction.settings import Network
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
    return from_plain(kind, values, str(path))


def rows(experiment: str, kind: type[T], names: Sequence[str] = ()) -> dict[str, T]:
    """Load the configs of an experiment by name. Defaults to all of them."""
    file = resources.files("mpsn_reproduction.papers") / f"{experiment}.toml"
    values = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    base, special = values.get("base", {}), values.get("rows", {})
    for name in names:
        if name not in special:
            raise ConfigError(
                f"Expected a row of experiment {experiment} ({', '.join(special)}), got {name!r}."
                f"{did_you_mean(name, special)}"
            )
    return {
        name: from_plain(kind, completed(special[name], base), f"{experiment}.toml: rows.{name}")
        for name in names or special
    }


def completed(row: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a row, those that it leaves out as in the base.

    Example:
        >>> from mpsn_reproduction.settings import completed
        >>> base = {"seed": 1, "sin": {"layers": 4, "act": "relu"}, "gin": {"layers": 3}}
        >>> completed({"sin": {"layers": 2}}, base)
        {'seed': 1, 'sin': {'layers': 2, 'act': 'relu'}}
    """
    shared = {key: value for key, value in base.items() if not isinstance(value, dict)}
    special = {
        key: completed(value, base.get(key, {})) if isinstance(value, dict) else value
        for key, value in row.items()
    }
    return shared | special


def plain(config: Any) -> dict[str, Any]:
    """Return settings as plain values, as JSON will give them back."""
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config), default=dict))
    return values


def override(config: T, name: str, value: Any) -> T:
    """Return settings with one of them, given by name, replaced in every part that has it.

    Example:
        >>> from dataclasses import dataclass
        >>> from mpsn_reproduction.settings import override
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
