"""Pooling of complexes: to subcomplexes, to images of simplicial maps, and back."""

from mpsn.nn.pool.coarsening import coarsen
from mpsn.nn.pool.pooled import Pooled, unpool
from mpsn.nn.pool.topk import TopKPool, topk_pool

__all__ = ["Pooled", "TopKPool", "coarsen", "topk_pool", "unpool"]
