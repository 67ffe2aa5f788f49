"""Complexes that stay in their file: each process reads those of its own batches."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from mpsn.complexes import Complex, ComplexDataset
from mpsn_reproduction.engines.wide.batch import WideBatch

CHUNK = 64  # complexes that are read at a time, to find categories

Kinds = list[list[Tensor]]  # the categories in each column of features, per dimension


class OnDisk:
    """A data set for one model at a time, without padding: as ``WideData``, but read in batches.

    Offsets are read at once; cells and features are checked as they come.

    Args:
        dataset: The complexes, opened, with categories (n_k, columns) as features.
        kinds: The categories that become features of their own; others have none.
        device: Where batches go.
    """

    def __init__(
        self, dataset: ComplexDataset[Any], kinds: Kinds, device: torch.device | str = "cpu"
    ) -> None:
        self.dataset, self.kinds, self.device = dataset, kinds, device
        self._sizes = pad(dataset.counts, (0, 0, 0, 1))  # (N + 1, D); complex N has no cells

    def to(self, device: torch.device) -> "OnDisk":
        """Return the data set for another device; the file stays where it is."""
        return OnDisk(self.dataset, self.kinds, device)

    def sizes(self, index: Tensor) -> Tensor:
        """Count the cells of mini-batches: (..., B) complexes to (..., D)."""
        return self._sizes[index].sum(-2)

    def batch(self, index: Tensor | Sequence[int]) -> Complex:
        """Return the union of some complexes, with categories one-hot."""
        return encode(self.dataset.batch(index), self.kinds)

    def gather(self, index: Tensor, rows: object = (), padded: bool = False) -> WideBatch:
        """Read the complexes ``index``, (1, B); number N stands for none."""
        (at,) = index.cpu()
        K, sizes = self.batch(at[at < len(self.dataset)]), self._sizes[at]  # (B, D)
        ends = pad(sizes, (0, 0, 1, 1)).cumsum(0).T  # the last complex is that of padding
        ptr = [offsets.contiguous() for offsets in ends]
        below = [K.incidence(k) for k in range(1, len(ptr))]
        K = type(K).unchecked(below, ptr, num_vertices=K.num_nodes, x=K.x)
        valid = sizes.sum(0)[:, None].to(self.device)  # (D, 1)
        return WideBatch(K.to(self.device), tuple(valid), padded)


def find_kinds(dataset: ComplexDataset[Any], seen: Tensor) -> Kinds:
    """Return the categories of the cells of some complexes (N,), reading a few at a time."""
    kinds: Kinds = []
    for at in torch.split(seen.nonzero()[:, 0], CHUNK):
        found = [x.T for x in dataset.batch(at).x if x is not None]
        kinds = kinds or [[column[:0] for column in columns] for columns in found]
        kinds = [
            [torch.unique(torch.cat(pair)) for pair in zip(own, columns, strict=True)]
            for own, columns in zip(kinds, found, strict=True)
        ]
    return kinds


def encode(K: Complex, kinds: Kinds) -> Complex:
    """Return complexes with categories (n_k, columns) one-hot, (n_k, kinds); zero for others."""
    given = [k for k, x in enumerate(K.x) if x is not None]
    x = list(K.x)
    for k, columns in zip(given, kinds, strict=True):
        pairs = zip(K.x[k].T, columns, strict=True)  # type: ignore[union-attr]
        x[k] = torch.cat([column[:, None] == own for column, own in pairs], 1).float()
    return K.replace(x=x)
