"""Triangulated surfaces: the file, the generator, and what both agree on."""

import gzip
import json
import os
from itertools import combinations, permutations

import networkx as nx
import pytest
import torch

from mpsn.datasets import SURFACE_TYPES, surfaces
from mpsn.datasets._surfaces import FILE
from mpsn.errors import FileError, MPSNError
from mpsn_reproduction.papers.surface_search import triangulated_surfaces

needs_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="MPSN_DATA is not set")
COUNTS = {4: 1, 5: 1, 6: 3, 7: 9, 8: 43, 9: 655}
TYPES = {  # of the surfaces with n vertices, by Lutz
    6: {"S^2": 2, "RP^2": 1},
    7: {"S^2": 5, "T^2": 1, "RP^2": 3},
    8: {"S^2": 14, "T^2": 7, "RP^2": 16, "Klein bottle": 6},
}


@pytest.mark.parametrize("n", COUNTS)
def test_generated_surfaces_are_closed_different_and_as_many_as_there_are(n):
    found = triangulated_surfaces(n)
    assert len(found) == COUNTS[n]
    assert found.counts[:, 0].eq(n).all()
    kinds = [SURFACE_TYPES[i] for i in found.y[:, 0]]
    if n in TYPES:
        assert {kind: kinds.count(kind) for kind in kinds} == TYPES[n]
    for K, row in zip(found, found.y.tolist(), strict=True):
        assert K.incidence(2).degree.eq(2).all()
        assert K.betti_numbers() == tuple(row[3:])
        assert K.betti_numbers()[2] == row[1]


def all_surfaces(n):
    """Return the surfaces with n vertices by trying all sets of triangles, up to isomorphism."""
    triples = list(combinations(range(n), 3))
    orders = [
        [triples.index(tuple(sorted(p[v] for v in t))) for t in triples]
        for p in permutations(range(n))
    ]
    found = set()
    for bits in range(1 << len(triples)):
        rows = [i for i in range(len(triples)) if bits >> i & 1]
        edges = [e for i in rows for e in combinations(triples[i], 2)]
        if not rows or any(edges.count(e) != 2 for e in set(edges)):
            continue
        if {v for e in edges for v in e} == set(range(n)):  # connected, with cycles as links
            found.add(min(tuple(sorted(order[i] for i in rows)) for order in orders))
    return found


def test_few_vertices_by_trying_all_sets_of_triangles():
    assert len(all_surfaces(4)) == len(triangulated_surfaces(4))
    assert len(all_surfaces(5)) == len(triangulated_surfaces(5))


@pytest.mark.parametrize("n", [6, 7, 8])
def test_generated_surfaces_are_not_isomorphic(n):
    graphs = [nx.Graph(incident_pairs(K)) for K in triangulated_surfaces(n)]
    for G, H in combinations(graphs, 2):
        same = degrees(G) == degrees(H)
        assert not (same and nx.is_isomorphic(G, H, node_match=dict.__eq__))


def incident_pairs(K):
    """Return pairs of a vertex and a triangle; a triangle has three, vertices at least three."""
    return [(v, tuple(t)) for t in K.simplices(2).tolist() for v in t] + [
        (tuple(t), ("triangle", *t)) for t in K.simplices(2).tolist()
    ]


def degrees(G):
    return sorted(d for _, d in G.degree())


def test_the_number_of_vertices_is_checked():
    for n in (3, 11):
        with pytest.raises(MPSNError, match="4 to 10 vertices"):
            triangulated_surfaces(n)


def items(n=6):
    return [
        {
            "triangulation": (K.simplices(2) + 1).tolist(),
            "n_vertices": n,
            "betti_numbers": row[3:],
            "name": SURFACE_TYPES[row[0]],
            "orientable": bool(row[1]),
            "genus": row[2],
        }
        for data in [triangulated_surfaces(n)]
        for K, row in zip(data, data.y.tolist(), strict=True)
    ]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "surfaces").mkdir()
    return tmp_path


def write(folder, content):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / FILE).write_bytes(gzip.compress(text))


def test_a_file_is_read_as_it_was_written(folder):
    write(folder, items(6) + items(4) + items(7))
    sets = [triangulated_surfaces(n) for n in (6, 4, 7)]
    read = surfaces(folder)
    assert list(read) == [K for data in sets for K in data]
    assert torch.equal(read.y, torch.cat([data.y for data in sets]))


def pinched():
    """Two tetrahedra that share a vertex."""
    rows = [[1, 2, 3], [1, 2, 4], [1, 3, 4], [2, 3, 4]]
    return rows + [[1 if v == 1 else v + 3 for v in row] for row in rows]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"triangulation": [[1, 2, 3]]}, "two at each edge"),
        ({"triangulation": []}, "link of each vertex"),
        ({"triangulation": [[1, 2]]}, "three vertices|inhomogeneous"),
        ({"triangulation": [[1, 2, 2.5]]}, "three vertices"),
        ({"triangulation": [[1, 1, 2]]}, "three different"),
        ({"triangulation": [[0, 1, 2]]}, "vertices from 1"),
        ({"n_vertices": 3}, "vertices from 1"),
        ({"n_vertices": 7}, "link of each vertex"),
        ({"triangulation": pinched(), "n_vertices": 7}, "link of each vertex"),
        ({"genus": 1}, "agree"),
        ({"genus": -1}, "agree"),
        ({"genus": 10**30}, "small numbers"),
        ({"orientable": False}, "agree"),
        ({"orientable": 1}, "orientable"),
        ({"name": "T^2"}, "agree"),
        ({"name": None}, "agree"),
        ({"betti_numbers": [1, 1, 1]}, "agree"),
    ],
)
def test_a_damaged_surface_is_refused(folder, change, reason):
    first, *others = items()
    write(folder, [*others, {**first, **change}])
    with pytest.raises(FileError, match=reason):
        surfaces(folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"[1]", b"[" * 10**5, b'[{"genus": 1}]'])
def test_other_files_are_refused(folder, content):
    write(folder, content)
    with pytest.raises(FileError):
        surfaces(folder)


def test_a_truncated_or_missing_file_is_refused(folder, monkeypatch):
    write(folder, items())
    whole = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="damaged"):
        surfaces(folder)
    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    with pytest.raises(FileError, match="MANTRA"):
        surfaces(folder / "elsewhere")


@needs_data
def test_the_file_and_the_generator_agree():
    data = surfaces()
    assert len(data) == 43138
    assert torch.bincount(data.y[:, 0]).tolist() == [
        *(306, 2229, 865, 20),
        *(1364, 4655, 11917, 13694, 7052, 1022, 14),
    ]
    for n, count in COUNTS.items():
        theirs, ours = data[data.counts[:, 0] == n], triangulated_surfaces(n)
        assert len(theirs) == count
        assert sorted(map(signature, theirs)) == sorted(map(signature, ours))


def signature(K):
    """Return labels, and the degrees of the vertices of all triangles."""
    degree = K.incidence(1).degree
    return K.y.tolist(), sorted(degree[K.simplices(2)].sort(1).values.tolist())
