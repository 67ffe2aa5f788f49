"""Ocean drifters: where will a buoy go next?"""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpsn._files.limits import explained
from mpsn._files.npz import read_arrays
from mpsn.complexes import SimplicialComplex
from mpsn.datasets._sources import expect
from mpsn.errors import ComplexError

NAME = "ocean/ocean_next_node.npz"
MOST_BYTES = 1 << 24


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


def next_nodes(data: str | os.PathLike[str] | None = None) -> NextNodes:
    """Read the drifters' next-node task (Roddenberry, Glaze and Segarra 2021).

    The map is that of :func:`ocean_drifters`, with other numbers of the hexagons.

    Args:
        data: Folder of local copies with ``ocean/ocean_next_node.npz``: ``B1``, ``B2``,
            ``test_masks_10``, and ``flows_in``, ``last_nodes``, ``target_nodes``, ``targets``
            (which of the neighbors), the same after ``rev_`` for the paths reversed. Defaults to
            the environment variable ``MPSN_DATA``.
    """
    path = expect(NAME, "SCoNe's data (github.com/nglaze00/SCoNe_GCN)", data)
    with explained(path, "the next steps of drifters"):
        return _build(read_arrays(path, MOST_BYTES))


def _build(arrays: dict[str, NDArray[Any]]) -> NextNodes:
    flows = ("flows_in", "last_nodes", "target_nodes", "targets")
    needed = ("B1", "B2", "test_masks_10", *flows, *(f"rev_{name}" for name in flows))
    for name in needed:
        if name not in arrays or arrays[name].dtype.kind not in "iub":
            raise ComplexError(f"expected an array {name} of integers")
    values = {name: arrays[name].astype(np.int64) for name in needed}
    K, order, signs = _complex(values["B1"], values["B2"])
    near = [[] for _ in range(K.num_nodes)]  # type: list[list[int]]
    for u, v in K.simplices(1).tolist():
        near[u].append(v)
        near[v].append(u)
    both = []
    for prefix in ("", "rev_"):
        x, last, target, chosen = (values[prefix + name] for name in flows)
        N, widest = len(last), max(map(len, near))
        shapes = (x.shape, last.shape, target.shape, chosen.shape[:1], chosen.shape[2:])
        if shapes != ((N, K.count(1), 1), (N,), (N,), (N,), (1,)) or not N:
            raise ComplexError(
                f"expected one flow, last vertex and target per path in {prefix}flows_in"
            )
        if last.min() < 0 or last.max() >= K.num_nodes or abs(x).max() > 1000:
            raise ComplexError("expected flows that end at vertices of the map")
        candidates = [sorted(near[u]) for u in last.tolist()]
        y = [
            row.index(v) if v in row else -1
            for row, v in zip(candidates, target.tolist(), strict=True)
        ]
        if (
            -1 in y
            or chosen.shape[1] < widest
            or (chosen != 0).sum() != N
            or (chosen[np.arange(N), y, 0] != 1).any()
        ):
            raise ComplexError("expected targets among the neighbors of the last vertices")
        padded = [row + [-1] * (widest - len(row)) for row in candidates]
        flow = torch.from_numpy(x[:, order, 0] * signs).T.float().contiguous()
        both.append(Steps(flow, torch.from_numpy(last), torch.tensor(padded), torch.tensor(y)))
    test = values["test_masks_10"]
    if test.ndim != 2 or test.shape[1] != len(both[0].y) or len(both[1].y) != len(both[0].y):
        raise ComplexError("expected masks of test paths, one column per path")
    return NextNodes(K, both[0], both[1], torch.from_numpy(test) != 0)


def _complex(
    B1: NDArray[np.int64], B2: NDArray[np.int64]
) -> tuple[SimplicialComplex, NDArray[np.int64], NDArray[np.int64]]:
    """Return the complex, the number in the file of each of its edges, and their orientations."""
    if B1.ndim != 2 or B2.ndim != 2 or B1.shape[1] != len(B2) or not B1.size:
        raise ComplexError(f"expected B1 and B2 that fit, got shapes {B1.shape} and {B2.shape}")
    for B, width in ((B1, 2), (B2, 3)):
        if abs(B).max(initial=0) > 1 or (abs(B).sum(0) != width).any():
            raise ComplexError(f"expected {width} faces per column of B{width - 1}")
    if (B1.sum(0) != 0).any() or (B1.astype(np.float32) @ B2.astype(np.float32)).any():
        raise ComplexError("expected boundaries, B1 B2 = 0")
    edges = B1.T.nonzero()[1].reshape(-1, 2)
    order = np.lexsort(edges.T[::-1])
    sides = B2.T.nonzero()[1].reshape(-1, 3)
    triangles = [sorted({*edges[row].ravel().tolist()}) for row in sides]
    K = SimplicialComplex.from_simplices([*edges.tolist(), *triangles], len(B1))
    if not np.array_equal(K.simplices(1).numpy(), edges[order]) or K.count(2) != len(triangles):
        raise ComplexError("expected each edge and each triangle once")
    return K, order, B1[edges[order, 1], order]
