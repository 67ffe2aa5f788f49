"""Models and features of graphs, of cells and of edge flows with the interface of scikit-learn.

>>> from mpsn.estimators import SimplicialClassifier
>>> graphs = [nx.cycle_graph(n) for n in range(3, 11)] + [nx.star_graph(n) for n in range(2, 10)]
>>> model = SimplicialClassifier(epochs=5).fit(graphs, ["ring"] * 8 + ["star"] * 8)
>>> model.predict([nx.star_graph(12)])
array(['star'], dtype='<U4')
"""

import os
from typing import get_args

from mpsn.estimators._cells import CellClassifier, CellRegressor
from mpsn.estimators._color_counts import SWLKernel, WLKernel
from mpsn.estimators._edge_flow import EdgeFlowClassifier
from mpsn.estimators._explain import Explanation
from mpsn.estimators._saving import load_estimator
from mpsn.estimators._scaffolds import ScaffoldKFold
from mpsn.estimators._simplices import SimplexPredictor
from mpsn.estimators._simplicial import SimplicialClassifier, SimplicialRegressor

__all__ = [
    "CellClassifier",
    "CellRegressor",
    "EdgeFlowClassifier",
    "Explanation",
    "SWLKernel",
    "ScaffoldKFold",
    "SimplexPredictor",
    "SimplicialClassifier",
    "SimplicialRegressor",
    "WLKernel",
    "load",
]


Estimator = (
    SimplicialClassifier
    | SimplicialRegressor
    | EdgeFlowClassifier
    | CellClassifier
    | CellRegressor
    | SimplexPredictor
)
KINDS: tuple[type[Estimator], ...] = get_args(Estimator)


def load(path: str | os.PathLike[str]) -> Estimator:
    """Read a model that the ``save`` method of any estimator wrote.

    Only weights and plain values are read; nothing in the file is run. A file that is damaged, too
    large (over 1 GiB of weights), or of a newer format is refused.
    """
    return load_estimator(path, *KINDS)
