"""Lifting and batches on a GPU. Run ``python benchmarks/gpu_complexes.py [results.json]``."""

import json
import sys
from pathlib import Path

import torch
from side_by_side import TableData, small_world
from torch_geometric.data import Batch

import mpsn


def milliseconds(function, rounds=7):
    """Return the median time on the device, after two rounds to warm up."""
    times = []
    for i in range(rounds + 2):
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        if i > 1:
            times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def lifting(n, k):
    edges = torch.from_numpy(small_world(n, k, 0.1)).cuda()
    K = mpsn.clique_complex((edges, n), 2)
    row = {"task": f"lift n={n} k={k}", "counts": K.counts}
    del K
    torch.cuda.reset_peak_memory_stats()
    row["ms"] = milliseconds(lambda: mpsn.clique_complex((edges, n), 2))
    row["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return row


def rips(n, degree):
    """Lift points in the unit square, with a mean degree, to dimension 2, distances included."""
    points = torch.rand(
        n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).cuda()
    radius = (degree / torch.pi / n) ** 0.5
    K = mpsn.rips_complex(points, radius)
    row = {"task": f"rips n={n} degree={degree}", "counts": K.counts}
    row["pairs_ms"] = milliseconds(lambda: mpsn.rips_complex(points, radius, 1))
    row["ms"] = milliseconds(lambda: mpsn.rips_complex(points, radius))
    return row


def batches(count, size):
    graphs = [(torch.from_numpy(small_world(20, 8, 0.3, seed)), 20) for seed in range(count)]
    packed = mpsn.clique_complexes(graphs, 2, device="cuda")
    data = [TableData(K) for K in packed]
    index = torch.randperm(count, generator=torch.Generator().manual_seed(0))[:size].cuda()
    chosen = [data[i] for i in index.tolist()]
    assert torch.equal(Batch.from_data_list(chosen).triangles, packed.batch(index).faces(2))
    ours = milliseconds(lambda: packed.batch(index), 20)
    theirs = milliseconds(lambda: Batch.from_data_list(chosen), 5)
    return {"task": f"batch of {size}", "ms": ours, "pyg_ms": theirs, "ratio": theirs / ours}


def main():
    device = torch.cuda.get_device_name()
    rows = [lifting(100_000, 20), lifting(400_000, 40), rips(100_000, 20.5), rips(400_000, 40)]
    rows += [batches(2000, size) for size in (32, 128, 1024)]
    for row in rows:
        print(device, row)
    if len(sys.argv) > 1:
        with Path(sys.argv[1]).open("w") as file:
            json.dump({"device": device, "torch": torch.__version__, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
