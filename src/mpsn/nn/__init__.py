"""Neural networks on complexes: functions, layers, readouts, models."""

from mpsn.nn import functional, models
from mpsn.nn.conv import (
    CINConv,
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
    "CINConv",
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
