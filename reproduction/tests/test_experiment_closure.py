"""The experiment on closure: triples and scores by brute force, no leaks, table."""

from dataclasses import replace
from itertools import combinations
from math import log

import numpy as np
import pytest
import torch

import complex_files as files
from mpsn import MPSNError
from mpsn_reproduction import reproduce
from mpsn_reproduction.experiment import Resources
from mpsn_reproduction.papers import closure
from mpsn_reproduction.papers.closure_data import coauthor_split, features, scores, temporal_split
from mpsn_reproduction.papers.coauthor_data import coauthors
from mpsn_reproduction.papers.temporal_data import temporal_simplices
from mpsn_reproduction.settings import rows

CONFIGS = rows("closure", closure.ClosureConfig)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("data")
    files.write_coauthor(out, files.coauthor_arrays(files.some_papers(most=4)))
    for name, seed in (("email-Enron", 0), ("contact-high-school", 1)):
        files.write_temporal(out, name, *files.meetings(seed=seed))
    return out


def test_splits_of_the_co_author_complex(folder):
    data = coauthors(folder)
    split = coauthor_split(data, 3)
    cited = dict(
        zip(map(tuple, data.complex.simplices(2).tolist()), data.complex.x[2], strict=True)
    )
    parts = [*split.train, split.valid, split.test]
    asked = [tuple(row) for batch in parts for row in batch.triples.tolist()]
    assert sorted(asked) == sorted(cited)
    for batch in parts:
        assert batch.y.tolist() == [bool(cited[tuple(row)] > 7) for row in batch.triples.tolist()]
        known = {*map(tuple, batch.K.simplices(2).tolist())}
        assert not known & {
            *map(tuple, batch.triples.tolist())
        }  # else the answer is in the complex
        assert all(cited[row] > 7 for row in known)
        assert batch.K.counts[:2] == data.complex.counts[:2]
        assert not batch.K.x[2].any()
    positive = {row for row in asked if cited[row] > 7}
    train = {tuple(r) for b in split.train for r in b.triples.tolist()} & positive
    assert {*map(tuple, split.test.K.simplices(2).tolist())} == train
    assert len(split.overlapping.y) == len(split.valid.y) + len(split.test.y)
    again = coauthor_split(data, 4)
    assert split.test.triples.tolist() != again.test.triples.tolist()


def test_open_triangles_by_brute_force(folder):
    data = temporal_simplices("email-Enron", folder)
    simplices = [{*data.index[a:b].tolist()} for a, b in zip(data.ptr, data.ptr[1:], strict=False)]
    split = temporal_split(data)
    assert len(split.test.y)
    for batch, share in zip(
        [*split.train, split.valid, split.test], (0.2, 0.4, 0.6, 0.8), strict=True
    ):
        old = simplices[: round(share * 600)]
        new = simplices[round(share * 600) : round((share + 0.2) * 600)]
        recent = simplices[round((share - 0.2) * 600) : round(share * 600)]
        pairs = {frozenset(p) for s in old for p in combinations(s, 2)}
        expected = {}
        for triple in combinations(range(30), 3):
            met = all(frozenset(p) in pairs for p in combinations(triple, 2))
            if met and not any({*triple} <= s for s in old):
                expected[triple] = any({*triple} <= s for s in new)
        found = dict(zip(map(tuple, batch.triples.tolist()), batch.y.tolist(), strict=True))
        assert found == expected
        for k in range(3):
            for row, x in zip(batch.K.simplices(k).tolist(), batch.K.x[k].tolist(), strict=True):
                assert x == [sum({*row} <= s for s in part) for part in (old, recent)]


def test_scores_by_brute_force(folder):
    batch = temporal_split(temporal_simplices("email-Enron", folder)).test
    edges = batch.K.simplices(1).tolist()
    weight = {frozenset(e): float(x[0]) for e, x in zip(edges, batch.K.x[1], strict=True)}
    near = {u: {next(iter(e - {u})) for e in weight if u in e} for u in range(30)}
    found = scores(batch)
    for i, triple in enumerate(batch.triples.tolist()):
        w = [weight[frozenset(p)] for p in combinations(triple, 2)]
        common = set.intersection(*(near[u] for u in triple))
        expected = {
            "minimum": min(w),
            "arithmetic": sum(w) / 3,
            "geometric": (w[0] * w[1] * w[2]) ** (1 / 3),
            "harmonic": 3 / sum(1 / x for x in w),
            "common": len(common),
            "jaccard": len(common) / len(set.union(*(near[u] for u in triple))),
            "adamic-adar": sum(1 / log(len(near[v])) for v in common),
        }
        for name, value in expected.items():
            assert found[name][i] == pytest.approx(value)
    order = np.random.default_rng(0).permutation(3)
    turned = batch._replace(triples=np.sort(batch.triples[:, order], axis=1))
    assert np.array_equal(features(batch), features(turned))


def test_a_network_learns_what_edges_say(folder):
    """In made papers, as in real ones, the least cited edge nearly decides."""
    split = coauthor_split(coauthors(folder), 0)
    config = replace(CONFIGS["network"], network=closure.Network(hidden=8, epochs=20))
    resources = Resources(CPU, None, lambda n: None)
    metrics = closure.evaluate(config, split, 0, resources)
    assert metrics == closure.evaluate(config, split, 0, resources)
    assert metrics["auc"] > 0.8
    assert metrics["closed"] == split.test.y.sum()
    net = closure.ClosureNet(config.network, closure.Prepared(split.test, CPU))
    one = net(closure.Prepared(split.test, CPU))
    back = split.test._replace(triples=split.test.triples[::-1].copy(), y=split.test.y[::-1].copy())
    torch.testing.assert_close(one, net(closure.Prepared(back, CPU)).flip(1))


def test_reproduce_draws_and_resumes(folder, tmp_path):
    for _ in range(2):
        result = reproduce(
            "closure",
            models=["minimum", "logistic"],
            quick=True,
            out=tmp_path,
            data=folder,
        )
    assert [line[:2] for line in result.table.rows] == [
        [name, row] for name in ("coauthor", "email-Enron") for row in ("minimum", "logistic")
    ]
    assert [group.columns for group in result.table.groups()] == [
        ["score", "AUC", "AUC, overlapping split", "runs"],
        ["score", "AUC", "average precision", "lift", "runs"],
    ]
    assert len(result.records) == 4
    assert {len(r.runs) for r in result.records if r.job.data == "coauthor"} == {10}
    assert any(path.name == "closure.png" for path in result.figures)
    one = reproduce("closure", models=["common"], only=["email-Enron"], out=tmp_path, data=folder)
    assert [line[:2] for line in one.table.rows] == [["email-Enron", "common"]]
    with pytest.raises(MPSNError, match="at least 1"):
        closure.ClosureConfig(network=closure.Network(hidden=0))
