"""Training: one trainer for all networks, and its pieces for loops of one's own."""

from mpsn.training._capture import captured, forward_padded
from mpsn.training._launch import joined
from mpsn.training._losses import METRICS, loss_of
from mpsn.training._run import History, Run
from mpsn.training._schedules import StepDecay
from mpsn.training._settings import TrainerSettings
from mpsn.training.trainer import Trainer

__all__ = [
    "METRICS",
    "History",
    "Run",
    "StepDecay",
    "Trainer",
    "TrainerSettings",
    "captured",
    "forward_padded",
    "joined",
    "loss_of",
]
