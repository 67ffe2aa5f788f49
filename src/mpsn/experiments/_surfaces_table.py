"""The table and the figure of the surfaces, and the scores they show."""

import torch
from torch import Tensor

def scores(part, y, guess):
    out = {}
    for i, task in enumerate(("type","orientable","genus","b1")):
        b, m = balanced_accuracy_and_mcc(y[:, i], guess[:, i])
        out[f"{part}_{task}_balanced"] = b
        out[f"{part}_{task}_mcc"] = m
    return out

def balanced_accuracy_and_mcc(y: Tensor, guess: Tensor) -> tuple[float, float]:
    """Return the mean recall of the classes present, and Matthews' correlation coefficient."""
    n = int(max(y.max(), guess.max())) + 1
    table = torch.bincount(y * n + guess, minlength=n * n).view(n, n).double()
    truth, said = table.sum(1), table.sum(0)
    recall = table.diagonal()[truth > 0] / truth[truth > 0]
    total = table.sum()
    spread = (total**2 - (truth**2).sum()) * (total**2 - (said**2).sum())
    mcc = (table.trace() * total - truth @ said) / spread.sqrt() if spread > 0 else spread
    return float(recall.mean()), float(mcc)
table = figures = measured = None
