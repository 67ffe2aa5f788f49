"""Models: complete networks, built by keyword."""

from mpsn.nn.models._model import Model
from mpsn.nn.models.cells import CellNet
from mpsn.nn.models.cin import CIN, SIN
from mpsn.nn.models.convnet import ConvNet
from mpsn.nn.models.edge_flow import EdgeFlowNet
from mpsn.nn.models.gin import GIN
from mpsn.nn.models.hierarchical import Hierarchical
from mpsn.nn.models.marked import Marked

__all__ = [
    "CIN",
    "GIN",
    "SIN",
    "CellNet",
    "ConvNet",
    "EdgeFlowNet",
    "Hierarchical",
    "Marked",
    "Model",
]
