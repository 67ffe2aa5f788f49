"""One epoch of CellClassifier on the edges of a large complex: seconds of computing, and memory.

    python benchmarks/cells.py 1e6

Random points in the plane, linked to about twelve neighbors each, and all triangles between them.
"""

import resource
import sys
import time

import numpy as np
import torch
from scipy.spatial import cKDTree

import mpsn
from mpsn.estimators import CellClassifier

NEIGHBORS = 12


def report(what: str, start: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{what}: {time.process_time() - start:.1f} s of computing, at most {peak:.2f} GiB so far"
    )


def main(edges: int) -> None:
    n, rng = 2 * edges // NEIGHBORS, np.random.default_rng(0)
    radius = (NEIGHBORS / (np.pi * n)) ** 0.5
    pairs = cKDTree(rng.random((n, 2))).query_pairs(radius, output_type="ndarray")
    start = time.process_time()
    K = mpsn.clique_complex((torch.from_numpy(pairs.T.copy()), n), max_dim=2)
    report(str(K), start)
    beside = torch.bincount(K.faces(2).reshape(-1), minlength=K.count(1)).numpy()
    y = np.where(rng.random(len(beside)) < 0.5, beside > 5, -1)
    start = time.process_time()
    model = CellClassifier(dim=1, epochs=1, device="cpu").fit(K, y)
    report("fit with one epoch", start)
    start = time.process_time()
    model.predict(K)
    report("predict", start)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
