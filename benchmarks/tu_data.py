"""The paper's settings for the TU data sets, for benchmarks."""

import torch

from mpsn.nn.models import GIN, SIN
from mpsn_reproduction.train import StepTraining

# The paper's table: batch size, learning rate, decay steps, width, layers, norm, dropout, readout.
PAPER = {
    "PROTEINS": (128, 0.01, 20, 32, 3, True, 0.5, "sum"),
    "NCI1": (128, 0.001, 50, 32, 4, True, 0.5, "sum"),
    "IMDB-BINARY": (32, 0.0005, 20, 64, 4, True, 0.5, "mean"),
    "IMDB-MULTI": (128, 0.003, 50, 64, 4, True, 0.5, "mean"),
    "REDDIT-BINARY": (32, 0.001, 50, 64, 4, False, 0.0, "mean"),
}


def splits(y, folds=10):
    """Cut a data set into tenths: one to test on, one to choose by, the rest to train on."""
    parts = torch.randperm(len(y), generator=torch.Generator().manual_seed(0)).tensor_split(folds)
    return [
        {
            "train": torch.cat([parts[j] for j in range(folds) if j not in (i, (i + 1) % folds)]),
            "val": parts[(i + 1) % folds],
            "test": parts[i],
        }
        for i in range(folds)
    ]


def setup(data, kind, epochs):
    """Return the paper's settings for a data set, and a function that builds a model."""
    batch, lr, decay_every, width, layers, norm, dropout, readout = PAPER[data.name]
    sizes = (data.num_features, width, data.num_classes, layers)
    same = {"act": "relu", "norm": norm, "jump": True, "readout": readout, "dropout": dropout}
    after = {"coface_message": False, "readout_dims": (0, 2)}

    def build():
        return GIN(*sizes, **same) if kind == "GIN" else SIN(*sizes, **same, **after)

    return StepTraining(epochs, batch, lr, decay_every, 0.5), build
