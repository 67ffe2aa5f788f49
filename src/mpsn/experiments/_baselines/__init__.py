"""Networks of the paper's Table 2 to compare with: each takes GIN's settings and GIN's batches."""

from collections.abc import Callable

from mpsn.experiments._baselines.dcnn import DCNN
from mpsn.experiments._baselines.dgcnn import DGCNN
from mpsn.nn.models import GINConfig
from mpsn.nn.models._model import Model

BASELINES: dict[str, Callable[[GINConfig], Model]] = {
    "dcnn": DCNN,
    "dgcnn": DGCNN,
}
