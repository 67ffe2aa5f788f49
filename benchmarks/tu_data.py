"""TU data sets and the paper's settings for them, for benchmarks."""

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import torch

import mpsn
from mpsn.experiments.training import Settings, Split
from mpsn.nn.models import GIN, SIN, GINConfig, SINConfig

DATA = os.environ.get("MPSN_DATA")
# The paper's table: batch size, learning rate, decay steps, width, layers, norm, dropout, readout.
PAPER = {
    "PROTEINS": (128, 0.01, 20, 32, 3, True, 0.5, "sum"),
    "NCI1": (128, 0.001, 50, 32, 4, True, 0.5, "sum"),
    "IMDB-BINARY": (32, 0.0005, 20, 64, 4, True, 0.5, "mean"),
    "IMDB-MULTI": (128, 0.003, 50, 64, 4, True, 0.5, "mean"),
    "REDDIT-BINARY": (32, 0.001, 50, 64, 4, False, 0.0, "mean"),
}


def load(folder, name):
    """Return the complexes with features, and their classes."""
    with zipfile.ZipFile(Path(folder) / "tu" / f"{name}.zip") as file:
        parts = {Path(n).stem.removeprefix(f"{name}_"): n for n in file.namelist()}

        def column(part, sep=","):
            return np.loadtxt(io.BytesIO(file.read(parts[part])), delimiter=sep, dtype=np.int64)

        edges, owner = column("A") - 1, column("graph_indicator") - 1
        y = np.unique(column("graph_labels"), return_inverse=True)[1]
        labels = column("node_labels") if "node_labels" in parts else None
    if labels is None:
        degree = np.bincount(np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)[:, 0])
        labels = np.pad(degree, (0, len(owner) - len(degree)))
        labels = labels if name.startswith("IMDB") else np.zeros_like(labels)
    x = torch.nn.functional.one_hot(torch.from_numpy(np.unique(labels, return_inverse=True)[1]))
    first = np.searchsorted(owner, np.arange(len(y) + 1))
    order = np.argsort(owner[edges[:, 0]], kind="stable")
    cuts = np.searchsorted(owner[edges[order, 0]], np.arange(len(y) + 1))
    graphs = [
        (torch.from_numpy(edges[order[a:b]].T - low), int(high - low))
        for a, b, low, high in zip(cuts, cuts[1:], first, first[1:], strict=False)
    ]
    union = mpsn.clique_complexes(graphs, max_dim=2).union.replace(x=[x.float()])
    return mpsn.ComplexDataset(mpsn.lift_features(union, "mean", 2)), torch.from_numpy(y)


def splits(y, folds=10):
    """Cut a data set into tenths: one to test on, one to choose by, the rest to train on."""
    parts = torch.randperm(len(y), generator=torch.Generator().manual_seed(0)).tensor_split(folds)
    return [
        Split(
            torch.cat([parts[j] for j in range(folds) if j not in (i, (i + 1) % folds)]),
            parts[(i + 1) % folds],
            parts[i],
        )
        for i in range(folds)
    ]


def setup(name, kind, dataset, y, epochs):
    """Return the paper's settings for a data set, and a function that builds a model."""
    batch, lr, decay_every, width, layers, norm, dropout, readout = PAPER[name]
    sizes = (dataset.union.x[0].shape[1], width, int(y.max()) + 1, layers)
    same = {"act": "relu", "norm": norm, "jump": True, "readout": readout, "dropout": dropout}
    after = {"coface_message": False, "readout_dims": (0, 2)}

    def build(fold):
        return (
            GIN(GINConfig(*sizes, **same))
            if kind == "GIN"
            else SIN(SINConfig(*sizes, **same, **after))
        )

    return Settings(epochs, batch, lr, decay_every, 0.5), build
