"""Networks on features of all pairs of vertices, as dense tensors that are padded and masked."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from mpsn.complexes.complex import Complex
from mpsn.nn._checks import cochains
from mpsn.nn.models import GINConfig
from mpsn.nn.models._model import Model, features_of, readout_of

NUMBERS = 1 << 25  # features of one layer, padding among them, computed at a time

# From the widths of a layer and the settings of the network to a module that maps features
# (B, n, n, F), zero outside the mask (B, n, n), to (B, n, n, G), zero outside it as well.
Layer = Callable[[int, int, GINConfig], torch.nn.Module]


class PairNetwork(Model):
    """A network on all pairs of vertices of each graph.

    The first features of a pair (i, j) are whether it is an edge and, if i = j, the features of the
    vertex. The readout pools the pairs (i, i) and the others, as if they were of two dimensions.

    Graphs of similar size are computed together, as many as :data:`NUMBERS` allows; only batch
    normalization in training sees these parts.
    """

    def __init__(self, config: GINConfig, layer: Layer) -> None:
        super().__init__(config)
        self.in_channels, self.max_dim = config.in_channels, 0
        widths = [config.in_channels + 1] + [config.hidden] * config.layers
        self.layers = torch.nn.ModuleList(layer(*ends, config) for ends in pairwise(widths))
        self.readout = readout_of(config, dims=(0, 1))

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        like = self.readout.last.weight
        (x,) = cochains(K, features_of(K, xs, 0), 0, self.in_channels, like)
        sizes = K.ptr(0).diff()
        order = sizes.argsort(stable=True)
        pooled = [self._pooled(K, x, part) for part in self._parts(order, sizes[order].tolist())]
        back = order.argsort()
        return self.readout.combine([torch.cat(rows)[back] for rows in zip(*pooled, strict=True)])

    def _parts(self, order: Tensor, sizes: list[int]) -> Iterator[Tensor]:
        """Cut the complexes, in order of their sizes, into parts of bounded size."""
        start = 0
        for end in range(1, len(sizes) + 1):
            more = (end - start + 1) * sizes[min(end, len(sizes) - 1)] ** 2 * self.config.hidden
            if end == len(sizes) or more > NUMBERS:
                yield order[start:end]
                start = end

    def _pooled(self, K: Complex, x: Tensor, part: Tensor) -> list[Tensor]:
        h, mask = dense(K, x, part)
        n = mask.any(2).sum(1)[:, None]  # (B, 1)
        outs = []
        for layer in self.layers:
            h = layer(h, mask)
            outs.append(h)
        h = torch.cat(outs, dim=-1) if self.config.jump else h
        same = h.diagonal(dim1=1, dim2=2).sum(2)  # (B, F)
        other = h.sum((1, 2)) - same
        if self.config.readout == "mean":
            return [same / n.clamp(min=1), other / (n * (n - 1)).clamp(min=1)]
        return [same, other]


def dense(K: Complex, x: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first features (B, n, n, 1 + F) of some complexes, and which pairs are theirs.

    Args:
        K: A union of complexes.
        x: Features of its vertices, (n_0, F).
        part: Positions of the complexes, (B,).
    """
    ptr, batch, ends = K.ptr(0), K.batch(0), K.incidence(1).table
    sizes = ptr.diff()[part]
    n = int(sizes.max()) if len(part) else 0
    slot = torch.full_like(ptr, -1)
    slot[part] = torch.arange(len(part), device=part.device)
    at, local = slot[batch], torch.arange(len(batch), device=part.device) - ptr[batch]
    mine = (at >= 0).nonzero()[:, 0]
    i, j = ends[at[ends[:, 0]] >= 0].T
    h = x.new_zeros((len(part), n, n, 1 + x.shape[1]))
    h[at[i], local[i], local[j], 0] = 1
    h[at[i], local[j], local[i], 0] = 1
    h[at[mine], local[mine], local[mine], 1:] = x[mine]
    real = torch.arange(n, device=part.device) < sizes[:, None]  # (B, n)
    return h, real[:, :, None] & real[:, None]


def on_pairs(function: Callable[[Tensor], Tensor], h: Tensor, mask: Tensor) -> Tensor:
    """Apply a function of rows (pairs, F) to the pairs in the mask; the others become zero."""
    rows = function(h[mask])
    out = rows.new_zeros((*mask.shape, rows.shape[-1]))
    out[mask] = rows
    return out
