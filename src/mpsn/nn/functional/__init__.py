"""Messages over incidences, in linear time, for any complex and dimension.

The sums themselves are methods of :class:`mpsn.complexes.Incidence`. All functions take features
(n_k, F) or (n_k, B, F), are differentiable, and compile with ``fullgraph=True``.
"""

from mpsn.nn.functional._attention import attention, leaky_relu
from mpsn.nn.functional.aggregation import aggregate
from mpsn.nn.functional.coface import coface_messages, split_linear
from mpsn.nn.functional.filters import Basis, Part, laplacian, laplacian_powers

__all__ = [
    "Basis",
    "Part",
    "aggregate",
    "attention",
    "coface_messages",
    "laplacian",
    "laplacian_powers",
    "leaky_relu",
    "split_linear",
]
