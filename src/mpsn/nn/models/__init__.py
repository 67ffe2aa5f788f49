"""Models: complete networks, built from typed configs."""

from mpsn.nn.models.edge_flow import EdgeFlowConfig, EdgeFlowNet
from mpsn.nn.models.gin import GIN, GINConfig
from mpsn.nn.models.map_flow import MapFlowConfig, MapFlowNet
from mpsn.nn.models.mlp_sum import MLPSum, MLPSumConfig
from mpsn.nn.models.sin import SIN, SINConfig

__all__ = [
    "GIN",
    "SIN",
    "EdgeFlowConfig",
    "EdgeFlowNet",
    "GINConfig",
    "MLPSum",
    "MLPSumConfig",
    "MapFlowConfig",
    "MapFlowNet",
    "SINConfig",
]
