"""Neural networks on complexes: functions, layers, readouts, models."""

from mpsn.nn import functional, models
from mpsn.nn.conv import (
    LinearMPSNConv,
    MPSNConv,
    OrientedConv,
    SCConv,
    SCoNeConv,
    SINConv,
    SNNConv,
)
from mpsn.nn.populate import Populate
from mpsn.nn.readout import ComplexReadout, Even, jump, pool

__all__ = [
    "ComplexReadout",
    "Even",
    "LinearMPSNConv",
    "MPSNConv",
    "OrientedConv",
    "Populate",
    "SCConv",
    "SCoNeConv",
    "SINConv",
    "SNNConv",
    "functional",
    "jump",
    "models",
    "pool",
]
