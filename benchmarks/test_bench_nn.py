"""Layers against pair lists, against TopoModelX's, and their growth."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from pair_lists import contest
from side_by_side import best, small_world

from mpsn import SimplicialComplex, clique_complex, nn

HERE = Path(__file__).parent
# torch.compile makes an instance of every autograd.Function it meets, and warns itself about it.
pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


@pytest.fixture(scope="module")
def world():
    return clique_complex((torch.from_numpy(small_world(2000, 10, 0.1)), 2000), 2)


@pytest.fixture(scope="module")
def tasks(world):
    return contest(world, width=64)


@pytest.mark.parametrize(
    ("name", "how", "goal"),
    [
        ("messages to edges", "eager", 4),
        ("messages to edges", "compiled", 5),
        ("messages", "eager", 3),
        ("messages", "compiled", 4),
        ("layer", "eager", 1.7),
        ("layer", "compiled", 2),
        ("layer", "perceptrons", 2),  # with all messages taken out: what there is to gain
        ("layer", "same, compiled", 2),
        ("layer", "products", 3),  # and with all but their matrix products
    ],
)
def test_sin_against_pair_lists(faster, tasks, name, how, goal):
    """4 and 6 were aimed at; docs/benchmarks.md says what was measured, and what stands against."""
    task = tasks[name]
    faster(task[how], {"pair lists": task["pair lists"]}, goal, rounds=15, others_rounds=10)


@pytest.mark.parametrize("width", [16, 64])
def test_sin_on_a_small_complex(benchmark, capsys, width):
    """Time goes to calls there; 1.35 x the perceptrons was aimed at.

    The same messages by torch's own operators, without checks or derivatives of ours, take 1.5 x.
    """
    tasks = contest(clique_complex(nx.karate_club_graph(), 2), width)["layer"]
    runs = {name: tasks[name] for name in ("eager", "perceptrons", "pair lists")}
    seconds = {name: [] for name in runs}

    def measure():
        for _ in range(200):  # in turns, so that other work slows all of them alike
            for name, run in runs.items():
                seconds[name].append(best(run, 1))

    measure()
    for times in seconds.values():
        times.clear()
    benchmark.pedantic(measure, rounds=1)
    eager, alone, pairs = (np.array(times) for times in seconds.values())
    ratios = {"perceptrons": np.median(eager / alone), "pair lists": np.median(eager / pairs)}
    benchmark.extra_info.update(ratios)
    with capsys.disabled():
        print(
            f"\nwidth {width}, times of: " + str({k: round(v, 2) for k, v in ratios.items()}),
            end="",
        )
    assert ratios["perceptrons"] < 2.2
    assert ratios["pair lists"] < 1.6


def one_weight(width):
    """Boundary, lower and upper messages in dimensions 0 to 2, one weight for all, as SCN2 has."""
    dense = [torch.nn.Linear(width, width) for _ in range(3)]

    def update(receiver, boundary, lower, upper, dim):
        return torch.relu(dense[dim](receiver + boundary + lower + upper))

    return nn.MPSNConv(update, boundary=same, lower=same, upper=same)


def one_weight_per_message(width):
    """The same and co-boundary messages, a weight per kind; SCCN has one for upper and lower."""
    kinds = ("receiver", "boundary", "coboundary", "lower", "upper")
    dense = [[torch.nn.Linear(width, width) for _ in kinds] for _ in range(3)]

    def update(dim, **heard):
        return torch.sigmoid(sum(w(heard[k]) for w, k in zip(dense[dim], kinds, strict=True)))

    return nn.MPSNConv(update, boundary=same, coboundary=same, lower=same, upper=same)


def same(sender):
    return sender


def scn2(K, xs):
    """TopoModelX's SCN2, two layers; it is handed Laplacians, and hears no one but neighbors."""
    module = pytest.importorskip("topomodelx.nn.simplicial.scn2", reason=NOT_THERE)
    net = module.SCN2(*(x.shape[1] for x in xs))
    laplacians = [K.hodge_laplacian(k) for k in range(3)]
    return lambda: net(*xs, *laplacians)


