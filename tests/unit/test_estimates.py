"""Memory of lifts: what is checked before cells are made is what they take, and little is held."""

import json
import sys

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from mpsn import clique_complex
from mpsn._rows.memory import Budget
from mpsn.lifting import directed_flag_complex, motif_complex, path_complex
from mpsn.lifting._cliques_cpu import tally
from processes import finish

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux only")
RATIO = 1.5

MEASURE = """
import ctypes, gc, json, re
from contextlib import suppress
from pathlib import Path
import networkx as nx, numpy as np, torch
import mpsn
from mpsn import SimplicialComplex
from mpsn._rows import memory
from mpsn.complexes import _building
from mpsn.errors import TooLargeError
from mpsn.lifting import cubical

STATUS, MIB, MOST = Path("/proc/self/status"), 1 << 20, 256 << 20
needs = []
check_room = memory.check_room


def note(need, *others):
    needs.append(need)
    check_room(need, *others)


memory.check_room = _building.check_room = cubical.check_room = note
libc = ctypes.CDLL(None)
libc.mallopt(-3, 1 << 16)  # what is freed goes back at once, and is not taken for what is in use


def peak(call):
    "Return what a call takes beyond what is there, its result included, and whether it is refused."
    gc.collect()
    libc.malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before, refused = resident("VmRSS"), False
    try:
        call()
    except TooLargeError:
        refused = True
    return resident("VmHWM") - before, refused


def resident(key):
    return int(re.search(rf"{key}:\\s*(\\d+) kB", STATUS.read_text())[1]) / 1024
"""

LIFTS = """
lift, K = mpsn.lifting, nx.complete_graph
points = torch.rand(40_000, 2, generator=torch.Generator().manual_seed(0))
LIFTS = {  # of a size, with a limit
    "cliques": (lambda n, most: mpsn.clique_complex(K(n), None, max_bytes=most), 20),
    "triangles": (lambda n, most: mpsn.clique_complex(K(n), 2, max_bytes=most), 250),
    "directed": (lambda n, most: lift.directed_flag_complex(K(n), None, max_bytes=most), 9),
    "rings": (lambda n, most: mpsn.ring_complex(K(n), 3, max_bytes=most), 230),
    "cubes": (lambda n, most: mpsn.cube_complex(K(n), 2, max_bytes=most), 45),
    "motifs": (lambda n, most: lift.motif_complex(K(n), [4], max_bytes=most), 40),
    "paths": (lambda n, most: lift.path_complex(K(n), 4, max_bytes=most), 20),
    "independence": (
        lambda n, most: lift.independence_complex(nx.path_graph(n), 1, max_bytes=most), 2000
    ),
    "rips": (lambda n, most: mpsn.rips_complex(points[:n], 9.0, max_bytes=most), 220),
    "pairs": (lambda n, most: mpsn.rips_complex(points[:n], 9.0, 1, max_bytes=most), 1500),
    "nearest": (
        lambda n, most: mpsn.rips_complex(points[:n], k=25, max_dim=1, max_bytes=most), 40_000
    ),
    "image": (lambda n, most: mpsn.cubical_complex(np.ones((n, n)), max_bytes=most), 700),
    "volume": (lambda n, most: mpsn.cubical_complex(np.ones((n, n, n)), max_bytes=most), 60),
    "simplex": (lambda n, most: SimplicialComplex.from_simplices([range(n)]), 18),
    "relation": (lambda n, most: lift.dowker_complex(np.ones((n, 2)), 2), 120),
}
for name, (call, large) in LIFTS.items():
    call(large, MOST)  # what is compiled is there
    needs.clear()
    print(json.dumps([name, *peak(lambda: call(large, MOST)), max(needs) / MIB]))
"""

