"""Messages over incidences: any complex, any dimension, linear time.

The sums themselves are methods of :class:`mpsn.complexes.Incidence`. Here is what networks add to
them. Every function takes features (n_k, F) or (n_k, B, F), differentiates, and compiles with
``fullgraph=True``.
"""

from mpsn.nn.functional.aggregate import aggregate
from mpsn.nn.functional.coface import coface_messages, split_linear

__all__ = ["aggregate", "coface_messages", "split_linear"]
