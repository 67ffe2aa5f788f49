"""The rows of a table: TOML files, one for each."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from mpsn.training._config import ConfigError, load
from mpsn_reproduction.experiment import Experiment

T = TypeVar("T")


def find(name: str) -> Experiment:
    """Return an experiment by its name in the catalog."""
    found: Experiment = import_module(f"mpsn_reproduction.papers.{name}").EXPERIMENT
    return found


def rows(experiment: str, kind: type[T], names: Sequence[str] = ()) -> dict[str, T]:
    """Load the configs of an experiment by name. Defaults to all of them."""
    folder = Path(__file__).parent / "configs" / experiment
    found = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    for name in names:
        if name not in found:
            raise ConfigError(
                f"Expected a row of experiment {experiment} ({', '.join(found)}), got {name!r}."
            )
    return {name: load(kind, found[name]) for name in names or found}
