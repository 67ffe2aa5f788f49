"""Sizes of the IMDB sets, and random forests on pooled input features: no messages.

MPSN_DATA=DIR python benchmarks/imdb_forest.py
"""

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier

from mpsn_reproduction.papers.imdb import read, split

FOLDS = 10


def main():
    """Print accuracies on the divisions of `mpsn reproduce imdb`, seed 0."""
    for name in ("IMDB-BINARY", "IMDB-MULTI"):
        data, folds = read(name, None)
        union, y = data.complexes.union, data.y.numpy()
        sizes = [union.ptr(k).diff() for k in range(3)]
        complete = (sizes[1] == sizes[0] * (sizes[0] - 1) // 2).float().mean()
        top = [float(n.sort().values[-len(n) // 10 :].sum() / n.sum()) for n in sizes]
        print(
            f"{name}: {100 * complete:.1f} % complete graphs; the largest tenth of the graphs have "
            f"{100 * top[0]:.0f} % of the vertices, {100 * top[2]:.0f} % of the triangles"
        )
        means = []
        for k, n in enumerate(sizes):
            owner = torch.repeat_interleave(torch.arange(len(n)), n)
            total = torch.zeros(len(n), data.num_features).index_add_(0, owner, union.x[k])
            means.append((total / n.clamp(min=1)[:, None]).numpy())
        rows = {
            "numbers of vertices, edges, triangles": np.log1p(torch.stack(sizes, 1).numpy()),
            "mean over vertices": means[0],
            "mean over triangles": means[2],
            "means over vertices, edges, triangles": np.hstack(means),
        }
        for row, x in rows.items():
            scores, fits = [], []
            for fold in range(FOLDS):
                train, val, held = split(data.y, folds, fold, 0)
                known = torch.cat([train, val]).numpy()
                forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=0)
                forest.fit(x[known], y[known])
                scores.append(100 * forest.score(x[held.numpy()], y[held.numpy()]))
                fits.append(100 * forest.score(x[known], y[known]))
            error = np.std(scores, ddof=1) / FOLDS**0.5
            print(f"| {name} | {row} | {np.mean(scores):.1f} ± {error:.1f} | {np.mean(fits):.1f} |")


if __name__ == "__main__":
    main()
