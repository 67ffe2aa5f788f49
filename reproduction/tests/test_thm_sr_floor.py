"""Lemma 9 and Theorem 10 made visible: a deep random SIN fails on exactly the pairs SWL fails on.

`mpsn reproduce sr --model sin-floor` runs all nine families and ten seeds; these are small ones.
"""

import os

import pytest
import torch

from mpsn_reproduction.experiment import Job, Resources
from mpsn_reproduction.papers import sr
from mpsn_reproduction.settings import rows

CONFIG = rows("sr", sr.SRConfig, ["sin-floor"])["sin-floor"]
needs_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="set MPSN_DATA")
FAMILIES = {"SR(16,6,2,2)": 0, "SR(25,12,5,6)": 0, "SR(28,12,6,4)": 0}
FROM_FILES = {"SR(26,10,3,4)": 1, "SR(40,12,2,4)": 3}


@pytest.mark.parametrize(
    ("family", "floor"),
    [*FAMILIES.items(), *(pytest.param(*item, marks=needs_data) for item in FROM_FILES.items())],
)
def test_sin_reaches_the_floor_and_stays_above_it(family, floor):
    job = Job("sin-floor", CONFIG, family, (0, 1, 2))
    graphs = sr.read(family, None)
    for run in sr.work(job, Resources(torch.device("cpu"), graphs, lambda done: None)):
        found = run.metrics
        assert found["failed"] == floor
        assert found["as_swl"] == 1
        assert found["told_apart_against_swl"] == 0
        limit = CONFIG.eps * found["rounding"]
        assert found.get("largest_equal", 0) < limit / 10  # the limit lies in a wide gap
        assert found["smallest_different"] > 10 * limit
