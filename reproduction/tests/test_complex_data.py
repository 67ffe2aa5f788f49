"""Readers of data sets that are complexes, on made files, and what they refuse."""

import gzip
import os
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

import complex_files as files
from mpsn.errors import FileError
from mpsn_reproduction.papers.coauthor_data import coauthors
from mpsn_reproduction.papers.next_data import next_nodes
from mpsn_reproduction.papers.temporal_data import temporal_simplices

needs_data = pytest.mark.skipif("MPSN_DATA" not in os.environ, reason="set MPSN_DATA")


def test_citations_stand_at_their_simplices(tmp_path):
    papers = files.some_papers()
    arrays = files.coauthor_arrays(papers)
    shuffled = dict(arrays)
    order = np.random.default_rng(0).permutation(len(arrays["simplices_1"]))
    for name in ("simplices_1", "citations_1", "missing30_1"):
        shuffled[name] = arrays[name][order]
    files.write_coauthor(tmp_path, shuffled)
    K, missing = coauthors(tmp_path)
    ids = np.sort(arrays["simplices_0"][:, 0])
    for k in range(K.dim + 1):
        rows = map(tuple, arrays[f"simplices_{k}"].tolist())
        hidden = dict(zip(rows, arrays[f"missing30_{k}"], strict=True))
        for row, value, mask in zip(K.simplices(k), K.x[k][:, 0], missing[k], strict=True):
            team = {int(v) for v in ids[row.numpy()]}
            assert value == sum(c for authors, c in papers.items() if team <= {*authors})
            assert mask == hidden[tuple(sorted(team))]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"citations_2": None}, "citations_2"),
        ({"citations_0": np.zeros(3)}, "one value and a mask per 0-simplex"),
        ({"citations_1": -1.0}, "positive citations in dimension 1"),
        ({"citations_1": np.nan}, "positive citations"),
        ({"missing30_1": 1}, "a mask per 1-simplex"),
        ({"simplices_1": 5}, "KeyError: 5"),
        ({"simplices_1": 10}, "distinct vertices"),
        ({"simplices_1": np.array([[10, 20]] * 4)}, "each simplex once"),
    ],
)
def test_damaged_co_authors_are_refused(tmp_path, change, said):
    arrays = files.coauthor_arrays({(10, 20, 30): 4, (10, 40): 2})
    for name, value in change.items():
        if value is None:
            del arrays[name]
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            arrays[name] = np.full_like(arrays[name], value, dtype=type(value))
    files.write_coauthor(tmp_path, arrays)
    with pytest.raises(FileError, match=said):
        coauthors(tmp_path)


