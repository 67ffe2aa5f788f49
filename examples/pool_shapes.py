"""Pool a torus: keep half of it, or merge its points into clusters, and count the holes.

Run it with ``python examples/pool_shapes.py``; it saves out/pool_shapes.png.
"""

from pathlib import Path

import torch
from matplotlib import pyplot as plt
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial import KDTree

import mpsn


def draw(ax, K, points, title) -> None:
    """Draw the triangles of a complex."""
    corners = points[K.simplices(2), :3]  # (n_2, 3, 3)
    depth = corners.mean(1) @ torch.tensor([0.4, -0.6, 0.7], dtype=points.dtype)
    depth = (depth - depth.min()) / (depth.max() - depth.min())
    shade = plt.get_cmap("viridis")(depth.numpy())
    ax.add_collection3d(
        Poly3DCollection(corners.numpy(), facecolors=shade, edgecolors="k", linewidths=0.2)
    )
    size = 0.7 * float(points[:, :3].abs().max())
    ax.set(xlim=(-size, size), ylim=(-size, size), zlim=(-size, size))
    ax.set_title(title, y=0.95, fontsize=10)
    ax.view_init(40, -60)
    ax.set_axis_off()


def main() -> None:
    torus = mpsn.datasets.shapes(per_class=1, points=400, noise=0.02)[0][1]
    pairs = KDTree(torus).query_pairs(1.4, output_type="ndarray")
    K = mpsn.clique_complex((torch.from_numpy(pairs.T.copy()), len(torus)), max_dim=2)

    # The half of the points that lies to one side, and all simplices on them.
    half = mpsn.nn.topk_pool(K, [torus], torus[:, 1] + 10)
    kept = torus[half.maps[0].cell]

    # Each point joins the nearest of 60; the first points of a cloud are far from each other.
    nearest = torch.from_numpy(KDTree(torus[:60]).query(torus)[1])
    coarse = mpsn.nn.coarsen(K, [torus], nearest)

    figure, axes = plt.subplots(
        1, 3, figsize=(11, 3.6), subplot_kw={"projection": "3d"}, layout="constrained"
    )
    parts = {"torus": (K, torus), "TopK": (half.K, kept), "clusters": (coarse.K, coarse.xs[0])}
    for ax, (name, (L, points)) in zip(axes, parts.items(), strict=True):
        pieces, loops, *_ = L.betti_numbers()
        title = f"{name}: {L.num_nodes} vertices, {L.count(2)} triangles\nloops: {loops}"
        print(title.replace("\n", ", "), f"in {pieces} piece{'s' * (pieces > 1)}")
        draw(ax, L, points, title)
    picture = Path("out/pool_shapes.png")
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=85)
    print(f"figure: {picture}")


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
