"""Datasets larger than memory, and one complex that is trained on in parts.

Run ``python benchmarks/scale.py mapped|parts [results.json] [vertices]``.

``mapped``: a dataset of 10 million cells, opened and in memory: time to open, and batches per
second. ``parts``: a graph of 10 million edges (1.6 million vertices) lifted to triangles; a
``CellClassifier`` of edges, fitted to 20 000 known ones by sampled batches, asked for all others;
time, accuracy, and peak memory of the process.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy
import torch

import mpsn
import mpsn.estimators

GOALS = {"open_ms": 50, "mapped_over_memory": 0.7, "peak_gb": 8}


def seconds(function, repeats):
    """Return the best time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def mapped():
    """Compare batches of a mapped dataset with batches in memory."""
    torch.manual_seed(0)
    one = [geometric(60, 8.0) for _ in range(500)]
    one = [K.replace(x=[torch.randn(n, 16) for n in K.counts], y=0) for K in one]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        many = -(-10_000_000 // sum(sum(K.counts) for K in one))
        data = mpsn.ComplexDataset.write(path, (K for _ in range(many) for K in one))
        found = {"cells": sum(data.union.counts), "bytes": path.stat().st_size}
        found["open_ms"] = 1e3 * seconds(lambda: mpsn.ComplexDataset.open(path), 5)
        memory = mpsn.ComplexDataset.load(path)
        order = torch.randperm(len(data))[: 128 * 100].split(128)
        times = {
            name: seconds(lambda d=d: [d.batch(at) for at in order], 3)
            for name, d in (("memory", memory), ("mapped", data))
        }
        found["batch_ms"] = {name: 10 * t for name, t in times.items()}
        found["mapped_over_memory"] = times["memory"] / times["mapped"]
    return found


def geometric(n, degree):
    """Return the clique complex, to triangles, of random points in the plane."""
    from scipy.spatial import cKDTree

    points = torch.rand(n, 2).numpy()
    pairs = cKDTree(points).query_pairs((degree / 3.14159 / n) ** 0.5, output_type="ndarray")
    return mpsn.clique_complex((torch.from_numpy(pairs.T).long(), n), max_dim=2)


def parts(n=1_600_000):
    """Learn which edges are in more triangles than most, from some of them."""
    torch.manual_seed(0)
    start = time.perf_counter()
    K = geometric(n, 12.5)
    found = {"counts": K.counts, "lift_s": time.perf_counter() - start}
    many = torch.bincount(K.incidence(2).face, minlength=K.count(1))
    y = (many > many.median()).numpy().astype("int8")
    order = torch.randperm(len(y)).numpy()
    known, asked = (numpy.full_like(y, -1) for _ in range(2))
    known[order[:20_000]], asked[order[20_000:]] = y[order[:20_000]], y[order[20_000:]]
    model = mpsn.estimators.CellClassifier(dim=1, epochs=3, features="degree", device="cpu")
    for task, function in (("fit", model.fit), ("predict", model.score)):
        start = time.perf_counter()
        result = function(K, known if task == "fit" else asked)
        found[f"{task}_s"] = time.perf_counter() - start
        found[f"{task}_peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(found, file=sys.stderr)
    found["accuracy"], found["held_out"] = result, model.scores_
    found["peak_gb"] = found["predict_peak_gb"]
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    result = {"mapped": mapped, "parts": parts}[sys.argv[1]](*map(int, sys.argv[3:]))
    text = json.dumps({**result, "goals": GOALS})
    print(text)
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(text + "\n")
