"""Names that doctests may use without importing them, and settings of all tests."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import networkx as nx
import pytest
import torch
from hypothesis import HealthCheck, settings
from matplotlib import pyplot as plt

import mpsn
from mpsn.cli import main

collect_ignore = ["docs/conf.py"]  # settings of the site, not a module
mpl.use("Agg")
signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore in the background
if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(1)  # of each worker: make test runs one worker per core
settings.register_profile(
    "mpsn",
    deadline=None,
    derandomize=True,
    max_examples=50,  # the same ones every time
    database=None,  # two workers would write to the same one
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mpsn")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, visibly, what needs a GPU where there is none."""
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


def pytest_collection_finish() -> None:
    """Spare the garbage collector all that was imported, which stays."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, object], tmp_path: Path) -> None:
    doctest_namespace.update(mpsn=mpsn, nx=nx, torch=torch, tmp_path=tmp_path)
    doctest_namespace.update(SimplicialComplex=mpsn.SimplicialComplex, CellComplex=mpsn.CellComplex)


@pytest.fixture(name="mpsn")
def _mpsn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[object, str, str]]:
    """Run ``mpsn`` with some arguments; return its exit status, output and errors."""

    def run(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["mpsn", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
        out, err = capsys.readouterr()
        return ending.value.code, out, err

    return run


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")
