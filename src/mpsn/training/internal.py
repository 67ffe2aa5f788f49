"""What other rooms of the library build on. Not stable: any release may change these names."""

from mpsn.training._checkpoint import (
    ModelFile,
    adopt_weights,
    damaged,
    read_model,
    with_nan,
    without_nan,
    write_model,
)
from mpsn.training._device import Precision, check_precision, serially
from mpsn.training._losses import known
from mpsn.training._resume import forget
from mpsn.training._samples import Cells, outputs_of, samples_of
from mpsn.training._splits import splits_of

__all__ = [
    "Cells",
    "ModelFile",
    "Precision",
    "adopt_weights",
    "check_precision",
    "damaged",
    "forget",
    "known",
    "outputs_of",
    "read_model",
    "samples_of",
    "serially",
    "splits_of",
    "with_nan",
    "without_nan",
    "write_model",
]
