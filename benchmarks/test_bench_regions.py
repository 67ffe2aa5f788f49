"""Exact counts of linear regions, in seconds on one core, equal to the closed forms."""

import numpy as np
import pytest

from mpsn.regions import bounds, count
from mpsn_reproduction.papers.regions import COLUMNS, TRIANGLE, matrix


def test_triangle_example(benchmark):
    """GNN, SCNN and MPSN together, M = 21, N = 7: under 10 s."""
    layers = [matrix(model, TRIANGLE, 1, 3, 0) for model in COLUMNS]
    found = benchmark.pedantic(lambda: [count(W) for W in layers], rounds=1)
    assert found == [8, 128, 81_432]
    assert benchmark.stats.stats.max < 10


@pytest.mark.parametrize("exact", [False, True])
def test_thirty_hyperplanes_in_six_dimensions(benchmark, exact):
    """293 192 regions in general position: under 60 s."""
    W = np.random.default_rng(0).standard_normal((30, 6))
    found = benchmark.pedantic(lambda: count(W, exact=exact), rounds=1)
    assert found == bounds.dense(6, 30) == 293_192
    assert benchmark.stats.stats.max < 60
