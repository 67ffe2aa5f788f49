"""Experiments: each table and figure of the paper, as jobs, records, a table and figures.

Names are imported when they are first used, so that the command line's help need not wait.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpsn.experiments._experiment import Job, Record, Run
    from mpsn.experiments._graph_data import pack
    from mpsn.experiments._local import LocalEngine
    from mpsn.experiments._ray import RayEngine
    from mpsn.experiments._report import report
    from mpsn.experiments._reproduce import Result, reproduce
    from mpsn.experiments._store import Store
    from mpsn.experiments._table import Table

_HOMES = {
    "Job": "_experiment",
    "LocalEngine": "_local",
    "RayEngine": "_ray",
    "Record": "_experiment",
    "Result": "_reproduce",
    "Run": "_experiment",
    "Store": "_store",
    "Table": "_table",
    "pack": "_graph_data",
    "report": "_report",
    "reproduce": "_reproduce",
}
__all__ = [
    "Job",
    "LocalEngine",
    "RayEngine",
    "Record",
    "Result",
    "Run",
    "Store",
    "Table",
    "pack",
    "report",
    "reproduce",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
