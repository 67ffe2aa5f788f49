"""Graphs and data sets: read from files, downloaded, or constructed."""

from mpsn.convert import Graph
from mpsn.datasets._coauthor import Coauthors, coauthors
from mpsn.datasets._files import read_graphs
from mpsn.datasets._flows import FlowDataset, synthetic_flows
from mpsn.datasets._folds import fair_folds, tu_folds
from mpsn.datasets._molecules import (
    Molecules,
    category_names,
    is_molecule,
    molecule_graph,
    parse_molecule,
    read_molecules,
    scaffolds,
)
from mpsn.datasets._named import named_graph
from mpsn.datasets._next_node import NextNodes, Steps, next_nodes
from mpsn.datasets._ocean import ocean_drifters
from mpsn.datasets._shapes import shapes
from mpsn.datasets._simplices import read_complex
from mpsn.datasets._strongly_regular import strongly_regular
from mpsn.datasets._surfaces import SURFACE_TYPES, surfaces, triangulated_surfaces
from mpsn.datasets._temporal import TemporalSimplices, temporal_simplices
from mpsn.datasets._tu import TU

__all__ = [
    "SURFACE_TYPES",
    "TU",
    "Coauthors",
    "FlowDataset",
    "Graph",
    "Molecules",
    "NextNodes",
    "Steps",
    "TemporalSimplices",
    "category_names",
    "coauthors",
    "fair_folds",
    "is_molecule",
    "molecule_graph",
    "named_graph",
    "next_nodes",
    "ocean_drifters",
    "parse_molecule",
    "read_complex",
    "read_graphs",
    "read_molecules",
    "scaffolds",
    "shapes",
    "strongly_regular",
    "surfaces",
    "synthetic_flows",
    "temporal_simplices",
    "triangulated_surfaces",
    "tu_folds",
]
