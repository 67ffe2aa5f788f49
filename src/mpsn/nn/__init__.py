"""Neural networks on simplicial complexes: primitives, layers, readouts, models."""

from mpsn.nn import functional
from mpsn.nn.conv import (
    GINConv,
    LinearMPSNConv,
    MPSNConv,
    OrientedConv,
    SCConv,
    SCoNeConv,
    SINConv,
    SNNConv,
)

__all__ = [
    "GINConv",
    "LinearMPSNConv",
    "MPSNConv",
    "OrientedConv",
    "SCConv",
    "SCoNeConv",
    "SINConv",
    "SNNConv",
    "functional",
]
