"""Neural networks on complexes: functions, layers, pooling, readouts, models."""

from mpsn.nn import conv, functional, models, pool, readout
from mpsn.nn.conv import *  # noqa: F403
from mpsn.nn.conv._mlp import RowNorm, mlp
from mpsn.nn.pool import *  # noqa: F403
from mpsn.nn.populate import Populate
from mpsn.nn.readout import *  # noqa: F403

__all__ = ["Populate", "RowNorm", "functional", "mlp", "models"]
__all__ += conv.__all__ + pool.__all__ + readout.__all__
