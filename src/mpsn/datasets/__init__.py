"""Graphs and data sets: read from files, downloaded, or constructed."""

from mpsn.convert import Graph
from mpsn.datasets._collections import GraphCollection, read_collection
from mpsn.datasets._files import graph_suffix, iter_graphs, read_graphs
from mpsn.datasets._flows import FlowDataset, synthetic_flows
from mpsn.datasets._molecule_files import MoleculeTable, holds_molecules, read_molecule_table
from mpsn.datasets._molecules import (
    Molecules,
    category_names,
    is_molecule,
    molecule_graph,
    parse_molecule,
    read_molecules,
    scaffolds,
)
from mpsn.datasets._named import NAMED_GRAPHS, named_graph
from mpsn.datasets._ocean import ocean_drifters
from mpsn.datasets._shapes import SHAPES, shapes
from mpsn.datasets._simplices import is_simplices, read_complex
from mpsn.datasets._sources import find_data
from mpsn.datasets._strongly_regular import SR_FAMILIES, strongly_regular
from mpsn.datasets._surfaces import SURFACE_TYPES, surfaces
from mpsn.datasets._tables import read_cell_labels
from mpsn.datasets._tu import TU, TU_SETS, TUDataset

__all__ = [
    "NAMED_GRAPHS",
    "SHAPES",
    "SR_FAMILIES",
    "SURFACE_TYPES",
    "TU",
    "TU_SETS",
    "FlowDataset",
    "Graph",
    "GraphCollection",
    "MoleculeTable",
    "Molecules",
    "TUDataset",
    "category_names",
    "find_data",
    "graph_suffix",
    "holds_molecules",
    "is_molecule",
    "is_simplices",
    "iter_graphs",
    "molecule_graph",
    "named_graph",
    "ocean_drifters",
    "parse_molecule",
    "read_cell_labels",
    "read_collection",
    "read_complex",
    "read_graphs",
    "read_molecule_table",
    "read_molecules",
    "scaffolds",
    "shapes",
    "strongly_regular",
    "surfaces",
    "synthetic_flows",
]
