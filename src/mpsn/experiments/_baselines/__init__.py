"""Networks of the paper's Table 2 to compare with: each takes GIN's settings and GIN's batches."""

from collections.abc import Callable

from mpsn.experiments._baselines.dcnn import DCNN
from mpsn.experiments._baselines.dgcnn import DGCNN
from mpsn.experiments._baselines.gsn import GSN
from mpsn.experiments._baselines.ign import IGN
from mpsn.experiments._baselines.ngn import NGN
from mpsn.experiments._baselines.ppgn import PPGN
from mpsn.nn.models import GINConfig
from mpsn.nn.models._model import Model
from mpsn.training._config import ConfigError

BASELINES: dict[str, Callable[[GINConfig], Model]] = {
    "dcnn": DCNN,
    "dgcnn": DGCNN,
    "gsn": GSN,
    "ign": IGN,
    "ngn": NGN,
    "ppgn": PPGN,
}


EXPRESSIVE = ("gsn", "ign", "ngn", "ppgn")


def check_baseline(name: str, settings: GINConfig | None) -> None:
    """Raise unless ``name`` is empty, or that of an expressive baseline with its settings."""
    if name and (name not in EXPRESSIVE or settings is None):
        raise ConfigError(
            f"Expected a baseline among {', '.join(EXPRESSIVE)}, and its settings in gin, got "
            f"{name!r}{'' if settings else ' without'}."
        )
