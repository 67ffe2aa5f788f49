"""Flows on the edges of one complex: the paper's synthetic trajectories."""

import itertools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn.errors import MPSNError

HOLES = ((0.2, 0.4), (0.6, 0.8))  # closed squares [a, b]²
START, END = ((0.0, 0.2), (0.8, 1.0)), ((0.8, 1.0), (0.0, 0.2))
CHECKPOINTS = (((0.0, 0.2), (0.0, 0.2)), ((0.8, 1.0), (0.8, 1.0)))  # of classes 0 and 1
REGIONS = (START, END, *CHECKPOINTS)
DETOUR = 0.1  # probability of a random step


@dataclass(frozen=True, eq=False)
class FlowDataset:
    """Flows on the edges of one complex, with classes and a split.

    Attributes:
        complex: The complex of all flows.
        positions: Point of each vertex, (n_0, 2).
        paths: Vertices of the walk of each flow.
        x: Flows (n_1, N) in the canonical orientation: a step from the smaller to the larger
            vertex counts +1, the other way -1.
        y: Class of each flow, (N,) int64.
        train: Mask of the training flows, (N,) bool; the others are test flows.
        signs: Edge orientation to present each flow in, (n_1, N) ±1 int8: the canonical one for
            training flows, a random one for each test flow.
    """

    complex: SimplicialComplex
    positions: Tensor
    paths: list[list[int]]
    x: Tensor
    y: Tensor
    train: Tensor
    signs: Tensor

    @classmethod
    def from_paths(
        cls,
        complex: SimplicialComplex,
        positions: NDArray[np.float64],
        paths: list[list[int]],
        y: NDArray[np.int64],
        train: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> Self:
        """Return the flows of walks along edges, with a random orientation for each test flow.

        Args:
            complex: The complex.
            positions: Point of each vertex, (n_0, 2).
            paths: Vertices of each walk; consecutive ones span an edge.
            y: Class of each walk, (N,).
            train: Mask of the training flows, (N,).
            rng: Generator of the orientations.
        """
        edge_index = {tuple(edge): e for e, edge in enumerate(complex.simplices(1).tolist())}
        flows = np.zeros((complex.count(1), len(paths)), dtype=np.float32)
        for i, path in enumerate(paths):
            for u, v in itertools.pairwise(path):
                flows[edge_index[min(u, v), max(u, v)], i] += 1 if u < v else -1
        signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=flows.shape)
        signs[:, train] = 1
        x, classes, mask, turned = map(torch.from_numpy, (flows, y, train, signs))
        return cls(complex, torch.from_numpy(positions), paths, x, classes, mask, turned)

    def __repr__(self) -> str:
        train = int(self.train.sum())
        return f"FlowDataset({self.complex}, train={train}, test={len(self.y) - train})"


def synthetic_flows(
    seed: int = 0, *, points: int = 1000, train: int = 1000, test: int = 200
) -> FlowDataset:
    """Generate walks that pass two holes on one side or the other ("Trajectory Prediction").

    The complex is a Delaunay triangulation of uniform points in a square with two square holes.
    Walks lead from the top left to the bottom right through the bottom left (class 0) or the top
    right (class 1); each step goes to the unexplored neighbor closest to the goal, or with
    probability 0.1 to a random one. Points are drawn until the Betti numbers are (1, 2, 0).
    The paper gives the square as the unit square, and neither the holes nor the regions of the
    ends in numbers. All are here as in the authors' code (twitter-research/cwn): points from
    [-0.05, 1.05]², so that vertices lie on all sides of the regions in the corners of [0, 1]².

    Args:
        seed: Seed of all random choices.
        points: Number of points before the holes are cut out.
        train: Number of training flows, half of each class.
        test: Number of test flows, half of each class.

    Example:
        >>> data = mpsn.datasets.synthetic_flows(points=300, train=10, test=4)
        >>> data.complex.betti_numbers(), data.x.shape[1], data.y[data.train].bincount().tolist()
        ((1, 2, 0), 14, [5, 5])
    """
    if points < 100 or train < 0 or test < 0 or train % 2 or test % 2:
        raise MPSNError(
            f"Expected points >= 100 and even numbers of flows, got points={points}, "
            f"train={train}, test={test}."
        )
    rng = np.random.default_rng(seed)
    while True:
        positions, triangles = _triangulate(rng, points)
        K = SimplicialComplex.from_simplices(triangles.tolist())
        inside = {region: np.flatnonzero(_inside(positions, region)) for region in REGIONS}
        if K.betti_numbers() == (1, 2, 0) and all(map(len, inside.values())):
            break
    labels = np.concatenate([np.repeat([0, 1], n // 2) for n in (train, test)])
    neighbors = {v: list(near) for v, near in K.to_networkx().adjacency()}
    away = np.linalg.norm(positions[:, None] - positions, axis=2)  # (n_0, n_0)
    paths = [
        _walk(rng, neighbors, away, [inside[r] for r in (START, CHECKPOINTS[label], END)])
        for label in labels.tolist()
    ]
    is_train = np.arange(train + test) < train
    return FlowDataset.from_paths(K, positions, paths, labels, is_train, rng)


def _triangulate(rng: np.random.Generator, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from scipy.spatial import Delaunay

    points = rng.uniform(-0.05, 1.05, (n, 2))
    triangles = Delaunay(points).simplices
    lost = np.zeros(n, dtype=bool)
    for hole in HOLES:
        lost |= _inside(points, (hole, hole))
    triangles = triangles[~lost[triangles].any(axis=1)]
    kept, renumbered = np.unique(triangles, return_inverse=True)
    return points[kept], renumbered.reshape(-1, 3)


def _inside(
    points: NDArray[np.float64], region: tuple[tuple[float, float], tuple[float, float]]
) -> NDArray[np.bool_]:
    (x0, x1), (y0, y1) = region
    x, y = points.T
    return np.asarray((x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1))


def _walk(
    rng: np.random.Generator,
    neighbors: dict[Any, list[Any]],
    away: NDArray[np.float64],
    regions: list[NDArray[np.int64]],
) -> list[int]:
    """Walk from the first region to the others in order; start again with new ends when stuck."""
    while True:
        first, *goals = (int(rng.choice(region)) for region in regions)
        path, explored = [first], {first}
        while goals:
            if path[-1] == goals[0]:
                goals.pop(0)
                continue
            open_ = [v for v in neighbors[path[-1]] if v not in explored]
            if not open_:
                break
            if rng.random() < DETOUR:
                step = open_[rng.integers(len(open_))]
            else:
                step = min(open_, key=away[goals[0]].__getitem__)
            path.append(step)
            explored.add(step)
        if not goals:
            return path
