"""Complexes that stay in a file: read, and given features, batch by batch."""

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mpsn._files.io import open_zip
from mpsn.complexes import Complex, ComplexDataset
from mpsn.errors import LeftOut
from mpsn.estimators._features import Encoding
from mpsn.estimators._given import Notes
from mpsn.training import agree, check_same
from mpsn.training.internal import serially

SAMPLE = 10_000  # complexes in which features are found, if there are more


class OnDisk:
    """Complexes of a file with the features of a model, for its networks.

    Args:
        dataset: All complexes of the file, opened.
        positions: Positions of those to use, (n,).
        model: How complexes are prepared.
        encoding: Of their features.
    """

    def __init__(
        self, dataset: ComplexDataset[Any], positions: Tensor, model: Any, encoding: Encoding
    ) -> None:
        self.dataset, self.positions = dataset, positions
        self.model, self.encoding = model, encoding
        self.counts = dataset.counts[positions, : model.max_dim + 1]  # (n, dimensions)

    def __len__(self) -> int:
        return len(self.positions)

    def batch(self, index: Tensor) -> Complex:
        """Return the union of some complexes, with features."""
        K: Complex = self.dataset.batch(self.positions[index.cpu()])
        x = self.model._prepare([_as_one(K)], self.encoding, notes=Notes())[0].union.x
        out: Complex = K.bare().skeleton(self.model.max_dim).replace(x=x)
        return out

    def fingerprint(self) -> list[Tensor]:
        """Return what differs when the complexes do: the checksums of those in the file."""
        assert self.dataset.path is not None
        with open_zip(self.dataset.path) as archive:
            return [self.positions, torch.tensor([member.CRC for member in archive.infolist()])]


def prepared(
    model: Any, graphs: Sequence[object], positions: Tensor, notes: Notes
) -> tuple[ComplexDataset[Any] | OnDisk, Encoding]:
    """Return the graphs of a fit, those at some positions (n,), with features, and how they are.

    A dataset that was opened stays in its file, unless the kernel is to see all of it; features are
    those of a sample then, and categories that are not in it count as unknown, with a warning.
    """
    stays = model.kernel is False and isinstance(graphs, ComplexDataset) and bool(graphs.path)
    check_same(stays, "graphs, all in a file or none")
    if stays:
        assert isinstance(graphs, ComplexDataset)
        if len(positions) > SAMPLE:
            warnings.warn(
                f"Features are those of a sample of {SAMPLE:,} of the {len(positions):,} "
                f"complexes; categories that do not occur in it count as unknown.",
                LeftOut,
                stacklevel=3,
            )
        order = torch.randperm(len(positions), generator=torch.Generator().manual_seed(0))
        sample = positions[order[:SAMPLE].sort().values]

        def find() -> Encoding:
            one = _as_one(graphs.batch(sample))
            return model._prepare([one], wanted=model.features, notes=notes)[1]  # type: ignore[no-any-return]

        encoding = agree(lambda: serially(find))
        return OnDisk(graphs, positions, model, encoding), encoding
    used = [graphs[i] for i in positions.tolist()] if len(positions) < len(graphs) else list(graphs)
    whole: tuple[ComplexDataset[Any], Encoding]
    whole = serially(model._prepare, used, wanted=model.features, notes=notes)
    return whole


def _as_one(K: Complex) -> Complex:
    """Return a union as one complex: features of cells do not depend on which is whose."""
    whole = [torch.tensor([0, K.count(k)]) for k in range(len(K._ptr))]
    below = [K.incidence(k) for k in range(1, len(whole))]
    one: Complex = type(K).unchecked(below, whole, num_vertices=K.num_nodes, x=K.x)
    return one
