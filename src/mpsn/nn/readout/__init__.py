"""Readouts: from features of cells to features of complexes."""

from mpsn.nn.readout.complex_readout import ComplexReadout, jump
from mpsn.nn.readout.even import Even
from mpsn.nn.readout.pool import pool

__all__ = ["ComplexReadout", "Even", "jump", "pool"]
