"""The rows of a table: one TOML file an experiment, ``papers/NAME.toml``.

``[rows.sin]`` has what is special about row ``sin``; ``[base]`` has what rows share. A table in
``[base]``, such as ``[base.train]``, completes the rows that have such a table, even an empty one.
"""

import tomllib
from collections.abc import Sequence
from importlib import import_module, resources
from typing import Any, TypeVar

from mpsn.errors import did_you_mean
from mpsn.training._config import ConfigError, build
from mpsn_reproduction.experiment import Experiment

T = TypeVar("T")


def find(name: str) -> Experiment:
    """Return an experiment by its name in the catalog."""
    experiment: Experiment = import_module(f"mpsn_reproduction.papers.{name}").EXPERIMENT
    return experiment


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
        name: build(kind, completed(special[name], base), f"{experiment}.toml: rows.{name}")
        for name in names or special
    }


def completed(row: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a row, those that it leaves out as in the base.

    Example:
        >>> from mpsn_reproduction.rows import completed
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
