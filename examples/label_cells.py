"""Label the edges of a complex from a tenth of them, where triangles decide.

A map with holes, and a third of its triangles are missing. An edge is *inner* between two
triangles, a *border* beside one, and *bare* without any. A network that passes messages between
edges and triangles learns this from 10 % of the labels; one on the graph alone cannot.
Run it with ``python examples/label_cells.py``; it saves out/label_cells.png.
"""

from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection

import mpsn
from mpsn.estimators import CellClassifier

NAMES = np.array(["bare", "border", "inner"])
COLORS = dict(zip(NAMES, ("tab:red", "tab:orange", "tab:blue"), strict=True))


def draw(ax, K: mpsn.SimplicialComplex, points: np.ndarray, labels, title: str) -> None:
    """Draw triangles in gray, and edges in the colors of their labels, if they have any."""
    triangles, edges = points[K.simplices(2)], points[K.simplices(1)]
    ax.add_collection(PolyCollection(triangles, facecolors="0.9"))
    ax.add_collection(LineCollection(edges, colors="0.75", linewidths=0.5))
    for name, color in COLORS.items():
        ax.add_collection(
            LineCollection(edges[labels == name], colors=color, linewidths=1.6, label=name)
        )
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[], title=title)


def main() -> None:
    rng = np.random.default_rng(0)
    data = mpsn.datasets.synthetic_flows(points=300, train=0, test=0)
    whole = data.complex
    filled = torch.from_numpy(rng.random(whole.count(2)) < 0.65)
    K = whole.bare().subcomplex({1: torch.arange(whole.count(1)), 2: filled})
    beside = torch.bincount(K.faces(2).reshape(-1), minlength=K.count(1))
    truth = NAMES[beside.numpy()]
    shown = rng.random(len(truth)) < 0.1
    known = np.where(shown, truth, None)
    hidden = np.where(shown, None, truth)
    print(K, f"{shown.sum()} of {len(truth)} edges have a label", sep="\n")

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    points = np.asarray(data.positions)
    draw(axes[0], K, points, known, f"known: {shown.sum()} of {len(truth)} edges")
    for ax, name, max_dim in ((axes[1], "with triangles", 2), (axes[2], "the graph alone", 1)):
        model = CellClassifier(dim=1, max_dim=max_dim, features="constant", epochs=150)
        model.fit(K.skeleton(max_dim), known)
        accuracy = model.score(K.skeleton(max_dim), hidden)
        print(f"{name}: accuracy {accuracy:.3f} on the other edges")
        found = model.predict(K.skeleton(max_dim))
        draw(ax, K, points, found, f"{name}: {accuracy:.0%} of the others")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    picture = Path("out/label_cells.png")
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=85)
    print(f"figure: {picture}")


if __name__ == "__main__":
    main()
