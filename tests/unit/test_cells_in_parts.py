"""Models of cells of one large complex: steps and predictions on parts of it."""

import networkx as nx
import numpy as np
import pytest
import torch

import mpsn
from labelled_cells import KINDS, half, torus
from mpsn import SubcomplexLoader
from mpsn.complexes.internal import nearby
from mpsn.estimators import CellClassifier, CellRegressor
from mpsn.estimators._on_parts import on_cells

IN_PARTS = {"max_cells": 1, "batch_size": 4}
QUICK = {"hidden": 8, "epochs": 3, "device": "cpu"}


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("kind", ["simplicial", "rings", "cubical", "networkx"])
def test_predictions_in_parts_are_those_of_the_whole(kind, dim):
    K = KINDS[kind]
    if isinstance(K, mpsn.CubicalComplex):  # and own features of higher cells beside means
        K = K.replace(x=[torch.rand(n, 1 + k) for k, n in enumerate(K.counts)])
    n = len(CellClassifier(dim=dim).cells(K))
    model = CellClassifier(dim=dim, **QUICK).fit(K, np.arange(n) % 2)
    whole, some = model.predict_proba(K), model.explain(K, n // 2)
    model.set_params(**IN_PARTS)
    np.testing.assert_allclose(model.predict_proba(K), whole, rtol=1e-4, atol=1e-6)
    part = model.explain(K, n // 2)
    assert sum(part.complex.counts) <= sum(some.complex.counts)
    assert part.output == pytest.approx(some.output, rel=1e-4)


@pytest.mark.parametrize("odd", [False, True])
def test_oriented_predictions_too(odd):
    K = KINDS["simplicial"].bare()
    K = K.replace(x=[torch.randn(n, 1, generator=torch.manual_seed(n)) for n in K.counts])
    y = torch.randn(K.count(1), generator=torch.manual_seed(0)).numpy()
    kind = CellRegressor if odd else CellClassifier
    model = kind(dim=1, oriented=True, **QUICK).fit(K, y if odd else y > 0)
    ask = model.predict if odd else model.predict_proba
    whole = ask(K)
    model.set_params(**IN_PARTS)
    np.testing.assert_allclose(ask(K), whole, rtol=1e-4, atol=1e-5)


def test_steps_on_parts_reach_the_score_of_steps_on_the_whole(capsys):
    K, y = torus()
    model = CellClassifier(
        dim=1, epochs=20, max_cells=500, batch_size=64, device="cpu", verbose=True
    )
    model.fit(K, half(y, -1))
    assert model.score(K, np.where(np.arange(len(y)) % 2, -1, y)) == 1.0
    told = "cells are more than max_cells, 500: steps see sampled neighborhoods"
    assert told in capsys.readouterr().err
    assert told in model.summary()
    assert model.scores_["this model"] == 1.0


def test_steps_at_hubs_are_sampled():
    """Of 200 edges at the hub, a step sees the 20 of its seeds and 32 others; predictions all."""
    K = mpsn.clique_complex(nx.star_graph(200))
    K = K.replace(x=[torch.arange(201.0)[:, None], torch.ones(200, 1)])
    model = CellClassifier(max_cells=1, max_dim=1, **QUICK)
    samples = on_cells(model, mpsn.ComplexDataset(K), torch.arange(1, 21), torch.device("cpu"))

    def vertices(seed):
        steps = samples.steps(torch.arange(20), 64, torch.Generator().manual_seed(seed))
        seen = []
        for step in steps:
            samples(
                lambda K: seen.append(K.x[0][:, 0].tolist()) or torch.zeros(len(K.x[0]), 1), step
            )
        (found,) = seen
        return found

    assert vertices(0) == vertices(0) != vertices(1)
    assert vertices(0)[:21] == list(range(21))
    assert 1 + 32 <= len(vertices(0)) <= 1 + 20 + 32
    seen = []
    samples(lambda K: seen.append(K.count(1)) or torch.zeros(K.count(0), 1), torch.arange(20))
    assert seen == [200]


def test_the_seed_decides_what_is_learned():
    graph, found = nx.star_graph(200), []
    for seed, other in ((0, 5), (0, 6), (1, 5)):
        torch.manual_seed(other)
        model = CellClassifier(random_state=seed, max_cells=1, batch_size=100, **QUICK)
        found.append(model.fit(graph, np.arange(201) % 2).predict_proba(graph))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_samples_do_not_depend_on_the_workers():
    K = mpsn.clique_complex(nx.gnp_random_graph(60, 0.3, seed=1), max_dim=2)
    runs = [
        [
            part.rows
            for part in SubcomplexLoader(
                K, range(60), 0, 2, batch_size=20, fan_out=2, seed=seed, num_workers=workers
            )
        ]
        for seed, workers in ((3, 0), (3, 1), (4, 0))
    ]
    same = [
        all(
            torch.equal(a, b)
            for x, y in zip(runs[0], run, strict=True)
            for a, b in zip(x, y, strict=True)
        )
        for run in runs[1:]
    ]
    assert same == [True, False]


def test_cells_of_similar_rank_are_near():
    order = torch.randperm(400, generator=torch.manual_seed(0))
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))
    K = mpsn.clique_complex(nx.relabel_nodes(grid, dict(enumerate(order.tolist()))))
    for dim in (0, 1):
        rank = nearby(K, dim)
        batches = rank.argsort().split(100)
        loader = SubcomplexLoader(K, list(batches), dim, 1)
        assert sum(part.complex.count(dim) for part in loader) < 1.6 * K.count(dim)
    assert sorted(nearby(K, 0).tolist()) == list(range(400))
