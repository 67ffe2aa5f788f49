"""Two-dimensional slices of input space, cut into regions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpsn._rows.checks import as_array
from mpsn.errors import MPSNError
from mpsn.regions._arrangement import count

Window = tuple[float, float, float, float]


class Slice(NamedTuple):
    """A plane in input space and the regions it meets.

    ``lines`` (L, 3): a x + b y + c = 0 in the coordinates of the plane. ``polygons``: the corners
    of each region inside ``window`` = (x0, x1, y0, y1). ``regions``: the exact number of regions in
    the whole plane; the default window shows all of them.
    """

    lines: NDArray[np.float64]
    polygons: list[NDArray[np.float64]]
    window: Window
    regions: int


def slice2d(
    W: ArrayLike,
    b: ArrayLike | None = None,
    *,
    origin: ArrayLike | None = None,
    directions: ArrayLike | None = None,
    seed: int = 0,
    window: Window | None = None,
) -> Slice:
    """Cut a plane of input space into the linear regions of x ↦ relu(W x + b).

    Args:
        W: Weights (M, N).
        b: Biases (M,). Defaults to none.
        origin: A point of the plane, (N,). Defaults to a random one; a plane through 0 shows only
            cones.
        directions: Two directions of the plane, (2, N). Defaults to random orthonormal ones.
        seed: Seed of the random origin and directions.
        window: Part of the plane, (x0, x1, y0, y1). Defaults to one that contains all crossings.

    Example:
        >>> mpsn.regions.slice2d([[1, 0, 0], [0, 1, 0], [0, 0, 1]]).regions  # three lines
        7
    """
    matrix = np.asarray(as_array(W), float)
    if matrix.ndim != 2 or matrix.shape[1] < 2 or not np.isfinite(matrix).all():
        raise MPSNError(f"Expected finite W of shape (M, N), N >= 2, got {matrix.shape}.")
    n, rng = matrix.shape[1], np.random.default_rng(seed)
    start = np.asarray(rng.standard_normal(n) if origin is None else as_array(origin), float)
    drawn = np.linalg.qr(rng.standard_normal((n, 2)))[0].T
    plane = np.asarray(drawn if directions is None else as_array(directions), float)
    if start.shape != (n,) or plane.shape != (2, n) or np.linalg.matrix_rank(plane) < 2:
        raise MPSNError(
            f"Expected origin of shape ({n},) and two independent directions of shape (2, {n}), "
            f"got {start.shape} and {plane.shape}."
        )
    biases = np.zeros(len(matrix)) if b is None else np.asarray(as_array(b), float)
    if biases.shape != (len(matrix),) or not np.isfinite(biases).all():
        raise MPSNError(f"Expected finite biases b of shape ({len(matrix)},), got {biases.shape}.")
    lines = np.column_stack([matrix @ plane.T, matrix @ start + biases])
    terms = np.abs(matrix) @ np.abs(np.column_stack([plane.T, start]))
    terms[:, 2] += np.abs(biases)
    lines[np.abs(lines) <= 1e-12 * terms] = 0  # rounding errors of terms that cancel
    size = np.abs(lines[:, :2]).max(axis=1)
    seen = lines[size > 0] / size[size > 0, None]
    box = window or _window(seen)
    regions = count(seen[:, :2], seen[:, 2]) if len(seen) else 1
    return Slice(lines, _cells(seen, box), box, regions)


def _window(lines: NDArray[np.float64]) -> Window:
    i, j = np.triu_indices(len(lines), 1)
    a, b = lines[i], lines[j]
    det, length = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], np.linalg.norm(lines[:, :2], axis=1)
    crossing = np.abs(det) > 1e-12 * length[i] * length[j]
    a, b, det = a[crossing], b[crossing], det[crossing]
    x = (a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]) / det
    y = (a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]) / det
    # Lines that cross nothing must pass through the window too.
    feet = -lines[:, :2] * (lines[:, 2] / (lines[:, :2] ** 2).sum(axis=1))[:, None]
    x, y = np.concatenate([x, feet[:, 0], [0]]), np.concatenate([y, feet[:, 1], [0]])
    margin = 0.1 * max(np.ptp(x), np.ptp(y)) + 1
    return x.min() - margin, x.max() + margin, y.min() - margin, y.max() + margin


def _cells(lines: NDArray[np.float64], window: Window) -> list[NDArray[np.float64]]:
    x0, x1, y0, y1 = window
    cells = [np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])]
    tiny = 1e-10 * max(x1 - x0, y1 - y0)
    for line in lines / np.linalg.norm(lines[:, :2], axis=1)[:, None]:
        parts = []
        for cell in cells:
            height = cell @ line[:2] + line[2]
            if height.max() <= tiny or height.min() >= -tiny:
                parts.append(cell)
            else:
                parts += [_clip(cell, height), _clip(cell, -height)]
        cells = parts
    return cells


def _clip(cell: NDArray[np.float64], height: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of a convex polygon where ``height``, given at its corners, is positive."""
    corners = []
    for i in range(len(cell)):
        j = (i + 1) % len(cell)
        if height[i] >= 0:
            corners.append(cell[i])
        if height[i] * height[j] < 0:
            corners.append(cell[i] + (cell[j] - cell[i]) * height[i] / (height[i] - height[j]))
    return np.array(corners)
