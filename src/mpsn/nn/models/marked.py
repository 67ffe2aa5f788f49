"""Marked refinement for networks."""

from collections.abc import Sequence

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.complexes.internal import cut_table, take
from mpsn.errors import LayerError
from mpsn.nn._checks import check_input
from mpsn.nn.readout import global_pool


class Marked(torch.nn.Module):
    """Run a model on a copy of a complex for each vertex, with that vertex marked; sum the results.

    The network of marked refinement, :func:`mpsn.wl.swl` with ``marks=1``: stronger than the model
    alone, and as many times as expensive as the complex has vertices. The mark is one more feature,
    1 on the marked vertex and 0 on all other cells.

    Args:
        model: A network with a row per complex, such as :class:`CIN`, for features of width F + 1.

    Shapes:
        Reads K.x, or features (n_k, F) per dimension passed beside K; returns (C, out_channels)
        for a union of C complexes.

    Example:
        >>> from mpsn.nn.models import CIN, Marked
        >>> model = Marked(CIN(in_channels=2, max_dim=1).double())
        >>> six, three = nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)
        >>> K = mpsn.clique_complexes([six, three], max_dim=1).union
        >>> one, two = model(K, [torch.ones(n, 1, dtype=torch.float64) for n in K.counts])
        >>> bool(torch.dist(one, two) > 1e-9)
        True
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        check_input(K)
        features = K.x if xs is None else xs
        if not features or features[0] is None:
            raise LayerError("Expected vertex features x[0] to append marks to, got none.")
        owner = K.batch(0)  # of each copy
        wider = [None if x is None else torch.nn.functional.pad(x, (0, 1)) for x in features]
        bare = K.bare().replace(x=wider)
        copies = take(bare, cut_table(bare), owner)
        first = copies.x[0]
        assert first is not None
        vertex = torch.arange(K.num_nodes, device=K.device) - K.ptr(0)[owner]
        mark = torch.zeros_like(first)
        mark[copies.ptr(0)[:-1] + vertex, -1] = 1
        out: Tensor = self.model(copies.replace(x=[first + mark, *copies.x[1:]]))  # (n_0, G)
        return global_pool(K, 0, out)
