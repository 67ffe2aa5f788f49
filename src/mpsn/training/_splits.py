"""Samples to train on, and samples held out."""

import math

import torch
from torch import Tensor


def hold_out(y: Tensor, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Return the positions of samples that stay, and of a random part held out, both ascending.

    Each of the classes ``y``, (n,), is held out in proportion. Of every class with at least two
    samples, at least one stays and at least one is held out.
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
