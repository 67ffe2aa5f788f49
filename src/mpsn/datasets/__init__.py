"""Graphs and data sets, from files or made."""

from mpsn.datasets.files import read_graphs

__all__ = ["read_graphs"]
