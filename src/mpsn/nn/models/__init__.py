"""Models: complete networks, built from typed configs."""

from mpsn.nn.models.cells import CellConfig, CellNet
from mpsn.nn.models.cin import CIN, SIN, CINConfig, SINConfig
from mpsn.nn.models.edge_flow import EdgeFlowConfig, EdgeFlowNet
from mpsn.nn.models.gin import GIN, GINConfig, GINEConfig
from mpsn.nn.models.hierarchical import Hierarchical, HierarchicalConfig
from mpsn.nn.models.map_flow import MapFlowConfig, MapFlowNet
from mpsn.nn.models.marked import Marked
from mpsn.nn.models.mlp_sum import MLPSum, MLPSumConfig

__all__ = [
    "CIN",
    "GIN",
    "SIN",
    "CINConfig",
    "CellConfig",
    "CellNet",
    "EdgeFlowConfig",
    "EdgeFlowNet",
    "GINConfig",
    "GINEConfig",
    "Hierarchical",
    "HierarchicalConfig",
    "MLPSum",
    "MLPSumConfig",
    "MapFlowConfig",
    "MapFlowNet",
    "Marked",
    "SINConfig",
]
