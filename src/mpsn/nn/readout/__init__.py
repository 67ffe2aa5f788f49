"""Readouts: from features of cells to features of complexes."""

from mpsn.nn.readout.complex_readout import ComplexReadout, jump
from mpsn.nn.readout.even import Even
from mpsn.nn.readout.global_pooling import global_pool

__all__ = ["ComplexReadout", "Even", "global_pool", "jump"]
