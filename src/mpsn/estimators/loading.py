"""Any saved model, by its file alone."""

import os

from mpsn.errors import FileError
from mpsn.estimators.edge_flow import EdgeFlowClassifier
from mpsn.estimators.files import read_model
from mpsn.estimators.simplicial import SimplicialClassifier, SimplicialRegressor

Estimator = SimplicialClassifier | SimplicialRegressor | EdgeFlowClassifier
KINDS: dict[str, type[Estimator]] = {
    kind.__name__: kind for kind in (SimplicialClassifier, SimplicialRegressor, EdgeFlowClassifier)
}


def load(path: str | os.PathLike[str]) -> Estimator:
    """Read a model that any estimator's ``save`` wrote.

    Only weights and plain values are read; nothing in the file is run. A file that is damaged, too
    large (over 1 GiB of weights), or of a newer format is refused.
    """
    kind = read_model(path).kind
    if kind not in KINDS:
        raise FileError(
            f"Expected a model of kind {', '.join(KINDS)} in {path}, got {kind!r:.40}; "
            f"update mpsn, or check where the file came from."
        )
    return KINDS[kind].load(path)
