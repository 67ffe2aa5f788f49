"""Networks on features of all pairs of vertices of each graph, one row per pair."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor

from mpsn.complexes import Complex
from mpsn_reproduction.baselines._layered import (
    Layered,
    offsets_of,
    ranges,
    summing,
    vertex_features,
)

NUMBERS = 1 << 25  # features of one layer computed at a time, except in training


class Pairs:
    """All ordered pairs (i, j) of vertices of each graph, i = j among them, by i and then by j.

    Args:
        sizes: Numbers of vertices of the graphs, (C,).

    Attributes:
        batch: Graph of each vertex, (n,).
        first, second: Vertices i and j of each pair, (P,).
        turned: Row of (j, i) for each pair, (P,).
        same: Row of (i, i) for each vertex, (n,).
        sum: Adds up the vertices of each graph.
        rows, columns: Add up the pairs with a given first, or second, vertex.

    Example:
        >>> from mpsn_reproduction.baselines._pairs import Pairs
        >>> pairs = Pairs(torch.tensor([1, 2]))
        >>> pairs.first.tolist(), pairs.second.tolist()
        ([0, 1, 1, 2, 2], [0, 1, 2, 1, 2])
    """

    def __init__(self, sizes: Tensor) -> None:
        self.sizes = sizes
        self.batch = torch.repeat_interleave(sizes)
        n, each = len(self.batch), sizes[self.batch]
        start = offsets_of(sizes)[self.batch]
        vertex = torch.arange(n, device=sizes.device)
        self.local = vertex - start
        self.first, self.second = ranges(start, each)
        first_pair = offsets_of(each)[:-1]
        self.same = first_pair + self.local
        self.turned = first_pair[self.second] + self.local[self.first]
        pairs = torch.arange(len(self.first), device=sizes.device)
        self.rows = summing(pairs, each, len(pairs))
        self.columns = summing(self.turned, each, len(pairs))
        self.sum = summing(vertex, sizes, n)

    def position(self, i: Tensor, j: Tensor) -> Tensor:
        """Return the rows of pairs of vertices of the same graph."""
        return self.same[i] - self.local[i] + self.local[j]

    @cached_property
    def _blocks(self) -> list[tuple[Tensor, Tensor, int, int]]:
        """Rows of graphs of similar size, their places in B padded n × n matrices, B and n."""
        group = (self.sizes.clamp(min=1) - 1).double().log2().floor().clamp(min=0)
        blocks = []
        for value in sorted(set(group.tolist())):
            mine = group == value
            slot, n = mine.cumsum(0) - 1, int(self.sizes[mine].max())
            rows = mine[self.batch[self.first]].nonzero()[:, 0]
            i, j = self.first[rows], self.second[rows]
            place = (slot[self.batch[i]] * n + self.local[i]) * n + self.local[j]
            blocks.append((rows, place, int(mine.sum()), n))
        return blocks

    def product(self, left: Tensor, right: Tensor) -> Tensor:
        """Multiply matrices with features, (P, F) each, graph by graph and feature by feature."""
        products = []
        for rows, place, graphs, n in self._blocks:
            each = [
                h.new_zeros(graphs * n * n, h.shape[1])
                .index_copy(0, place, h.index_select(0, rows))
                .view(graphs, n, n, h.shape[1])
                .movedim(3, 1)
                for h in (left, right)
            ]
            product = (each[0] @ each[1]).movedim(1, 3).flatten(0, 2)
            products.append(product.index_select(0, place))
        order = torch.cat([rows for rows, *_ in self._blocks]).argsort()
        return torch.cat(products).index_select(0, order)


class PairNetwork(Layered):
    """A network on all pairs of vertices of each graph.

    The first features of a pair (i, j) are whether it is an edge and, if i = j, the features of the
    vertex. The readout pools the pairs (i, i) and the others, as if they were of two dimensions.
    Layers map features (P, F) of pairs, given the pairs, to (P, G).
    """

    extra, dims = 1, 2

    def forward(self, K: Complex, xs: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return one row per complex."""
        x = vertex_features(self, K, xs)
        ends, pooled = K.incidence(1).table, []
        for part in self._parts(K.ptr(0).diff()):
            (v, w), (e, f) = (K.ptr(k)[[part.start, part.stop]].tolist() for k in (0, 1))
            pairs = Pairs(K.ptr(0).diff()[part])
            pooled.append(self._pooled(pairs, x[v:w], ends[e:f] - v))
        return self.readout.combine([torch.cat(rows) for rows in zip(*pooled, strict=True)])

    def _parts(self, sizes: Tensor) -> Iterator[slice]:
        """Cut the complexes into parts of bounded size; into one for training, for the norms."""
        start, numbers = 0, 0
        if not self.training:
            for i, size in enumerate(sizes.tolist()):
                numbers += size**2 * self.hidden
                if numbers > NUMBERS and i > start:
                    yield slice(start, i)
                    start, numbers = i, size**2 * self.hidden
        yield slice(start, len(sizes))

    def _pooled(self, pairs: Pairs, x: Tensor, ends: Tensor) -> list[Tensor]:
        h = x.new_zeros(len(pairs.first), 1 + x.shape[1])
        i, j = ends.T
        h[pairs.position(i, j), 0] = h[pairs.position(j, i), 0] = 1
        h[pairs.same, 1:] = x
        h = self.through_layers(h, pairs)
        same = pairs.sum.from_faces(h.index_select(0, pairs.same))  # (C, F)
        other = pairs.sum.from_faces(pairs.rows.from_faces(h)) - same
        if self.mean:
            n = pairs.sizes[:, None]
            return [same / n.clamp(min=1), other / (n * (n - 1)).clamp(min=1)]
        return [same, other]
