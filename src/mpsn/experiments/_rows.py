"""The rows of a table: TOML files, one for each."""

from collections.abc import Sequence
from importlib import import_module, resources
from pathlib import Path
from typing import TypeVar

from mpsn.experiments._experiment import Experiment
from mpsn.training._config import ConfigError, load

T = TypeVar("T")


def find(name: str) -> Experiment:
    """Return an experiment by its name in the catalog."""
    found: Experiment = import_module(f"mpsn.experiments._{name}").EXPERIMENT
    return found


def rows(experiment: str, kind: type[T], names: Sequence[str] = ()) -> dict[str, T]:
    """Load the configs of an experiment by name. Defaults to all of them."""
    installed = Path(str(resources.files("mpsn"))) / "configs"
    checkout = Path(__file__).parents[3] / "configs"
    folder = (installed if installed.is_dir() else checkout) / experiment
    found = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    for name in names:
        if name not in found:
            raise ConfigError(
                f"Expected a row of experiment {experiment} ({', '.join(found)}), got {name!r}."
            )
    return {name: load(kind, found[name]) for name in names or found}
