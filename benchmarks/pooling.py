"""TopK pooling against a layer. Run ``python benchmarks/pooling.py [cpu|cuda]``.

A batch of 128 complexes of the size of those of PROTEINS, width 64, forward, and forward with
backward; the goal is a ratio of at most 2. In turns, so that the ratio is not the machine's.
"""

import sys
import time

import networkx as nx
import torch

import mpsn

GOAL = 2.0


def batch(device):
    """Return a union of 128 clique complexes of about 39 vertices, 73 edges and 27 triangles."""
    graphs = [nx.connected_watts_strogatz_graph(39, 4, 0.2, seed=i) for i in range(128)]
    return mpsn.clique_complexes(graphs, 2).union.to(device)


def seconds(runs, rounds, device):
    """Return the median time of each run, taken in turns."""
    times = {name: [] for name in runs}
    for i in range(rounds + 3):
        for name, run in runs.items():
            start = clock(device)
            run()
            if i >= 3:
                times[name].append(clock(device) - start)
    return {name: sorted(many)[rounds // 2] for name, many in times.items()}


def clock(device):
    if device == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def main(device, rounds=40):
    torch.manual_seed(0)
    K = batch(device)
    xs = [torch.randn(n, 64, device=device, requires_grad=True) for n in K.counts]
    conv = mpsn.nn.SINConv(64, 64, max_dim=2).to(device)
    pools = {dim: mpsn.nn.TopKPool(64, dim=dim).to(device) for dim in (0, 1, 2)}

    def backward(xs):
        sum(x.sum() for x in xs).backward()

    def forward(function):
        with torch.no_grad():
            function()

    runs = {
        "SINConv, forward": lambda: forward(lambda: conv(K, xs)),
        "SINConv, forward and backward": lambda: backward(conv(K, xs)),
    }
    for dim, pool in pools.items():
        runs[f"TopKPool dim={dim}, forward"] = lambda p=pool: forward(lambda: p(K, xs))
        runs[f"TopKPool dim={dim}, forward and backward"] = lambda p=pool: backward(p(K, xs).xs)
    cluster = torch.arange(K.num_nodes, device=device) // 2
    runs["coarsen to half, forward"] = lambda: forward(lambda: mpsn.nn.coarsen(K, xs, cluster))
    found = seconds(runs, rounds, device)
    print(f"{device}, torch {torch.__version__}, {K}, width 64, {GOAL=}")
    for name, time_ in found.items():
        layer = found["SINConv, " + name.split(", ")[1]]
        print(f"{name:42} {1e3 * time_:8.3f} ms  ratio {time_ / layer:5.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["cpu"])
