"""Layers: one file each, with the equation it computes."""

from mpsn.nn.conv.can import CANConv
from mpsn.nn.conv.cin import CINConv, SINConv
from mpsn.nn.conv.gsan import GSANConv
from mpsn.nn.conv.hmc import HMCConv
from mpsn.nn.conv.linear import LinearMPSNConv
from mpsn.nn.conv.mpsn import MPSNConv
from mpsn.nn.conv.neighborhood import NeighborhoodConv
from mpsn.nn.conv.oriented import OrientedConv
from mpsn.nn.conv.san import SANConv
from mpsn.nn.conv.sc import SCConv
from mpsn.nn.conv.sccnn import SCCNNConv
from mpsn.nn.conv.scn import SCNConv
from mpsn.nn.conv.scnn import SCNNConv
from mpsn.nn.conv.scone import SCoNeConv
from mpsn.nn.conv.sheaf import SheafConv
from mpsn.nn.conv.snn import SNNConv
from mpsn.nn.conv.transformer import CellTransformerConv

__all__ = [
    "CANConv",
    "CINConv",
    "CellTransformerConv",
    "GSANConv",
    "HMCConv",
    "LinearMPSNConv",
    "MPSNConv",
    "NeighborhoodConv",
    "OrientedConv",
    "SANConv",
    "SCCNNConv",
    "SCConv",
    "SCNConv",
    "SCNNConv",
    "SCoNeConv",
    "SINConv",
    "SNNConv",
    "SheafConv",
]