REFUSED = """
lift, K = mpsn.lifting, nx.complete_graph
grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(60, 60))
both = nx.complete_bipartite_graph(40, 40)
CALLS = {
    "cliques": lambda most: mpsn.clique_complex(K(60), None, max_bytes=most),
    "directed": lambda most: lift.directed_flag_complex(K(24), None, max_bytes=most),
    "rings": lambda most: mpsn.ring_complex(grid, 60, max_bytes=most),
    "cubes": lambda most: mpsn.cube_complex(both, None, max_bytes=most),
    "motifs": lambda most: lift.motif_complex(K(40), [7], max_bytes=most),
    "paths": lambda most: lift.path_complex(K(40), 6, max_bytes=most),
    "independence": lambda most: lift.independence_complex(grid, None, max_bytes=most),
    "simplex": lambda most: SimplicialComplex.from_simplices([range(24)]),
}
_building.available_memory = lambda device: MOST
for name, call in CALLS.items():
    with suppress(TooLargeError):
        call(1 << 16)  # what is compiled is there
    print(json.dumps([name, *peak(lambda: call(MOST)), MOST / MIB]))
"""


def measured(code, said):
    """Return MiB taken, whether a result was refused, and MiB to compare with, by lift."""
    lines = finish(MEASURE + code, said=said).splitlines()
    lists = [line for line in lines if line.startswith("[")]  # and no bars of progress
    return {name: values for name, *values in map(json.loads, lists)}


@on_linux
def test_estimates_are_what_is_taken(tmp_path):
    """Within a factor, where a result is large beside what any call takes."""
    lifts = measured(LIFTS, tmp_path / "said")
    assert len(lifts) == 15
    for name, (taken, refused, estimate) in lifts.items():
        assert not refused
        assert estimate > 40, name
        assert estimate / RATIO < taken < RATIO * estimate, (name, estimate, taken)


@on_linux
def test_little_is_held_when_a_result_is_refused(tmp_path):
    """A tenth of the limit, and what is worked in."""
    for name, (taken, refused, limit) in measured(REFUSED, tmp_path / "said").items():
        assert refused, name
        assert taken < limit / 6, (name, taken)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("max_dim", [2, 3, 7])
def test_cliques_are_counted_without_their_tables(ordered, max_dim):
    """As many as there are, or as many as a limit on their entries allows and a few more."""
    graph = nx.gnp_random_graph(24, 0.6, seed=1, directed=ordered)
    K = (directed_flag_complex if ordered else clique_complex)(graph, max_dim)
    edges = K.incidence(1).face.view(-1, 2).flip(1)
    ptr = torch.searchsorted(edges[:, 0].contiguous(), torch.arange(25)).numpy()
    second = edges[:, 1].contiguous().numpy()
    counts, entries = np.zeros(max_dim + 1, np.int64), 0
    for v in range(24):
        entries += tally(ptr, second, ordered, v, v + 1, counts, 10**9)
    expected = [K.count(k) for k in range(2, max_dim + 1)]
    assert counts.tolist() == [0, 0, *expected]
    assert entries == sum((k + 1) * n for k, n in enumerate(expected, start=2))
    counts[:] = 0
    assert 500 < tally(ptr, second, ordered, 0, 24, counts, 500) < 500 + 25 * (max_dim + 1)


@pytest.mark.parametrize(
    "lift",
    [
        lambda: clique_complex(nx.gnp_random_graph(20, 0.6, seed=1), None),
        lambda: mpsn.ring_complex(nx.gnp_random_graph(20, 0.3, seed=1), 8, 3),
        lambda: mpsn.cube_complex(nx.gnp_random_graph(12, 0.5, seed=2), 3),
        lambda: motif_complex(nx.gnp_random_graph(12, 0.5, seed=3), [4, nx.complete_graph(4), 5]),
        lambda: path_complex(nx.gnp_random_graph(12, 0.4, seed=3), 3),
    ],
)
def test_what_is_counted_first_is_the_same(lift, monkeypatch):
    expected = lift()
    asked = []
    monkeypatch.setattr(Budget, "is_small", lambda self, size: asked.append(size))
    monkeypatch.setattr("mpsn.lifting.ring.CHUNK", 10)
    assert lift() == expected
    assert asked
