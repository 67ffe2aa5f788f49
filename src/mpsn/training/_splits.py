"""Samples to train on, and samples held out."""

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mpsn.errors import MPSNError
from mpsn.training._losses import known


def hold_out(y: Tensor, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Return the positions of samples that stay, and of a random part held out, both ascending.

    Each class is held out in proportion. Of every class with at least two samples, at least one
    stays and at least one is held out.

    Args:
        y: Classes of the samples, (n,).
        fraction: Share to hold out.
        seed: Of the choice.

    Example:
        >>> from mpsn.training import hold_out
        >>> hold_out(torch.tensor([0, 0, 0, 1, 1, 1]), 0.3, seed=0)
        (tensor([0, 1, 3, 4]), tensor([2, 5]))
    """
    n = len(y)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    order = order[y[order].argsort(stable=True)]
    held = torch.zeros(n, dtype=torch.bool)
    if fraction > 0:
        every = torch.arange(math.ceil(n * fraction), dtype=torch.float64) / fraction
        at = (every + 1e-9).long()
        held[order[at[at < n]]] = True
        for members in torch.split(order, torch.unique(y, return_counts=True)[1].tolist()):
            if not held[members].any():
                held[members[0]] = True
            if held[members].all():
                held[members[-1]] = False
    return (~held).nonzero()[:, 0], held.nonzero()[:, 0]


Split = dict[str, Tensor]  # positions by the name of the part: train, val, test


def splits_of(split: Any, y: Tensor, seeds: Sequence[int]) -> list[Split]:
    """Return the parts for each network.

    Args:
        split: A fraction to hold out for validation, other samples for each network, in proportion
            of the classes; positions ``(train, val)`` or ``(train, val, test)``; a dictionary
            of positions by part; a splitter of scikit-learn, whose i-th split is that of network i;
            or a list of pairs or dictionaries, one for each network.
        y: Targets, (N,) or (N, T); samples without any that is known belong to no part of a
            fraction.
        seeds: Of the samples held out, one for each network.

    Example:
        >>> from mpsn.training._splits import splits_of
        >>> splits_of(([0, 2], [1]), torch.zeros(3), seeds=[0])
        [{'train': tensor([0, 2]), 'val': tensor([1])}]
    """
    networks = len(seeds)
    if isinstance(split, float | int):
        if not 0 <= split < 1:
            raise MPSNError(f"Expected a split from 0 to below 1, got {split}.")
        usable = known(y).reshape(len(y), -1).any(dim=1).nonzero()[:, 0]
        classes = y[usable] if y.dim() == 1 and not y.is_floating_point() else usable * 0
        held = [hold_out(classes, split, seed) for seed in seeds]
        return [{"train": usable[stay], "val": usable[val]} for stay, val in held]
    if hasattr(split, "split"):
        every = list(islice(split.split(np.zeros(len(y)), y.numpy()), networks))
        split = every[0] if len(every) == 1 else every
    one = isinstance(split, Mapping) or not isinstance(split[0], Mapping | tuple | list)
    if not one and isinstance(split, tuple) and not isinstance(split[0], Mapping):
        one = all(np.ndim(part) == 1 for part in split)
    each = [split] * networks if one else list(split)
    if len(each) != networks:
        raise MPSNError(
            f"Expected a split, or one for each of {networks} networks, got {len(each)}."
        )
    return [_checked(parts, len(y)) for parts in each]


def _checked(parts: Any, n: int) -> Split:
    """Return positions by part, each sample in one part at most."""
    if not isinstance(parts, Mapping):
        parts = dict(zip(("train", "val", "test"), parts, strict=False))
    out = {
        name: torch.as_tensor(np.asarray(part), dtype=torch.int64) for name, part in parts.items()
    }
    every = torch.cat(list(out.values()))
    if "train" not in out or not len(out["train"]) or every.min() < 0 or every.max() >= n:
        raise MPSNError(
            f"Expected positions from 0 to {n - 1} in each part of a split, and some for training, "
            f"got {len(every)} of {int(every.min()) if len(every) else 0} to "
            f"{int(every.max()) if len(every) else 0} in {', '.join(out)}."
        )
    if every.bincount().max() > 1:
        raise MPSNError(
            "Expected each sample in one part of a split, got some twice; remove those for "
            "validation and testing from those for training."
        )
    return out
