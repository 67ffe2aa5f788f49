"""The tables and figures of the paper, each as an experiment: jobs, records, a table and figures.

Names are imported when they are first used, so that the command line's help need not wait.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpsn_reproduction.cluster import RayEngine
    from mpsn_reproduction.engine import Result, reproduce
    from mpsn_reproduction.experiment import Job, Record, Run
    from mpsn_reproduction.local import LocalEngine
    from mpsn_reproduction.page import report
    from mpsn_reproduction.papers.graph_data import pack
    from mpsn_reproduction.store import Store
    from mpsn_reproduction.table import Table

_HOMES = {
    "Job": "experiment",
    "LocalEngine": "local",
    "RayEngine": "cluster",
    "Record": "experiment",
    "Result": "engine",
    "Run": "experiment",
    "Store": "store",
    "Table": "table",
    "pack": "papers.graph_data",
    "report": "page",
    "reproduce": "engine",
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
