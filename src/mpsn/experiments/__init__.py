"""Experiments: each table and figure of the paper, one file an experiment."""

from importlib import import_module

from mpsn.experiments.experiment import Experiment

NAMES = ("sr", "flow", "ocean", "tu")


def find(name: str) -> Experiment:
    """Return an experiment by name."""
    found: Experiment = import_module(f"mpsn.experiments.{name}").EXPERIMENT
    return found
