"""Layers against pair lists, against TopoModelX's times, and their growth."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from pair_lists import contest
from side_by_side import best, small_world
from test_bench_complexes import gudhi_arrays

from mpsn import SimplicialComplex, clique_complex, nn

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def world():
    return clique_complex((torch.from_numpy(small_world(2000, 10, 0.1)), 2000), 2)


@pytest.fixture(scope="module")
def tasks(world):
    return contest(world, width=64)


@pytest.mark.parametrize(("how", "goal"), [("eager", 4), ("compiled", 6)])
def test_sin_messages_against_pair_lists(faster, tasks, how, goal):
    task = tasks["messages"]
    faster(task[how], {"pair lists": task["pair lists"]}, goal, rounds=15, others_rounds=10)


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_sin_layer_against_pair_lists(faster, tasks, how):
    """The whole layer; its two-layer perceptrons cost the same either way."""
    task = tasks["layer"]
    faster(task[how], {"pair lists": task["pair lists"]}, 1, rounds=10, others_rounds=7)


def test_two_layers_against_topomodelx(faster, world):
    """SCN2's 53.4 ms and SCCN's 92.5, scaled by what gudhi needs here against 18 ms there."""
    edges = small_world(2000, 10, 0.1)
    scale = best(lambda: gudhi_arrays(edges, 2000, 2), 5) / 18e-3
    layers = [nn.LinearMPSNConv(32, 32, max_dim=2, act="relu") for _ in range(2)]
    xs = [torch.randn(n, 32, requires_grad=True) for n in world.counts]

    def ours():
        hs = xs
        for layer in layers:
            hs = layer(world, hs)
        sum(h.sum() for h in hs).backward()

    faster(ours, {"SCN2": 53.4e-3 * scale, "SCCN": 92.5e-3 * scale}, 1, rounds=10)


def star(leaves):
    """Run forward and backward on a star, width 16; return the best time in seconds."""
    faces = torch.stack([torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.int64)], 1)
    K = SimplicialComplex(leaves + 1, [faces])
    layer = nn.OrientedConv(16, 16, act="tanh")
    h = torch.randn(leaves, 16, requires_grad=True)
    return best(lambda: layer(K, h).sum().backward(), 5)


def test_a_star_of_a_million_leaves(benchmark, capsys):
    """Linear time and under 4 GB, where there are 10^12 pairs of lower neighbours."""
    code = "from test_bench_nn import *; torch.set_num_threads(1); "
    code += "seconds = star(1_000_000); "
    code += "print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True
    )
    seconds, gib = map(float, done.stdout.split())
    half = benchmark.pedantic(lambda: star(500_000), rounds=1)
    with capsys.disabled():
        print(f"\n{seconds:.2f} s and {gib:.2f} GiB; half as many leaves {half:.2f} s", end="")
    assert gib < 4
    assert seconds < 3 * half


def test_a_batch_of_flows_on_one_complex(faster, world):
    """One complex and (edges, batch, features) against the union of 64 copies."""
    from mpsn import collate

    net = nn.models.EdgeFlowNet(nn.models.EdgeFlowConfig(hidden=16))
    union = collate([world] * 16)
    h = torch.randn(world.count(1), 16, 1)
    flat = h.transpose(0, 1).reshape(-1, 1)
    torch.testing.assert_close(net(world, h), net(union, flat), rtol=1e-4, atol=1e-2)
    faster(
        lambda: net(world, h).sum().backward(),
        {"the union": lambda: net(union, flat).sum().backward()},
        goal=0.9,
        rounds=3,
    )
