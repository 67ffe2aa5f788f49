"""A test kit for your own layers and code: random complexes for hypothesis."""

from mpsn.testing.strategies import complexes, graphs

__all__ = ["complexes", "graphs"]
