"""Message passing on face tables: any dimension, linear time, no lists of pairs.

Every function takes features (n_k, F) or (n_k, B, F), differentiates, compiles with
``fullgraph=True``, and is deterministic where torch is told to be. All but ``aggregate`` and
``incidence``, which take a complex, work on face tables, plain tensors.
"""

from mpsn.nn.functional.coface_exchange import coface_exchange
from mpsn.nn.functional.dense import split_linear
from mpsn.nn.functional.incidence import boundary, coboundary, degree, gather, scatter
from mpsn.nn.functional.neighbors import lower, lower_exchange, upper, upper_exchange
from mpsn.nn.functional.on_complex import aggregate, incidence

__all__ = [
    "aggregate",
    "boundary",
    "coboundary",
    "coface_exchange",
    "degree",
    "gather",
    "incidence",
    "lower",
    "lower_exchange",
    "scatter",
    "split_linear",
    "upper",
    "upper_exchange",
]
