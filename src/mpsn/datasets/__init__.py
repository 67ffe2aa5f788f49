"""Graphs and data sets: read from files, downloaded, or constructed."""

from mpsn.complexes._graphs import Graph
from mpsn.datasets._coauthor import Coauthors, coauthors
from mpsn.datasets._files import read_graphs
from mpsn.datasets._flows import FlowDataset, synthetic_flows
from mpsn.datasets._folds import tu_folds
from mpsn.datasets._molecules import Molecules, read_molecules
from mpsn.datasets._named import named_graph
from mpsn.datasets._next_node import NextNodes, Steps, next_nodes
from mpsn.datasets._ocean import ocean_drifters
from mpsn.datasets._strongly_regular import strongly_regular
from mpsn.datasets._temporal import TemporalSimplices, temporal_simplices
from mpsn.datasets._tu import TU

__all__ = [
    "TU",
    "Coauthors",
    "FlowDataset",
    "Graph",
    "Molecules",
    "NextNodes",
    "Steps",
    "TemporalSimplices",
    "coauthors",
    "named_graph",
    "next_nodes",
    "ocean_drifters",
    "read_graphs",
    "read_molecules",
    "strongly_regular",
    "synthetic_flows",
    "temporal_simplices",
    "tu_folds",
]
