"""What doctests may use without importing it, and quiet, single-threaded tests."""

import matplotlib as mpl
import networkx as nx
import pytest
import torch
from hypothesis import HealthCheck, settings

import mpsn

collect_ignore = ["docs/conf.py"]  # settings of the site, not a module
mpl.use("Agg")
torch.set_num_threads(1)
settings.register_profile(
    "mpsn", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("mpsn")


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace.update(
        mpsn=mpsn, nx=nx, torch=torch, SimplicialComplex=mpsn.SimplicialComplex
    )
