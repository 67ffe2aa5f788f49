"""Pairs of points near each other: by k-d trees on the CPU, by grids and distances on a GPU."""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpsn._rows.checks import as_tensor, check_features
from mpsn._rows.device import pick_device
from mpsn._rows.memory import Budget
from mpsn._rows.packages import is_pyg
from mpsn._rows.rows import ranges
from mpsn.errors import ComplexError
from mpsn.lifting._shared import Device, cut

EDGE_BYTES = 48  # of a pair, while it becomes an edge
PAIR_BYTES = 64  # peak memory of the search on the GPU, per pair
SLACK = 1 + 1e-9  # k-d trees may round otherwise than ``closer``, which decides
NUMBERS = (int, float, np.number)
MOST = 1e150  # of a coordinate: its square is finite
CELLS = 1 << 20  # most cells of a grid along an axis


class Points(NamedTuple):
    """Points (n, d), what their vertices know (n, F), and labels."""

    position: Tensor
    x: Tensor
    y: Tensor | None


def as_points(points: object, device: Device = None) -> Points:
    """Read points (n, d) as an array of any kind, or PyG ``Data`` with ``pos``."""
    data: Any = points if is_pyg(points, "Data") else None
    if data is not None and data.pos is None:
        raise ComplexError("Expected PyG Data with positions pos, got none; set data.pos.")
    position = as_tensor(points if data is None else data.pos, "points")
    if position.dim() != 2 or position.is_complex() or position.shape[1] < 1:
        raise ComplexError(
            f"Expected points of shape (n, d), one row of d >= 1 coordinates per point, got "
            f"{position.dtype} of shape {tuple(position.shape)}."
        )
    if not position.is_floating_point():
        position = position.to(torch.get_default_dtype())
    position = position.detach() if device is None else position.detach().to(pick_device(device))
    check_features([position], [len(position)])
    if position.numel() and float(position.abs().max()) > MOST:
        raise ComplexError(
            f"Expected coordinates up to {MOST:g}, whose distances are finite, got "
            f"{float(position.abs().max()):g}; scale the points."
        )
    x, y = (None, None) if data is None else (data.x, data.y)
    if x is not None:
        x = torch.cat([position, (x[:, None] if x.dim() == 1 else x).to(position)], dim=1)
    y = None if y is None else as_tensor(y, "y").to(position.device)
    return Points(position, position if x is None else x, y)


def check_radius(radius: object) -> None:
    """Raise unless a radius is a finite number of at least 0."""
    if not isinstance(radius, NUMBERS) or not 0 <= radius < math.inf:
        raise ComplexError(f"Expected a finite radius >= 0, got {radius!r:.40}.")


def lengths(position: Tensor, pairs: Tensor) -> Tensor:
    """Return the distances (m,) float64 of pairs (m, 2)."""
    return _squares(position, pairs).sqrt_()


def closer(position: Tensor, pairs: Tensor, radius: float) -> Tensor:
    """Return the pairs at a distance of at most ``radius``, the same ones on every device.

    Squared distances have the same bits everywhere; roots do not, on some GPUs. So they are
    compared with the largest number whose root is at most ``radius``.
    """
    most = radius * radius
    while math.sqrt(most) > radius:
        most = math.nextafter(most, 0)
    while math.sqrt(above := math.nextafter(most, math.inf)) <= radius:
        most = above
    return pairs[_squares(position, pairs) <= most]


def _squares(position: Tensor, pairs: Tensor) -> Tensor:
    total = torch.zeros(len(pairs), dtype=torch.float64, device=position.device)
    for column in position.double().T:
        total += (column[pairs[:, 0]] - column[pairs[:, 1]]).square_()
    return total


def within(position: Tensor, radius: float, budget: Budget) -> Tensor:
    """Return the pairs (m, 2) of points at a distance of at most ``radius``, in any order."""
    if position.is_cpu:
        tree = _tree(position)
        most = (tree.count_neighbors(tree, radius * SLACK) - len(position)) // 2
        budget.check(most, EDGE_BYTES * most)
        pairs = torch.from_numpy(tree.query_pairs(radius * SLACK, output_type="ndarray"))
        return closer(position, pairs, radius)
    return by_grid(position, radius, budget)


def _tree(position: Tensor) -> Any:
    from scipy.spatial import cKDTree  # imports for a tenth of a second: lifts of graphs do without

    return cKDTree(position.double().numpy())


def by_grid(position: Tensor, radius: float, budget: Budget) -> Tensor:
    """Return the same pairs in plain torch, from neighboring cells of a grid.

    Points are sorted by their cells; a cell is as wide as ``radius`` along the three longest axes
    of the points, so pairs are in the same or in neighboring cells. The neighbors along the last
    axis are consecutive.
    """
    n, parts, count = len(position), [position.new_zeros((0, 2), dtype=torch.int64)], 0
    if n < 2:
        return parts[0]
    low, high = position.double().aminmax(dim=0)
    axes = (high - low).topk(min(3, position.shape[1])).indices
    low, extent = low[axes], (high - low)[axes]
    width = torch.clamp(extent / CELLS, min=radius * SLACK)
    cell = ((position.double()[:, axes] - low) / torch.where(width > 0, width, 1)).long()
    shape = cell.amax(dim=0) + 2  # with an empty cell between rows
    stride = shape.flip(0).cumprod(0).flip(0).roll(-1)
    stride[-1] = 1
    keys, order = (cell * stride).sum(1).sort()
    own = torch.arange(n, device=position.device)
    for step in product((-1, 0, 1), repeat=len(axes) - 1):
        if step < (0,) * len(step):  # pairs are found from their first cell
            continue
        middle = keys + sum(a * s for a, s in zip(step, stride[:-1], strict=True))
        start = torch.searchsorted(keys, middle - 1) if any(step) else own + 1
        size = torch.searchsorted(keys, middle + 1, right=True) - start
        for first, stop, total in cut(size.cumsum(0), budget.room(PAIR_BYTES)):
            owner, other = ranges(start[first:stop], size[first:stop], total)
            pairs = order[torch.stack([owner + first, other], dim=1)]
            pairs = closer(position, pairs, radius)
            count += len(pairs)
            budget.check(count, EDGE_BYTES * count)
            parts.append(pairs)
    return torch.cat(parts)


def nearest(position: Tensor, k: int, budget: Budget) -> Tensor:
    """Return the pairs (m, 2) of each point and its k nearest other points; ties are arbitrary."""
    n = len(position)
    k = min(k, n - 1)
    budget.check(n * k, EDGE_BYTES * n * k)
    if n < 2:
        return torch.zeros((0, 2), dtype=torch.int64, device=position.device)
    cloud = position.double()
    if position.is_cpu:
        _, index = _tree(position).query(cloud.numpy(), k + 1)
        near = torch.from_numpy(np.asarray(index, np.int64))
    else:
        how = "donot_use_mm_for_euclid_dist"
        parts = torch.split(cloud, max(1, budget.room(16) // n))
        distances = (torch.cdist(part, cloud, compute_mode=how) for part in parts)
        near = torch.cat([d.topk(k + 1, largest=False).indices for d in distances])
    own = torch.arange(n, device=position.device)[:, None]
    other = near != own  # all of them where k + 1 others are at the same place
    other[:, -1] &= ~other.all(dim=1)
    return torch.stack([own.expand_as(near)[other], near[other]], dim=1)
