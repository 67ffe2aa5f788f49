"""Messages over incidences, in linear time, for any complex and dimension.

The sums themselves are methods of :class:`mpsn.complexes.Incidence`. All functions take features
(n_k, F) or (n_k, B, F), are differentiable, and compile with ``fullgraph=True``.
"""

from mpsn.nn.functional.aggregation import aggregate
from mpsn.nn.functional.coface import coface_messages, split_linear

__all__ = ["aggregate", "coface_messages", "split_linear"]
