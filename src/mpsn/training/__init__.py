"""Training: one trainer for all networks, and its pieces for loops of one's own."""

from mpsn.training._capture import captured, forward_padded
from mpsn.training._config import from_plain
from mpsn.training._device import one_thread, pick_device, seeded
from mpsn.training._launch import joined
from mpsn.training._losses import METRICS, loss_of
from mpsn.training._processes import agree, check_same, rank, world_size
from mpsn.training._run import History, Run
from mpsn.training._schedules import StepDecay
from mpsn.training._selection import Selected, best_epoch, select
from mpsn.training._settings import TrainerSettings
from mpsn.training._splits import hold_out
from mpsn.training.trainer import Trainer

__all__ = [
    "METRICS",
    "History",
    "Run",
    "Selected",
    "StepDecay",
    "Trainer",
    "TrainerSettings",
    "agree",
    "best_epoch",
    "captured",
    "check_same",
    "forward_padded",
    "from_plain",
    "hold_out",
    "joined",
    "loss_of",
    "one_thread",
    "pick_device",
    "rank",
    "seeded",
    "select",
    "world_size",
]
