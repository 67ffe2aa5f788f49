"""The front door: models of graphs in the manner of scikit-learn.

>>> from mpsn.estimators import SimplicialClassifier
>>> graphs = [nx.cycle_graph(n) for n in range(3, 11)] + [nx.star_graph(n) for n in range(2, 10)]
>>> model = SimplicialClassifier(epochs=5).fit(graphs, ["ring"] * 8 + ["star"] * 8)
>>> model.predict([nx.star_graph(12)])
array(['star'], dtype='<U4')
"""

from mpsn.errors import MissingPackageError

try:
    from mpsn.estimators.edge_flow import EdgeFlowClassifier
    from mpsn.estimators.explain import Explanation
    from mpsn.estimators.loading import load
    from mpsn.estimators.simplicial import SimplicialClassifier, SimplicialRegressor
    from mpsn.wl import SWLKernel, WLKernel
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    raise MissingPackageError(
        "Expected scikit-learn for mpsn.estimators; run pip install 'mpsn[sklearn]'."
    ) from error

__all__ = [
    "EdgeFlowClassifier",
    "Explanation",
    "SWLKernel",
    "SimplicialClassifier",
    "SimplicialRegressor",
    "WLKernel",
    "load",
]
