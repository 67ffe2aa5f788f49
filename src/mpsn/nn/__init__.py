"""Neural networks on complexes: functions, layers, pooling, readouts, models."""

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
from mpsn.nn.conv._mlp import RowNorm, mlp
from mpsn.nn.pool import Pooled, TopKPool, coarsen, topk_pool, unpool
from mpsn.nn.populate import Populate
from mpsn.nn.readout import ComplexReadout, Even, global_pool, jump

__all__ = [
    "CINConv",
    "ComplexReadout",
    "Even",
    "LinearMPSNConv",
    "MPSNConv",
    "OrientedConv",
    "Pooled",
    "Populate",
    "RowNorm",
    "SCConv",
    "SCoNeConv",
    "SINConv",
    "SNNConv",
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
