"""Graphs and data sets, from files or made."""

from mpsn.datasets.files import read_graphs
from mpsn.datasets.flows import FlowDataset, synthetic_flows
from mpsn.datasets.folds import Folds, tu_folds
from mpsn.datasets.named import named_graph
from mpsn.datasets.ocean import ocean_drifters
from mpsn.datasets.strongly_regular import strongly_regular
from mpsn.datasets.tu import TU, TUDataset

__all__ = [
    "TU",
    "FlowDataset",
    "Folds",
    "TUDataset",
    "named_graph",
    "ocean_drifters",
    "read_graphs",
    "strongly_regular",
    "synthetic_flows",
    "tu_folds",
]
