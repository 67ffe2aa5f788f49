"""The ladder against plain dictionaries and networkx; the largest family, whole.

Those on SR(35,16,6,8) need its file: set MPSN_DATA.
"""

import os
import subprocess
import sys
import time

import networkx as nx
import pytest
import torch
from side_by_side import small_world

import mpsn
import wl_twins
from mpsn.datasets import strongly_regular

needs_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="set MPSN_DATA")

WHOLE = """
import resource, time, torch, mpsn
torch.set_num_threads(1)
mpsn.wl.swl(mpsn.clique_complexes(mpsn.datasets.strongly_regular(16, 6, 2, 2), None))
graphs = mpsn.datasets.strongly_regular(35, 16, 6, 8)
start = time.perf_counter()
found = mpsn.wl.swl(mpsn.clique_complexes(graphs, max_dim=None))
seconds = time.perf_counter() - start
sizes = found.classes().unique(return_counts=True)[1]
pairs = int((sizes * (sizes - 1) // 2).sum())
gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(seconds, gigabytes, found.rounds, pairs)
"""


@needs_data
def test_swl_against_dictionaries(faster):
    """100 graphs of SR(35,16,6,8), lifted beforehand: at least 15 times as fast."""
    lifted = mpsn.clique_complexes(strongly_regular(35, 16, 6, 8)[:100], None)
    simplices = [list(map(tuple, K.to_simplices())) for K in lifted]
    found, theirs = mpsn.wl.swl(lifted), wl_twins.swl(simplices)
    assert found.rounds == len(theirs) - 1
    faster(
        lambda: mpsn.wl.swl(lifted),
        {"a dictionary": lambda: wl_twins.swl(simplices)},
        goal=15,
        others_rounds=1,
    )


@pytest.mark.filterwarnings("ignore:The hashes produced")
def test_wl_round_against_networkx(faster):
    """One round on 1M edges: at least 10 times as fast as networkx's hash."""
    n, rounds = 100_000, 4
    edges = torch.from_numpy(small_world(n, 20, 0.1))
    graph = nx.Graph(edges.T.tolist())
    assert graph.number_of_edges() > 999_000

    def seconds(run):
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    one, more = (
        seconds(lambda t=t: nx.weisfeiler_lehman_graph_hash(graph, iterations=t)) for t in (1, 2)
    )
    ours = lambda: mpsn.wl.wl((edges, n), rounds=rounds)  # noqa: E731
    faster(ours, {"networkx, per round": rounds * (more - one)}, goal=10)


@needs_data
def test_the_largest_family_whole(benchmark, capsys):
    """3854 graphs, 4.1M simplices: lifted and refined in one call, under 6 GB, all told apart."""
    answer = benchmark.pedantic(
        lambda: (
            subprocess.run(
                [sys.executable, "-c", WHOLE], capture_output=True, text=True, check=True
            ).stdout
        ),
        rounds=1,
    )
    seconds, gigabytes, rounds, pairs = map(float, answer.split())
    with capsys.disabled():
        print(f"\nSR(35,16,6,8): {seconds:.1f} s, {rounds:.0f} rounds, peak {gigabytes:.2f} GiB")
    assert gigabytes < 6
    assert pairs == 0
