"""Graphs and data sets, from files or made."""

from mpsn.datasets.files import read_graphs
from mpsn.datasets.named import named_graph
from mpsn.datasets.strongly_regular import strongly_regular

__all__ = ["named_graph", "read_graphs", "strongly_regular"]
