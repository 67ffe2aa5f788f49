"""Free memory: what the machine, the address space and control groups leave."""

import resource

import networkx as nx
import psutil
import pytest
import torch

import mpsn
from mpsn import SimplicialComplex
from mpsn._rows import memory
from mpsn._rows.memory import available_memory, free_in, limited_groups
from mpsn._rows.rows import unique_rows
from mpsn.errors import TooLargeError

CPU = torch.device("cpu")
GIB = 1 << 30


def test_the_limit_of_the_address_space():
    """As set by ``ulimit -v``."""
    before, old = available_memory(CPU), resource.getrlimit(resource.RLIMIT_AS)
    space = psutil.Process().memory_info().vms + 2 * GIB
    resource.setrlimit(resource.RLIMIT_AS, (space, old[1]))
    try:
        assert before > GIB >= available_memory(CPU) > GIB // 2
        assert SimplicialComplex.from_simplices([range(12)]).counts[1] == 66
        with pytest.raises(
            TooLargeError, match=r"at most (1|0.9..) GiB, got a simplex of 22 vertices"
        ):
            SimplicialComplex.from_simplices([range(22)])
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


@pytest.fixture(params=[1, 2])
def groups(request, tmp_path):
    """A control group a/b of one version, in which both a and b are limited."""
    top, limit, use, cached = memory.GROUPS[request.param]
    (tmp_path / "proc/self").mkdir(parents=True)
    controllers = {1: "4:cpu,memory:/a/b\n3:cpuset:/c", 2: "0::/a/b"}[request.param]
    (tmp_path / "proc/self/cgroup").write_text(controllers + "\n")
    for name, most, used in (("a", 3 * GIB, GIB), ("a/b", 2 * GIB, GIB // 2)):
        folder = tmp_path / "sys/fs/cgroup" / top / name
        folder.mkdir(parents=True)
        (folder / limit).write_text(f"{most}\n")
        (folder / use).write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon 5\n{cached} {GIB // 4}\nrss 7\n")
    return tmp_path, request.param, limit


def test_limits_of_control_groups(groups, monkeypatch):
    root, version, _ = groups
    found = limited_groups(root)
    assert [(folder.name, free_in(folder, v)) for folder, v in found] == [
        ("b", 2 * GIB - GIB // 4),
        ("a", 3 * GIB - 3 * GIB // 4),
    ]
    assert {v for _, v in found} == {version}
    monkeypatch.setattr(memory, "limited_groups", lambda: found)
    assert available_memory(CPU) <= (2 * GIB - GIB // 4) // 2
    with pytest.raises(TooLargeError, match="a simplex of 22 vertices"):
        SimplicialComplex.from_simplices([range(22)])


@pytest.mark.parametrize("unlimited", ["max", str(2**63 - 4096)])
def test_groups_without_a_limit(groups, unlimited):
    root, _, limit = groups
    for file in root.rglob(limit):
        file.write_text(unlimited)
    limited_groups.cache_clear()
    assert limited_groups(root) == []


def test_groups_that_are_not_seen(tmp_path):
    """In a container the group's name may be that outside of it."""
    assert limited_groups(tmp_path) == []
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/docker/123\n")
    top = tmp_path / "sys/fs/cgroup"
    top.mkdir(parents=True)
    (top / "memory.max").write_text("1000000")
    limited_groups.cache_clear()
    assert limited_groups(tmp_path) == [(top, 2)]


@pytest.mark.parametrize("vertices", [40, 1000, 10**5])
def test_a_simplex_with_too_many_faces(vertices):
    with pytest.raises(TooLargeError, match=f"a simplex of {vertices} vertices and all its faces"):
        SimplicialComplex.from_simplices([[0, 1], range(vertices)])


def test_many_simplices_with_too_many_faces(monkeypatch):
    """Those apart are counted at once; levels one by one, since simplices may share faces."""
    apart = [range(9 * i, 9 * i + 9) for i in range(40)]
    sharing = [[0, *range(8 * i + 1, 8 * i + 9)] for i in range(40)]
    assert sum(SimplicialComplex.from_simplices(apart).counts) == 40 * (2**9 - 1)
    assert sum(SimplicialComplex.from_simplices(sharing).counts) == 40 * (2**9 - 2) + 1
    monkeypatch.setattr("mpsn.complexes._building.available_memory", lambda device: 10**6)
    with pytest.raises(TooLargeError, match="got 40 simplices without common vertices"):
        SimplicialComplex.from_simplices(apart)
    with pytest.raises(TooLargeError, match="got 10080 faces of 6 vertices"):
        SimplicialComplex.from_simplices(sharing)
    together = SimplicialComplex.from_simplices([range(9)]).to_simplices()
    assert SimplicialComplex.from_simplices(together * 2).counts[0] == 9


@pytest.mark.parametrize("n", [1, 6, 1000, 3_000_000, 2**40])
def test_different_rows(n):
    generator = torch.Generator().manual_seed(0)
    for width in (1, 2, 4, 7):
        rows = torch.randint(n, (60, width), generator=generator)
        rows = torch.cat([rows, rows[:30], torch.full((1, width), n - 1)])
        found, at = unique_rows(rows, n)
        expected, where = torch.unique(rows, dim=0, return_inverse=True)
        assert torch.equal(found, expected)
        assert torch.equal(at, where)
    empty = unique_rows(torch.zeros((0, 3), dtype=torch.int64), n)
    assert [tuple(part.shape) for part in empty] == [(0, 3), (0,)]


@pytest.mark.parametrize(
    "call",
    [
        lambda: mpsn.clique_complex(nx.complete_graph(23), None, max_bytes=1 << 50),
        lambda: mpsn.cube_complex(nx.complete_graph(60), 2, max_bytes=1 << 50),
        lambda: mpsn.cubical_complex(torch.zeros(7000, 7000, dtype=torch.uint8), max_bytes=1 << 50),
    ],
)
def test_what_does_not_fit_in_spite_of_its_limit(call):
    """Where a user allows more than there is, allocations fail."""
    old = resource.getrlimit(resource.RLIMIT_AS)
    space = psutil.Process().memory_info().vms + GIB // 4
    resource.setrlimit(resource.RLIMIT_AS, (space, old[1]))
    try:
        with pytest.raises(TooLargeError, match="that fits into memory, got too little of it; "):
            call()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def test_lifting_asks_the_same(monkeypatch):
    monkeypatch.setattr(memory, "limited_groups", lambda: [("group", 1)])
    monkeypatch.setattr(memory, "free_in", lambda *_: 4000)
    with pytest.raises(TooLargeError):
        mpsn.clique_complex(nx.complete_graph(60))
