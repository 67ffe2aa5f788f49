"""The checks of scikit-learn's check_estimator that make sense where samples are graphs.

Left out are those that pass tables of numbers of their own choice to ``fit``: what they look at
(fitting twice, wrong shapes, NaN, one sample, prediction by parts) is tested in test_estimators.py.
"""

import networkx as nx
import pytest
from sklearn.utils import estimator_checks as checks
from sklearn.utils import get_tags

import mpsn
from mpsn.estimators import (
    EdgeFlowClassifier,
    SimplicialClassifier,
    SimplicialRegressor,
    SWLKernel,
    WLKernel,
)

ESTIMATORS = [
    SimplicialClassifier(),
    SimplicialRegressor(),
    SWLKernel(),
    WLKernel(),
    EdgeFlowClassifier(mpsn.clique_complex(nx.cycle_graph(4))),
]
CHECKS = [
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_mixin_order,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_do_not_raise_errors_in_init_or_set_params,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_check(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("kind", [SimplicialClassifier, SimplicialRegressor, SWLKernel, WLKernel])
def test_defaults(kind):
    checks.check_parameters_default_constructible(kind.__name__, kind())


def test_tags():
    assert get_tags(SimplicialClassifier()).estimator_type == "classifier"
    assert get_tags(SimplicialRegressor()).estimator_type == "regressor"
    assert not get_tags(SimplicialClassifier()).input_tags.two_d_array
