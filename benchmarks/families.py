"""Layers of the field's families beside TopoModelX's, forward and backward, on one thread.

    python benchmarks/families.py [--n 2000] [--width 32] [--rounds 5]

Prints the median milliseconds of both, run in turns, and their ratio.
"""

import argparse
import time
import warnings
from statistics import median

import networkx as nx
import torch
from topomodelx.nn.cell.can_layer import CANLayer
from topomodelx.nn.combinatorial.hmc_layer import HMCLayer
from topomodelx.nn.simplicial.san_layer import SANLayer
from topomodelx.nn.simplicial.sccnn_layer import SCCNNLayer
from topomodelx.nn.simplicial.scn2_layer import SCN2Layer
from topomodelx.nn.simplicial.scnn_layer import SCNNLayer

import mpsn
from mpsn import nn


def sparse(K, k, kind):
    pairs, n = K.adjacency(k, kind), K.count(k)
    index = torch.stack([pairs.receiver, pairs.sender])
    return torch.sparse_coo_tensor(index, torch.ones(index.shape[1]), (n, n)).coalesce()


def cases(K, n):
    """Return by name our layer, theirs, and what theirs takes beside features."""
    down, up = (K.hodge_laplacian(1, part) for part in ("down", "up"))
    B1, B2 = K.boundary_matrix(1), K.boundary_matrix(2)
    identity = torch.sparse.spdiags(torch.ones(K.count(1)), torch.zeros(1, dtype=int), up.shape)
    step = identity - 0.1 * (down + up)
    ends = [abs(B1).coalesce(), abs(B2).coalesce()]
    near = [sparse(K, 0, "upper"), sparse(K, 1, "upper"), sparse(K, 2, "lower")]
    both = sparse(K, 1, "lower"), near[1]
    normal = [K.hodge_laplacian(k, normalized=True) for k in range(3)]
    halves = [K.hodge_laplacian(0), down, up, K.hodge_laplacian(2)]
    widths = [n] * 3
    return {
        "SCN": (nn.SCNConv(n, n, 2), SCN2Layer(*widths), lambda f, xs: f(*xs, *normal)),
        "SCNN": (nn.SCNNConv(n, n), SCNNLayer(n, n, 2, 2), lambda f, xs: f(xs[1], down, up)),
        "SCCNN": (
            nn.SCCNNConv(n, n, 2),
            SCCNNLayer(widths, widths, 2, 2),
            lambda f, xs: f(xs, halves, [B1, B2]),
        ),
        "SAN": (
            nn.SANConv(n, n, harmonic_degree=1),
            SANLayer(n, n, 2),
            lambda f, xs: f(xs[1], up, down, step),
        ),
        "CAN": (
            nn.CANConv(n, n, heads=2),
            CANLayer(n, n, heads=2, add_self_loops=False),
            lambda f, xs: f(xs[1], *both),
        ),
        "HMC": (
            nn.HMCConv(n, n),
            HMCLayer(widths, widths, widths, 0.2, softmax_attention=True),
            lambda f, xs: f(*xs, *near, *ends),
        ),
    }


def seconds(run, xs):
    began = time.perf_counter()
    out = run(xs)
    parts = [out] if isinstance(out, torch.Tensor) else out
    sum(part.sum() for part in parts).backward()
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    graph = nx.watts_strogatz_graph(options.n, 10, 0.1, seed=0)
    K = mpsn.clique_complex(graph, max_dim=2)
    print(f"{K}, width {options.width}, forward and backward, one thread; median milliseconds")
    for name, (ours, theirs, call) in cases(K, options.width).items():
        xs = [torch.randn(n, options.width, requires_grad=True) for n in K.counts]
        own = lambda xs, f=ours: f(K, xs[f.dim] if hasattr(f, "dim") else xs)  # noqa: E731
        other = lambda xs, f=theirs, call=call: call(f, xs)  # noqa: E731
        seconds(own, xs)
        times = [(seconds(own, xs), seconds(other, xs)) for _ in range(options.rounds)]
        a, b = (1000 * median(column) for column in zip(*times, strict=True))
        print(f"{name:6} {a:9.1f} {b:9.1f}  {b / a:6.1f} x", flush=True)


if __name__ == "__main__":
    main()
