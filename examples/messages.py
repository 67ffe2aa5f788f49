"""Draw who sends messages to a vertex and to an edge, as in the paper's figure 1.

A cell receives from its faces and, by way of larger cells, from its upper neighbors. The paper does
not list the simplices of its figure; this complex is ours, with the same receivers. Run it with
``python examples/messages.py``; it saves out/messages.png.
"""

from pathlib import Path

from matplotlib import pyplot as plt

import mpsn

RECEIVERS = ([2], [5, 7])
OTHER, RECEIVER, FACE, UPPER = 7, 3, 1, 2  # gray, red, orange and green in draw_complex
PLACES = [(0, 1.6), (-0.6, 0.6), (0.8, 0.8), (-0.1, -0.3), (1.1, -0.2), (2.0, 0.9), (2.2, -0.4)]


def main() -> None:
    simplices = [[1, 2], [2, 3], [1, 3], [2, 4], [3, 4, 5], [5, 6, 7]]  # vertices are v1 to v7
    K = mpsn.SimplicialComplex.from_simplices([[v - 1 for v in s] for s in simplices])
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6))
    for receiver, ax in zip(RECEIVERS, axes, strict=True):
        k, name = len(receiver) - 1, "".join(f"v{v}" for v in receiver)
        position = K.simplices(k).tolist().index([v - 1 for v in receiver])
        colors = [[OTHER] * n for n in K.counts]
        for kind, dim, color in (("boundary", k - 1, FACE), ("upper", k, UPPER)):
            pairs = K.adjacency(k, kind)
            senders = pairs.sender[pairs.receiver == position].tolist()
            for sender in senders:
                colors[dim][sender] = color
            cells = [
                "".join(f"v{v + 1}" for v in K.simplices(dim)[s].tolist()) for s in sorted(senders)
            ]
            print(f"{name}, {kind}: {' '.join(cells) or 'none'}")
        colors[k][position] = RECEIVER
        mpsn.plotting.draw_complex(K, ax, positions=PLACES, colors=colors)
        for v, (x, y) in enumerate(PLACES, 1):
            ax.annotate(f"$v_{v}$", (x, y), (5, 5), textcoords="offset points")
        ax.set_title(f"messages to {name}")
    picture = Path("out/messages.png")
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=90, bbox_inches="tight")
    print(f"figure: {picture}")


if __name__ == "__main__":
    main()
