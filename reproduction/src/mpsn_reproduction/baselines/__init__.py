"""Networks of the paper's Table 2 to compare with: each takes keywords and batches of GIN."""

import inspect
from collections.abc import Mapping
from typing import Any

from mpsn.errors import ConfigError
from mpsn.nn.models import Model
from mpsn_reproduction.baselines.dcnn import DCNN
from mpsn_reproduction.baselines.dgcnn import DGCNN
from mpsn_reproduction.baselines.gsn import GSN
from mpsn_reproduction.baselines.ign import IGN
from mpsn_reproduction.baselines.ngn import NGN
from mpsn_reproduction.baselines.ppgn import PPGN

BASELINES: dict[str, type[Model]] = {
    "dcnn": DCNN,
    "dgcnn": DGCNN,
    "gsn": GSN,
    "ign": IGN,
    "ngn": NGN,
    "ppgn": PPGN,
}

EXPRESSIVE = ("gsn", "ign", "ngn", "ppgn")


def check_baseline(name: str, settings: Mapping[str, Any] | None) -> None:
    """Raise unless ``name`` is empty, or that of an expressive baseline with its settings."""
    if name and (name not in EXPRESSIVE or settings is None):
        raise ConfigError(
            f"Expected a baseline among {', '.join(EXPRESSIVE)}, and its settings in gin, got "
            f"{name!r}{'' if settings else ' without'}."
        )


def make_baseline(name: str, settings: Mapping[str, Any]) -> Model:
    """Build a baseline with the keywords of GIN that it takes."""
    network = BASELINES[name]
    parameters = inspect.signature(network).parameters
    every = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return network(**{key: v for key, v in settings.items() if every or key in parameters})