def sccn(K, xs):
    """TopoModelX's SCCN, two layers; it is handed B_k and who neighbors whom, twice itself."""
    module = pytest.importorskip("topomodelx.nn.simplicial.sccn", reason=NOT_THERE)
    net = module.SCCN(xs[0].shape[1], max_rank=2)
    features = {f"rank_{k}": x for k, x in enumerate(xs)}
    incidences = {f"rank_{k}": K.boundary_matrix(k) for k in (1, 2)}
    adjacencies = {}
    for k, n in enumerate(K.counts):
        itself = torch.arange(n).expand(2, n)
        pairs = [torch.stack(K.adjacency(k, kind)[:2]) for kind in ("upper", "lower")]
        index = torch.cat([*pairs, itself, itself], 1)
        ones = torch.ones(index.shape[1])
        matrix = torch.sparse_coo_tensor(index, ones, (n, n), check_invariants=False)
        adjacencies[f"rank_{k}"] = matrix.coalesce()
    return lambda: net(features, incidences, adjacencies).values()


NOT_THERE = "pip install --no-deps topomodelx (see the bench extra in pyproject.toml)"


@pytest.mark.parametrize(("theirs", "build"), [(scn2, one_weight), (sccn, one_weight_per_message)])
def test_two_layers_against_topomodelx(faster, world, theirs, build):
    """Two layers of width 32; theirs get their matrices ready-made, ours only the complex."""
    layers = [build(32), build(32)]
    xs = [torch.randn(n, 32, requires_grad=True) for n in world.counts]

    def ours():
        hs = xs
        for layer in layers:
            hs = layer(world, hs)
        return hs

    def train(function):
        return lambda: sum(h.sum() for h in function()).backward()

    name = theirs.__name__.upper()
    faster(train(ours), {name: train(theirs(world, xs))}, 1, rounds=25, others_rounds=25)


# glibc hands memory above 32 MiB back to the system and fetches it anew, page by page, for every
# tensor. Half a million leaves lie below that (30.5 MiB a tensor) and a million above, so that any
# chain of torch operations takes more than twice as long. With these settings memory is kept, and
# what is measured is the work.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}


def star(leaves):
    """Print the best time of forward and backward on a star, width 16, and the peak memory.

    Processor time, the system's included: sizes are measured minutes apart, beside other work.
    """
    torch.set_num_threads(1)
    faces = torch.stack([torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.int64)], 1)
    K = SimplicialComplex(leaves + 1, [faces])
    layer = nn.OrientedConv(16, 16, act="tanh")
    h = torch.randn(leaves, 16, requires_grad=True)
    seconds = best(lambda: layer(K, h).sum().backward(), 10, clock=time.process_time)
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def star_alone(leaves, settings):
    """Return seconds and GiB of a star in a process of its own."""
    command = [sys.executable, "-c", f"from test_bench_nn import star; star({leaves})"]
    env = {**os.environ, **settings}
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True, env=env)
    return tuple(map(float, done.stdout.split()))


def test_a_star_of_a_million_leaves(benchmark, capsys):
    """Linear time and under 4 GB, where there are 10^12 pairs of lower neighbours."""
    sizes, figures = (500_000, 1_000_000, 2_000_000), {}

    def measure():
        for settings in (KEEP_MEMORY, {}):
            figures[len(settings)] = [star_alone(n, settings) for n in sizes]

    benchmark.pedantic(measure, rounds=1)
    (half, one, two), as_it_comes = figures[2], figures[0]
    with capsys.disabled():
        for name, found in (("memory kept", figures[2]), ("as it comes", as_it_comes)):
            said = ", ".join(f"{s:.2f} s {gib:.2f} GiB" for s, gib in found)
            print(f"\n0.5, 1 and 2 million leaves, {name}: {said}", end="")
    assert max(one[1], as_it_comes[1][1]) < 4
    assert one[0] < 2.5 * half[0]
    assert two[0] < 2.5 * one[0]


def test_a_batch_of_flows_on_one_complex(faster, world):
    """One complex and (edges, batch, features) against the union of 16 copies."""
    from mpsn import collate

    net = nn.models.EdgeFlowNet(hidden=16)
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
