"""Point clouds on surfaces: sphere, torus, Klein bottle and double torus."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.errors import MPSNError

SHAPES = ("sphere", "torus", "Klein bottle", "double torus")

Points = NDArray[np.float64]


def shapes(
    per_class: int = 50, points: int = 150, noise: float = 0.1, seed: int = 0
) -> tuple[list[Tensor], Tensor]:
    """Sample point clouds from four closed surfaces, with Gaussian noise.

    The classes are sphere, torus, Klein bottle and double torus; tubes have a random width. Of ten
    times as many points, uniform by area, those are kept that farthest-point sampling selects. All
    clouds lie in four dimensions, where a Klein bottle fits, and are scaled so that the median
    distance to the sixth neighbor is 1 before the noise is added: neither the density nor the noise
    tells classes apart.

    Args:
        per_class: Number of clouds of each class. Defaults to 50.
        points: Number of points in a cloud. Defaults to 150.
        noise: Standard deviation of the noise in each direction. Defaults to 0.1.
        seed: Seed of all that is random. Defaults to 0.

    Returns:
        The clouds, each (points, 4) float64, and their classes (4 per_class,) int64, in turns.

    Example:
        >>> clouds, y = mpsn.datasets.shapes(per_class=2, points=50)
        >>> len(clouds), clouds[0].shape, y
        (8, torch.Size([50, 4]), tensor([0, 1, 2, 3, 0, 1, 2, 3]))
    """
    from scipy.spatial import KDTree

    if per_class < 1 or points < 7 or noise < 0:
        raise MPSNError(
            f"Expected at least 1 cloud per class, 7 points and noise >= 0, got {per_class}, "
            f"{points} and {noise}."
        )
    rng = np.random.default_rng(seed)
    clouds = []
    for i in range(4 * per_class):
        cloud = spread(surface(SHAPES[i % 4], 10 * points, rng), points)
        cloud /= np.median(KDTree(cloud).query(cloud, 7)[0][:, 6])
        clouds.append(torch.from_numpy(cloud + noise * rng.standard_normal(cloud.shape)))
    return clouds, torch.arange(4 * per_class) % 4


def spread(cloud: Points, points: int) -> Points:
    """Select points by farthest-point sampling, from the first on."""
    chosen, distance = [0], np.full(len(cloud), np.inf)
    for _ in range(points - 1):
        distance = np.minimum(distance, np.linalg.norm(cloud - cloud[chosen[-1]], axis=1))
        chosen.append(int(distance.argmax()))
    return cloud[chosen]


def surface(shape: str, points: int, rng: np.random.Generator) -> Points:
    """Sample points of a surface uniformly by area, (points, 4)."""
    if shape == "sphere":
        x = rng.standard_normal((points, 4)) * [1, 1, 1, 0]
        return x / np.linalg.norm(x, axis=1, keepdims=True)  # type: ignore[no-any-return]
    width = rng.uniform(0.35, 0.5)  # radius of the tube around a circle of radius 1
    u, v, keep = rng.uniform(0, [2 * np.pi, 2 * np.pi, 1], (8 * points, 3)).T
    twist = u / 2 if shape == "Klein bottle" else np.zeros_like(u)
    from_axis = 1 + width * np.cos(v)
    # Of (u, v), the area of a torus is in proportion to the distance from its axis; a Klein bottle
    # also turns its tube, by half a turn for each turn around the axis.
    turn = width * np.sin(v) * (shape == "Klein bottle") / 2
    even = keep * np.hypot(1 + width, width / 2) < np.hypot(from_axis, turn)
    tube = width * np.sin(v)
    x = np.stack(
        [from_axis * np.cos(u), from_axis * np.sin(u), tube * np.cos(twist), tube * np.sin(twist)],
        axis=1,
    )
    if shape == "double torus":  # the surface of two solid tori that overlap
        side = np.where(rng.random(len(x)) < 0.5, 1, -1) * (1 + width / 2)
        x[:, 0] += side
        from_circle = np.hypot(x[:, 0] + side, x[:, 1]) - 1  # of the other torus
        even &= np.hypot(from_circle, x[:, 2]) >= width
    return x[even][:points]  # type: ignore[no-any-return]
