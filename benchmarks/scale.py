"""Datasets larger than memory, and one complex that is trained on in parts.

Run ``python benchmarks/scale.py mapped|parts [results.json]``.

``mapped``: a dataset of 10 million cells, opened and in memory: time to open, and batches per
second. ``parts``: a graph of 10 million edges lifted to triangles; batches of 1024 edges and their
neighborhoods, sampled, through a network and back; peak memory of the process.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import torch

import mpsn

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


def parts():
    """Train on sampled neighborhoods of edges."""
    torch.manual_seed(0)
    start = time.perf_counter()
    K = geometric(1_600_000, 12.5)
    found = {"counts": K.counts, "lift_s": time.perf_counter() - start}
    K = K.replace(x=[torch.ones(n, 1) for n in K.counts])
    loader = mpsn.SubcomplexLoader(
        K, torch.randperm(K.count(1))[: 1024 * 20], dim=1, hops=2, fan_out=8
    )
    layers = torch.nn.ModuleList(
        [mpsn.nn.CINConv(1, 64, 2, norm=True), mpsn.nn.CINConv(64, 64, 2, norm=True)]
    )
    head = torch.nn.Linear(64, 2)
    adam = torch.optim.Adam([*layers.parameters(), *head.parameters()])
    start, cells = time.perf_counter(), 0
    for part in loader:
        h = list(part.complex.x)
        for layer in layers:
            h = layer(part.complex, h)
        loss = head(h[1][part.seeds[1]]).logsumexp(1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        cells += sum(part.complex.counts)
    found["batch_s"] = (time.perf_counter() - start) / len(loader)
    found["cells_in_a_batch"] = cells // len(loader)
    found["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    result = {"mapped": mapped, "parts": parts}[sys.argv[1]]()
    text = json.dumps({**result, "goals": GOALS})
    print(text)
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(text + "\n")