def test_other_files_and_none_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("MPSN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for read in (coauthors, next_nodes, lambda data: temporal_simplices("email-Enron", data)):
        with pytest.raises(FileError, match="pass --data DIR"):
            read(tmp_path)
    for path in (files.write_coauthor(tmp_path, {}), files.write_next(tmp_path, {})):
        path.write_bytes(b"no archive")
    with pytest.raises(FileError, match="damaged or of another kind"):
        coauthors(tmp_path)
    with pytest.raises(FileError, match="damaged or of another kind"):
        next_nodes(tmp_path)


def test_temporal_simplices_come_in_order(tmp_path):
    simplices, times = [[3, 1], [2], [1, 2, 4], [4, 3]], [30, 10, 20, 20]
    files.write_temporal(tmp_path, "toy", simplices, times)
    found = temporal_simplices("toy", tmp_path)
    rows = [found.index[a:b].tolist() for a, b in pairwise(found.ptr)]
    assert rows == [[1], [0, 1, 3], [3, 2], [2, 0]]
    assert found.times.tolist() == [10, 20, 20, 30]


@pytest.mark.parametrize(
    ("part", "content", "said"),
    [
        ("nverts", b"2\n1\n3\n", "3 sizes of simplices and 4 times"),
        ("nverts", b"2\n1\n3\n3\n", "sizes that add up"),
        ("nverts", b"2\n0\n4\n2\n", "sizes that add up"),
        ("simplices", b"3 1 2 1 2 4 4 0", "vertices 1, 2, ..."),
        ("times", b"1\n2\nthree\n4\n", "invalid literal"),
        ("times", b"1\n2\n3\n99999999999999999999\n", "OverflowError"),
        ("times", None, "damaged or of another kind"),
    ],
)
def test_damaged_temporal_simplices_are_refused(tmp_path, part, content, said):
    place = files.write_temporal(tmp_path, "toy", [[3, 1], [2], [1, 2, 4], [4, 3]], [1, 2, 3, 4])
    packed = b"no gzip" if content is None else gzip.compress(content)
    (place / f"toy-{part}.txt.gz").write_bytes(packed)
    with pytest.raises(FileError, match=said):
        temporal_simplices("toy", tmp_path)


def test_next_steps_follow_the_walks(tmp_path):
    arrays, walks = files.next_arrays()
    turned = dict(arrays)  # the file may number and orient its edges in another way
    order = np.random.default_rng(1).permutation(arrays["B1"].shape[1])
    signs = np.where(np.arange(len(order)) % 2, 1, -1)
    turned["B1"], turned["B2"] = arrays["B1"][:, order] * signs, (arrays["B2"][order].T * signs).T
    for name in ("flows_in", "rev_flows_in"):
        turned[name] = arrays[name][:, order] * signs[:, None]
    files.write_next(tmp_path, turned)
    data = next_nodes(tmp_path)
    assert data.test.sum(1).tolist() == [8] * 10
    for steps, paths in ((data.forward, walks), (data.reversed, [w[::-1] for w in walks])):
        change = (data.complex.boundary_matrix(1) @ steps.x).T
        for i, walk in enumerate(paths):
            assert int(steps.candidates[i, steps.y[i]]) == walk[-1]
            ends = torch.zeros(25)
            ends[walk[-2]] += 1
            ends[walk[0]] -= 1
            assert torch.equal(change[i], ends)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("B1", None, "KeyError: .B1"),
        ("B1", lambda B: B[:, 1:], "matmul"),
        ("B1", lambda B: abs(B), "B1 B2 = 0"),
        ("B2", lambda B: B[:, :1].repeat(2, 1), "each triangle once"),
        ("flows_in", lambda x: x[1:], "one flow"),
        ("flows_in", lambda x: x + 0.5, "Cannot cast"),
        ("last_nodes", lambda v: v + 1000, "out of range"),
        ("target_nodes", lambda v: v * 0, "is not in list"),
        ("rev_targets", lambda t: t * 0, "among the neighbors"),
        ("test_masks_10", lambda m: m[:, 1:], "column of the masks per path"),
    ],
)
def test_damaged_next_steps_are_refused(tmp_path, name, value, said):
    arrays, _ = files.next_arrays()
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value(arrays[name])
    files.write_next(tmp_path, arrays)
    with pytest.raises(FileError, match=said):
        next_nodes(tmp_path)


@needs_data
def test_real_files():
    K, missing = coauthors()
    assert K.counts == (352, 1474, 3285, 5019, 5559, 4547, 2732, 1175, 343, 61, 5)
    assert [round(float(m.float().mean()), 1) for m in missing[:9]] == [0.3] * 9
    for k in range(1, K.dim + 1):
        assert (K.x[k - 1][K.faces(k), 0] >= K.x[k]).all()
    data = next_nodes()
    assert data.complex.counts == (133, 320, 186)
    assert data.forward.x.shape == data.reversed.x.shape == (320, 200)
    assert data.test.sum(1).tolist() == [20] * 10
    assert len(temporal_simplices("email-Enron").times) == 10883
    assert len(temporal_simplices("contact-high-school").times) == 172035


def test_made_papers_are_monotone():
    arrays = files.coauthor_arrays(files.some_papers())
    cited = {
        tuple(row): c
        for k in range(7)
        for row, c in zip(arrays[f"simplices_{k}"].tolist(), arrays[f"citations_{k}"], strict=True)
    }
    for row, c in cited.items():
        assert all(cited[face] >= c for face in combinations(row, len(row) - 1) if face)
