"""Neural networks on complexes: functions, layers, pooling, readouts, models."""

from mpsn.nn import functional, models
from mpsn.nn.conv import (
    CANConv,
    CellTransformerConv,
    CINConv,
    GSANConv,
    HMCConv,
    LinearMPSNConv,
    MPSNConv,
    NeighborhoodConv,
    OrientedConv,
    SANConv,
    SCCNNConv,
    SCConv,
    SCNConv,
    SCNNConv,
    SCoNeConv,
    SheafConv,
    SINConv,
    SNNConv,
)
from mpsn.nn.conv._mlp import RowNorm, mlp
from mpsn.nn.pool import Pooled, TopKPool, coarsen, topk_pool, unpool
from mpsn.nn.populate import Populate
from mpsn.nn.readout import ComplexReadout, Even, global_pool, jump

__all__ = [
    "CANConv",
    "CINConv",
    "CellTransformerConv",
    "ComplexReadout",
    "Even",
    "GSANConv",
    "HMCConv",
    "LinearMPSNConv",
    "MPSNConv",
    "NeighborhoodConv",
    "OrientedConv",
    "Pooled",
    "Populate",
    "RowNorm",
    "SANConv",
    "SCCNNConv",
    "SCConv",
    "SCNConv",
    "SCNNConv",
    "SCoNeConv",
    "SINConv",
    "SNNConv",
    "SheafConv",
    "TopKPool",
    "coarsen",
    "functional",
    "global_pool",
    "jump",
    "mlp",
    "models",
    "topk_pool",
    "unpool",
]
