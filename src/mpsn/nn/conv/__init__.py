"""Layers: one file each, with the equation it computes."""

from mpsn.nn.conv.cin import CINConv, SINConv
from mpsn.nn.conv.linear import LinearMPSNConv
from mpsn.nn.conv.mpsn import MPSNConv
from mpsn.nn.conv.oriented import OrientedConv
from mpsn.nn.conv.sc import SCConv
from mpsn.nn.conv.scone import SCoNeConv
from mpsn.nn.conv.snn import SNNConv

__all__ = [
    "CINConv",
    "LinearMPSNConv",
    "MPSNConv",
    "OrientedConv",
    "SCConv",
    "SCoNeConv",
    "SINConv",
    "SNNConv",
]
