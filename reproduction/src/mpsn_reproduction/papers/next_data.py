"""Ocean drifters: where will a buoy go next?"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn.complexes import SimplicialComplex
from mpsn_reproduction.papers.sources import expect, reading

NAME = "ocean/ocean_next_node.npz"
Ints = NDArray[np.int64]


class Steps(NamedTuple):
    """Paths so far, and their next steps.

    Flows (n_1, N), last vertices (N,), the neighbors of these in ascending order, (N, C), filled up
    with -1, and which of them is next, (N,).
    """

    x: Tensor
    last: Tensor
    candidates: Tensor
    y: Tensor


@dataclass(frozen=True)
class NextNodes:
    """Paths on one complex, forward and from their ends backward, and masks (S, N) of test paths.

    Edges are oriented from the smaller vertex to the larger.
    """

    complex: SimplicialComplex
    forward: Steps
    reversed: Steps
    test: Tensor


def next_nodes(folder: Path | None = None) -> NextNodes:
    """Read the drifters' next-node task (Roddenberry, Glaze and Segarra 2021).

    The map is that of :func:`mpsn.datasets.ocean_drifters`, with other numbers of the hexagons.

    Args:
        folder: Folder with ``ocean/ocean_next_node.npz``: ``B1``, ``B2``, ``test_masks_10``, and
            ``flows_in``, ``last_nodes``, ``target_nodes``, ``targets`` (which of the neighbors),
            the same after ``rev_`` for the paths reversed. Defaults to the environment variable
            ``MPSN_DATA``.
    """
    path = expect(NAME, "SCoNe's data (github.com/nglaze00/SCoNe_GCN)", folder)
    with reading(path), np.load(path) as arrays:
        return from_arrays(arrays)


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> NextNodes:
    """Build the complex and the paths from the arrays of the file."""
    values = {name: arrays[name].astype(np.int64, casting="same_kind") for name in arrays}
    K, order, signs = _complex(values["B1"], values["B2"])
    neighbors: list[list[int]] = [[] for _ in range(K.num_nodes)]
    for u, v in K.simplices(1).tolist():
        neighbors[u].append(v)
        neighbors[v].append(u)
    widest = max(map(len, neighbors))
    steps = []
    for prefix in ("", "rev_"):
        flows, last = values[f"{prefix}flows_in"], values[f"{prefix}last_nodes"]
        candidates = [sorted(neighbors[u]) for u in last.tolist()]
        targets = values[f"{prefix}target_nodes"].tolist()
        y = [row.index(v) for row, v in zip(candidates, targets, strict=True)]
        chosen = values[f"{prefix}targets"]
        if (chosen != 0).sum() != len(y) or (chosen[np.arange(len(y)), y, 0] != 1).any():
            raise ValueError("expected targets among the neighbors of the last vertices")
        padded = [row + [-1] * (widest - len(row)) for row in candidates]
        x = torch.from_numpy(flows[:, order, 0] * signs).T.float().contiguous()
        steps.append(Steps(x, torch.from_numpy(last), torch.tensor(padded), torch.tensor(y)))
    test = torch.from_numpy(values["test_masks_10"]) != 0
    if any((len(part.y), part.x.shape[1]) != (test.shape[1],) * 2 for part in steps):
        raise ValueError("expected one flow, last vertex, target and column of the masks per path")
    return NextNodes(K, steps[0], steps[1], test)


def _complex(B1: Ints, B2: Ints) -> tuple[SimplicialComplex, Ints, Ints]:
    """Return the complex, the number in the file of each of its edges, and their orientations."""
    if B1.sum(0).any() or (B1 @ B2).any():
        raise ValueError("expected boundaries, B1 B2 = 0")
    edges = B1.T.nonzero()[1].reshape(-1, 2)
    order = np.lexsort(edges.T[::-1])
    sides = B2.T.nonzero()[1].reshape(-1, 3)
    triangles = [sorted({*edges[row].ravel().tolist()}) for row in sides]
    K = SimplicialComplex.from_simplices([*edges.tolist(), *triangles], len(B1))
    if not np.array_equal(K.simplices(1).numpy(), edges[order]) or K.count(2) != len(triangles):
        raise ValueError("expected each edge and each triangle once")
    return K, order, B1[edges[order, 1], order]
